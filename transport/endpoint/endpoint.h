/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h - what is behind the public handle: a core, the lanes it uses, and the clock.
 */
#ifndef BEOWIRE_ENDPOINT_ENDPOINT_H
#define BEOWIRE_ENDPOINT_ENDPOINT_H

#include "core/core.h"
#include "core/crowd.h"
#include "core/patience.h"
#include "endpoint/contention.h"
#include "endpoint/descriptor.h"
#include "endpoint/keeper.h"
#include "endpoint/lanes.h"
#include "endpoint/stats.h"
#include "endpoint/ticks.h"
#include "endpoint/trace_file.h"
#include "endpoint/turn.h"
#include "route/proof.h"

#include <errno.h>
#include <poll.h>
#include <sys/types.h>

/** Bytes of an endpoint that are 0 in children of fork(): handle.h. Two cache lines, so that none
 * is shared with what is written all the time. */
#define OWN_MARK_BYTES 128

/** Descriptors of all lanes of an endpoint at most. */
#define ENDPOINT_DESCRIPTORS_MAX (2 * LANES_MAX)

struct beowire_endpoint {
    union {
        bool is_open; /**< until beowire_close(), in the process that opened it */
        uint8_t mark[OWN_MARK_BYTES];
    };
    struct turn turn;
    pid_t process; /**< that opened it, until beowire_close() */
    struct core core;
    struct ticks ticks;
    struct patience patience;
    struct contention contention;
    unsigned idle_polls; /**< polls in a row that found nothing */
    struct crowd crowd;  /**< of this core */
    int status;          /**< of the lanes, as last asked */
    struct lanes_missing missing;
    uint8_t random_key[PROOF_OWN_KEY_BYTES]; /**< of its random numbers ... */
    uint64_t random_count;                   /**< ... of which there have been so many */
    struct stats stats;
    struct trace_file trace;
    struct keeper keeper;
    struct pollfd keeper_readable[ENDPOINT_DESCRIPTORS_MAX + 1]; /**< what the keeper sleeps on */
    unsigned keeper_descriptors;                                 /**< so many of them */
    uint64_t keeper_sleep_ns;                                    /**< and for how long, at most */
    struct descriptor descriptor;         /**< what the application may sleep on */
    struct beowire_endpoint *closed_next; /**< handle.c's */
    uint64_t served_seen;                 /**< served() when last polled */
};

/** Longest message that is injected, if the first frame has so long a header of its operation. */
uint64_t endpoint_inject_bytes(const struct beowire_endpoint *endpoint, size_t operation_bytes);

/** Can this handle be used? @return 0; -EINVAL: NULL; -EBADF: it has been closed; -ECHILD: it is
 * that of a parent. */
static inline int endpoint_check(const struct beowire_endpoint *endpoint)
{
    if (__builtin_expect(endpoint == NULL, 0)) {
        return -EINVAL;
    }
    if (__builtin_expect(endpoint->is_open, 1)) {
        return 0;
    }
    return endpoint->process != 0 ? -ECHILD : -EBADF;
}

/** For those who only look: that is a turn, too. */
static inline struct beowire_endpoint *endpoint_writable(const struct beowire_endpoint *endpoint)
{
    return (struct beowire_endpoint *)(uintptr_t)endpoint;
}

/** The application's turn, if the handle can be used. @return as endpoint_check(); 0:
 * endpoint_leave() it.
 */
static inline int endpoint_enter(struct beowire_endpoint *endpoint)
{
    int status = endpoint_check(endpoint);

    if (status == 0) {
        turn_enter(&endpoint->turn);
    }
    return status;
}

/** The application goes, perhaps for long: what it leaves held back the keeper sends soon. */
static inline void endpoint_leave(struct beowire_endpoint *endpoint)
{
    if (__builtin_expect(core_has_held(&endpoint->core), 0)) {
        keeper_hurry(&endpoint->keeper);
    }
    turn_leave(&endpoint->turn);
}

/** What peers have done to our memory: whoever counts that is woken, too. */
static inline uint64_t endpoint_served(const struct beowire_endpoint *endpoint)
{
    const struct message_counters *counters = &endpoint->core.messages.counters;

    return counters->remote_written + counters->remote_read;
}

/** CLOCK_MONOTONIC, nearly, for whoever has the turn. ns */
static inline uint64_t endpoint_clock(struct beowire_endpoint *endpoint)
{
    return ticks_now(&endpoint->ticks);
}

/** The same, for the core. */
static inline uint64_t endpoint_clock_of(void *endpoint)
{
    return endpoint_clock(endpoint);
}

/** Takes what has arrived, and now and then runs timers that are due. @return true: there was
 *  something. */
bool endpoint_progress(struct beowire_endpoint *endpoint);

/** Waits until everything that was sent has been acknowledged, or has failed, at most so long; and
 *  acknowledges what came meanwhile. @return 0; -ETIMEDOUT; -ENETDOWN. */
int endpoint_flush(struct beowire_endpoint *endpoint, uint64_t timeout_ns);

/** Many polls in a row have found nothing: if others want this core, sleeps for a moment, or until
 *  a frame comes. */
void endpoint_break(struct beowire_endpoint *endpoint);

/** Polls in a row have found nothing while others want this core: does as crowd.h advises. After
 * the first of them, and then after each POLLS_PER_CROWDED_LOOK. */
void endpoint_idle(struct beowire_endpoint *endpoint);

/** Starts the keeper that was ordered. @return 0, or a negative errno. */
int endpoint_keeper(struct beowire_endpoint *endpoint, enum beowire_progress progress);

#endif /* BEOWIRE_ENDPOINT_ENDPOINT_H */
