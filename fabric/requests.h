/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests.h - the operations of an endpoint that have begun and not ended, as many as
 * FI_BEOWIRE_OPERATIONS allows.
 *
 * Two ranks that each begin more than they may before they look for what the other sent wait for
 * each other for ever, and MPI only tries again: so a limit that holds for long is told.
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
    REQUEST_MULTI_RECEIVE, /**< its buffer takes message after message */
    REQUEST_DISCARD,       /**< a receive whose message is thrown away */
    REQUEST_REMOTE,        /**< on a peer's memory */
};

/** Data in several parts, gathered into one: the transport wants it so. */
struct gathered {
    size_t count; /**< parts to scatter to when it has come; 0: it is sent */
    struct iovec parts[INFO_IOV_LIMIT];
    uint8_t data[];
};

/** A completion that waits for room in its queue. */
struct parked {
    struct parked *next;
    struct beowire_completion done;
};

/** An operation that the transport has, from its posting until its completion. */
struct request {
    struct request *next; /**< the next free one, or in line (line.h) */
    enum request_kind kind;
    bool quiet;      /**< only a failure is reported */
    bool in_line;    /**< the transport does not have it yet */
    bool cancelled;  /**< multi-receive: it ends with the message that it has already */
    uint32_t serial; /**< order of posting, for fi_cancel() */
    beowire_peer peer;
    void *context;
    uint64_t flags;  /**< of its completion */
    uint8_t *buffer; /**< of the user; in parts: the first */
    size_t bytes;
    size_t used;               /**< multi-receive: of the buffer */
    struct gathered *gathered; /**< or NULL; belongs to the request */
    struct parked parked;      /**< how it ended, while its queue is full */
};

/** Those of one endpoint; zero but for `max` to begin with. */
struct requests {
    struct request_block *blocks; /**< the newest; NULL: there is none */
    struct request *free;
    uint64_t max; /**< that may be taken at once; half of them may receive */
    uint64_t taken;
    uint64_t receiving;  /**< how many of these receive, in line or not */
    uint32_t serial;     /**< of the next one */
    uint64_t refused_ns; /**< since when none could be taken, CLOCK_MONOTONIC; 0: one could */
};

/** A request with everything else 0; NULL: too many are outstanding, or there is no memory. Says
 *  once on standard error that it has been so for ten seconds. */
struct request *requests_take(struct requests *requests, enum request_kind kind);

/** Gives it back, and frees what it gathered. */
void requests_give(struct requests *requests, struct request *request);

/** The receive with this context that was posted first, but after `after` if that is not NULL;
 *  NULL: there is none. */
struct request *requests_oldest_receive(const struct requests *requests, const void *context,
                                        const struct request *after);

/** Frees all, taken or not, and what they gathered: it is as in the beginning, with its `max`. */
void requests_end(struct requests *requests);

/** Length of data in parts; SIZE_MAX: even more. */
size_t iov_bytes(const struct iovec *parts, size_t count);

#endif /* BEOWIRE_FABRIC_REQUESTS_H */
