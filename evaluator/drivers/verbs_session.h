/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_session.h - an end of a session over RDMA: what is posted, what has come, and what has to
 * be said to the other end. Messages of up to VERBS_COPIED_BYTES are copied, the others go from
 * memory to memory:
 *
 *      way           offers memory     moves the message     says that it is there
 *      send, write   the receiver      the sender            the card, by completing a receive
 *      read          the sender        the receiver          the receiver
 *
 * The k-th offer of an end is for the k-th direct message; so nothing but their order says which
 * message is which, and each is checked for its length. An offer that was made and left, because
 * the run ended, is void in the next: each has the number of the run for which it was made, which
 * both ends count. A receive that was posted for it is used up by a send without data.
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

/* Offers of this run, and of others, that are on their way to be dropped. */
#define VERBS_OFFERS (2 * VERBS_WINDOW)

/* A copied message that has come, and was not taken yet. */
struct verbs_arrival {
    uint64_t slot;            /* VERBS_SEND: where it is */
    struct verbs_offer offer; /* its size; VERBS_READ: where it has to be read */
};

struct verbs_session {
    const struct driver_host *host;
    enum driver_role role;
    bool sleeps;
    bool greeted;
    bool flushing; /* the end of words is waited for */
    int failure;   /* of the connection, for good; or 0 */
    struct verbs_link link;
    struct verbs_regions regions;
    struct verbs_queue out;
    struct verbs_queue in;
    uint64_t received; /* messages that are there, and were not handed out */
    uint64_t moving;   /* direct messages that this end moves */
    uint32_t run;
    uint64_t taken;      /* copied messages that were taken here */
    uint64_t told;       /* of these the other end knows */
    uint64_t peer_taken; /* by the other end */
    struct verbs_arrival arrived[VERBS_CREDITS];
    uint64_t arrived_first;
    uint64_t arrived_whole; /* those before this are there, with VERBS_READ: were read */
    uint64_t arrived_begun; /* with VERBS_READ: those before this are being read */
    uint64_t arrived_end;
    struct verbs_offer offers[VERBS_OFFERS];
    uint64_t offers_first;
    uint64_t offers_end;
    uint64_t ends_owed; /* messages that were read, and of which the other end was not told */
    struct verbs_region *left[VERBS_OFFERS]; /* receives of earlier runs that have not ended */
    size_t left_count;
};

/** Sends a word. There is room. */
int verbs_session_say(struct verbs_session *session, enum verbs_kind kind, const void *data,
                      size_t bytes);

/** Does all that can be done now, without looking for what has come. 0, or a failure. */
int verbs_session_pump(struct verbs_session *session);

/** Tells the other end which copied messages were taken, if it has to know: with VERBS_READ their
 *  memory is its own. 0, or a failure. */
int verbs_session_tell(struct verbs_session *session);

/** Takes what has completed, and goes on from there. How much has, or a failure. */
int verbs_session_advance(struct verbs_session *session);

/** One turn of a wait, in which the host is asked whether to stop: 0, or why it is over. */
int verbs_session_turn(struct verbs_session *session, struct spin *spin);

/** Returns when the other end's card has everything, or the wait is over; with `reads` it has to
 *  have read everything, too. */
int verbs_session_drain(struct verbs_session *session, bool reads, const struct driver_host *host,
                        uint64_t limit_ns);

#endif
