/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h - the endpoint behind the public handle: a core, the lanes it uses, and the clock.
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

/** Bytes of an endpoint that are 0 in children of fork() (handle.h). Two cache lines, so that none
 *  is shared with data that is often written. */
#define OWN_MARK_BYTES 128

/** The most descriptors of an endpoint's lanes. */
#define ENDPOINT_DESCRIPTORS_MAX (2 * LANES_MAX)

struct beowire_endpoint {
    union {
        bool is_open; /**< until beowire_close(), in the process that opened it */
        uint8_t mark[OWN_MARK_BYTES];
    };
    struct turn turn;
    pid_t process; /**< the process that opened it, until beowire_close() */
    struct core core;
    struct ticks ticks;
    struct patience patience;
    struct contention contention;
    unsigned idle_polls; /**< consecutive polls that found nothing */
    struct crowd crowd;  /**< on this core */
    int status;          /**< of the lanes, at the last query */
    struct lanes_missing missing;
    uint8_t random_key[PROOF_OWN_KEY_BYTES]; /**< of its random numbers */
    uint64_t random_count;                   /**< number of them so far */
    struct stats stats;
    struct trace_file trace;
    struct keeper keeper;
    struct pollfd keeper_readable[ENDPOINT_DESCRIPTORS_MAX + 1]; /**< for the keeper's sleep */
    unsigned keeper_descriptors;                                 /**< their number */
    uint64_t keeper_sleep_ns;                                    /**< longest sleep */
    struct descriptor descriptor;                                /**< for the application's sleep */
    struct beowire_endpoint *closed_next;                        /**< used by handle.c */
    uint64_t served_seen;                                        /**< served() when last polled */
};

/** Longest injected message, if the operation header of its first frame has this length. */
uint64_t endpoint_inject_bytes(const struct beowire_endpoint *endpoint, size_t operation_bytes);

/** Can this handle be used? @return 0; -EINVAL: NULL; -EBADF: it was closed; -ECHILD: it belongs to
 *  a parent process. */
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

/** For read-only calls, because they need the turn, too. */
static inline struct beowire_endpoint *endpoint_writable(const struct beowire_endpoint *endpoint)
{
    return (struct beowire_endpoint *)(uintptr_t)endpoint;
}

/** Enters the application's turn, if the handle can be used. @return as endpoint_check(); 0: call
 *  endpoint_leave() afterwards. */
static inline int endpoint_enter(struct beowire_endpoint *endpoint)
{
    int status = endpoint_check(endpoint);

    if (status == 0) {
        turn_enter(&endpoint->turn);
    }
    return status;
}

/** Leaves the application's turn, perhaps for long. The keeper soon sends messages that are
 *  held. */
static inline void endpoint_leave(struct beowire_endpoint *endpoint)
{
    if (__builtin_expect(core_has_held(&endpoint->core), 0)) {
        keeper_hurry(&endpoint->keeper);
    }
    turn_leave(&endpoint->turn);
}

/** Number of peers' accesses to our memory. A change wakes the application, too. */
static inline uint64_t endpoint_served(const struct beowire_endpoint *endpoint)
{
    const struct message_counters *counters = &endpoint->core.messages.counters;

    return counters->remote_written + counters->remote_read;
}

/** CLOCK_MONOTONIC, approximately, in ns. Needs the turn. */
static inline uint64_t endpoint_clock(struct beowire_endpoint *endpoint)
{
    return ticks_now(&endpoint->ticks);
}

/** The same, for the core. */
static inline uint64_t endpoint_clock_of(void *endpoint)
{
    return endpoint_clock(endpoint);
}

/** Receives what has arrived, and sometimes runs timers. @return true: something arrived. */
bool endpoint_progress(struct beowire_endpoint *endpoint);

/** Waits until all that was sent is acknowledged or has failed, at most `timeout_ns`, and
 *  acknowledges what arrives meanwhile. @return 0; -ETIMEDOUT; -ENETDOWN. */
int endpoint_flush(struct beowire_endpoint *endpoint, uint64_t timeout_ns);

/** After many polls in a row that found nothing: if others want this core, sleeps for a short time,
 *  or until a frame arrives. */
void endpoint_break(struct beowire_endpoint *endpoint);

/** After polls that found nothing while others want this core: does what crowd.h advises. Called
 *  after the first such poll, and after each POLLS_PER_CROWDED_LOOK. */
void endpoint_idle(struct beowire_endpoint *endpoint);

/** Starts the keeper, if `progress` asks for one. @return 0, or a negative errno. */
int endpoint_keeper(struct beowire_endpoint *endpoint, enum beowire_progress progress);

#endif /* BEOWIRE_ENDPOINT_ENDPOINT_H */
