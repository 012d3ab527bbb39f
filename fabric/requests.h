/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests.h - the outstanding operations of an endpoint, at most FI_BEOWIRE_OPERATIONS.
 *
 * If two ranks each begin more operations than permitted before they receive, they wait for each
 * other forever, because MPI only retries. So a limit that is reached for long is reported.
 *
 * All functions expect the domain to be locked.
 */
#ifndef BEOWIRE_FABRIC_REQUESTS_H
#define BEOWIRE_FABRIC_REQUESTS_H

#include "beowire.h"
#include "info.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum request_kind {
    REQUEST_FREE,
    REQUEST_SEND,
    REQUEST_RECEIVE,
    REQUEST_MULTI_RECEIVE, /**< its buffer takes several messages */
    REQUEST_DISCARD,       /**< a receive whose message is discarded */
    REQUEST_REMOTE,        /**< on a peer's memory */
};

/** Data of several parts in one buffer, which the transport needs. */
struct gathered {
    size_t count; /**< parts to scatter to on arrival; 0: sent data */
    struct iovec parts[INFO_IOV_LIMIT];
    uint8_t data[];
};

/** A completion that waits for room in its queue. */
struct parked {
    struct parked *next;
    struct beowire_completion done;
};

/** An operation of the transport, from its posting until its completion. */
struct request {
    struct request *next; /**< the next free one, or the next in line (line.h) */
    enum request_kind kind;
    bool quiet;      /**< only a failure is reported */
    bool in_line;    /**< the transport does not have it yet */
    bool cancelled;  /**< multi-receive: ends with the message that it already has */
    uint32_t serial; /**< order of posting, for fi_cancel() */
    beowire_peer peer;
    void *context;
    uint64_t flags;  /**< flags of its completion */
    uint8_t *buffer; /**< the user's; of several parts: the first */
    size_t bytes;
    size_t used;               /**< multi-receive: bytes used */
    struct gathered *gathered; /**< or NULL; belongs to the request */
    struct parked parked;      /**< its completion while its queue is full */
};

/** The requests of one endpoint; initially zero except `max`. */
struct requests {
    struct request_block *blocks; /**< the newest; or NULL */
    struct request *free;
    uint64_t max; /**< limit of `taken`; half of them may be receives */
    uint64_t taken;
    uint64_t receiving;  /**< receives among them, in line or not */
    uint32_t serial;     /**< of the next one */
    uint64_t refused_ns; /**< since when none could be taken, CLOCK_MONOTONIC; 0: not refused */
};

/** A new request, otherwise 0; NULL: too many are outstanding, or no memory. After ten seconds of
 *  refusals, prints a line on standard error, once. */
struct request *requests_take(struct requests *requests, enum request_kind kind);

/** Frees it, and what it gathered. */
void requests_give(struct requests *requests, struct request *request);

/** The first posted receive with this context, or the first after `after` unless that is NULL;
 *  NULL: none. */
struct request *requests_oldest_receive(const struct requests *requests, const void *context,
                                        const struct request *after);

/** Frees all requests and what they gathered; `max` remains. */
void requests_end(struct requests *requests);

/** Length of data in parts; SIZE_MAX: or more. */
size_t iov_bytes(const struct iovec *parts, size_t count);

#endif /* BEOWIRE_FABRIC_REQUESTS_H */
