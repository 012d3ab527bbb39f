/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_session.h - an end of a session over RDMA: posted and received messages, and words to send.
 * Messages of up to VERBS_COPIED_BYTES are copied, the others go from memory to memory:
 *
 *      way           offers memory     moves the message     reports the arrival
 *      send, write   the receiver      the sender            the card, by completing a receive
 *      read          the sender        the receiver          the receiver
 *
 * The k-th offer of an end is for the k-th direct message: only their order matches them, and each
 * length is checked. An offer that was not used because its run ended is void in the next run. Each
 * carries the number of its run, which both ends count. A receive posted for a void offer is used
 * up by a send without data.
 *
 * One thread.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_SESSION_H
#define BEOWIRE_DRIVERS_VERBS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "spin.h"
#include "verbs_link.h"
#include "verbs_queue.h"
#include "verbs_regions.h"

/* Offers of this run, and void ones of others. */
#define VERBS_OFFERS (2 * VERBS_WINDOW)

/* A copied message that has arrived and was not taken yet. */
struct verbs_arrival {
    uint64_t slot;            /* VERBS_SEND: of its contents */
    struct verbs_offer offer; /* its size; VERBS_READ: where to read it */
};

struct verbs_session {
    const struct driver_host *host;
    enum driver_role role;
    bool sleeps;
    bool greeted;
    bool flushing; /* waits until all words have left */
    int failure;   /* permanent error of the connection, or 0 */
    struct verbs_link link;
    struct verbs_regions regions;
    struct verbs_queue out;
    struct verbs_queue in;
    uint64_t received; /* complete messages not yet returned */
    uint64_t moving;   /* direct messages under way that this end moves */
    uint32_t run;
    uint64_t taken;      /* copied messages taken here */
    uint64_t told;       /* the part of them that the other end knows of */
    uint64_t peer_taken; /* copied messages taken by the other end */
    struct verbs_arrival arrived[VERBS_CREDITS];
    uint64_t arrived_first;
    uint64_t arrived_whole; /* those before this are complete, with VERBS_READ: were read */
    uint64_t arrived_begun; /* with VERBS_READ: those before this are being read */
    uint64_t arrived_end;
    struct verbs_offer offers[VERBS_OFFERS];
    uint64_t offers_first;
    uint64_t offers_end;
    uint64_t ends_owed;                      /* messages read of which the other end was not told */
    struct verbs_region *left[VERBS_OFFERS]; /* receives of earlier runs that have not completed */
    size_t left_count;
};

/** Sends a word. There must be room. */
int verbs_session_say(struct verbs_session *session, enum verbs_kind kind, const void *data,
                      size_t bytes);

/** Does all that can be done without polling for completions. 0, or a failure. */
int verbs_session_pump(struct verbs_session *session);

/** Tells the other end which copied messages were taken, if necessary: with VERBS_READ it must know
 *  before it reuses their memory. 0, or a failure. */
int verbs_session_tell(struct verbs_session *session);

/** Handles completions, and then does what has become possible. The number of completions, or a
 *  failure. */
int verbs_session_advance(struct verbs_session *session);

/** One turn of a wait, which asks the host whether to stop: 0, or why the wait ends. */
int verbs_session_turn(struct verbs_session *session, struct spin *spin);

/** Returns when the other end's card has received everything, and with `reads` has read everything;
 *  or when the wait ends. */
int verbs_session_drain(struct verbs_session *session, bool reads, const struct driver_host *host,
                        uint64_t limit_ns);

#endif
