/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * congestion.h - how much may be in flight when the network, not the receiver, is what is short.
 *
 * A window, in whatever unit its user counts: frames or bytes. It is computed all the time, and
 * applied only while
 *
 *      the smoothed round trip is longer than target = max(2 * base, base + slack), and
 *      something was lost within the last CONGESTION_MEMORY_NS,
 *
 * so a path without a queue is never held back, and one whose queue overflows is, from a window
 * that fits what was seen before (eRPC, NSDI '19, section 5: congestion control that is bypassed
 * when it has nothing to do). Either sign alone deceives. A round trip measured by processes is
 * also long when the other process waits for a core, and then a small window costs most of the
 * throughput: what can be sent must last until it runs again. And a loss without a queue is the
 * wire's doing: sending less would not mend it.
 *
 *   each window's worth of acknowledgements at or below target: more by a step      (Timely, Swift)
 *   a round trip above target: less by 0.8 * (rtt - target) / rtt, at most by half  (Swift, eq. 1)
 *   a loss while the round trip is above target: less by half
 *
 * each decrease at most once in a round trip. Never below `floor`, two bursts that the receiver
 * acknowledges at once, so that acknowledgements keep coming without a timer.
 *
 * Sources: Mittal et al., TIMELY, SIGCOMM '15; Kumar et al., Swift, SIGCOMM '20; Kalia et al.,
 * Datacenter RPCs can be General and Fast, NSDI '19. Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_CONGESTION_H
#define BEOWIRE_FLOW_CONGESTION_H

#include "flow/rtt.h"

#include <stdbool.h>
#include <stdint.h>

/** A queue that has lost nothing for so long harms nobody. */
#define CONGESTION_MEMORY_NS UINT64_C(1000000000)

struct congestion {
    uint64_t window;
    uint64_t floor;
    uint64_t ceiling;
    uint64_t slack_ns;
    uint64_t earned;  /**< units acknowledged towards the next step */
    uint64_t cut_ns;  /**< when the window was made smaller last */
    uint64_t lost_ns; /**< when something was lost last; 0: never */
    bool applied;
};

/** `slack_ns`: a queue of so much time is nobody's fault: it holds what a receiver's delayed
 *  acknowledgement and a scheduler add. 0 < floor <= window <= ceiling. */
void congestion_init(struct congestion *congestion, uint64_t window, uint64_t floor,
                     uint64_t ceiling, uint64_t slack_ns);

/** The round trip above which there is a queue. */
static inline uint64_t congestion_target_ns(const struct congestion *congestion,
                                            const struct rtt *rtt)
{
    uint64_t over_ns =
        rtt->minimum_ns > congestion->slack_ns ? rtt->minimum_ns : congestion->slack_ns;

    return rtt->minimum_ns + over_ns;
}

/** What congestion_acknowledged() does when there is something to do. */
void congestion_adapt(struct congestion *congestion, uint64_t now_ns, uint64_t rtt_ns,
                      const struct rtt *rtt, uint64_t units);

/** `units` were acknowledged after a round trip of `rtt_ns` (0: not known), which `rtt` (of that
 *  path; smoothed round trip and base are taken from it) has in it already. */
static inline void congestion_acknowledged(struct congestion *congestion, uint64_t now_ns,
                                           uint64_t rtt_ns, const struct rtt *rtt, uint64_t units)
{
    uint64_t calm_ns = rtt->minimum_ns + congestion->slack_ns; /* at most the target */
    bool at_rest = !congestion->applied && congestion->window == congestion->ceiling;

    if (!at_rest || rtt_ns > calm_ns || rtt->smoothed_ns > calm_ns) {
        congestion_adapt(congestion, now_ns, rtt_ns, rtt, units);
    }
}

/** Something was lost. */
void congestion_lost(struct congestion *congestion, uint64_t now_ns, const struct rtt *rtt);

/** Units that may be in flight; UINT64_MAX: as many as the receiver allows. */
static inline uint64_t congestion_window(const struct congestion *congestion)
{
    return congestion->applied ? congestion->window : UINT64_MAX;
}

#endif /* BEOWIRE_FLOW_CONGESTION_H */
