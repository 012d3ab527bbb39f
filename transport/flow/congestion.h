/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * congestion.h - how much may be in flight when the network, not the receiver, is the bottleneck.
 *
 * A window, in the unit of its user: frames or bytes. It is always computed, but applied only while
 *
 *      the smoothed round trip is longer than target = max(2 * base, base + slack), and
 *      something was lost within the last CONGESTION_MEMORY_NS,
 *
 * so a path without a queue is never limited, and a path whose queue overflows is limited by a
 * window learnt before (eRPC, NSDI '19, section 5: congestion control is bypassed while there is no
 * congestion). Either condition alone misleads. A round trip between processes is also long when
 * the other process waits for a core; a small window then costs most of the throughput. A loss
 * without a queue is an error of the link, and sending less does not help.
 *
 *   each window's worth of acknowledgements at or below target: more by a step      (Timely, Swift)
 *   a round trip above target: less by 0.8 * (rtt - target) / rtt, at most by half  (Swift, eq. 1)
 *   a loss while the round trip is above target: less by half
 *
 * with at most one decrease in a round trip. The window is at least `floor`, two bursts that the
 * receiver acknowledges at once, so that acknowledgements do not depend on a timer.
 *
 * Sources: Mittal et al., TIMELY, SIGCOMM '15; Kumar et al., Swift, SIGCOMM '20; Kalia et al.,
 * Datacenter RPCs can be General and Fast, NSDI '19. Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_CONGESTION_H
#define BEOWIRE_FLOW_CONGESTION_H

#include "flow/rtt.h"

#include <stdbool.h>
#include <stdint.h>

/** Time after a loss during which the window is applied. */
#define CONGESTION_MEMORY_NS UINT64_C(1000000000)

struct congestion {
    uint64_t window;
    uint64_t floor;
    uint64_t ceiling;
    uint64_t slack_ns;
    uint64_t earned;  /**< units acknowledged towards the next step */
    uint64_t cut_ns;  /**< when the window was last reduced */
    uint64_t lost_ns; /**< when a loss was last seen; 0: never */
    bool applied;
};

/** `slack_ns`: delay that is no sign of congestion: a receiver's delayed acknowledgement, and the
 *  scheduler. 0 < floor <= window <= ceiling. */
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

/** The slow path of congestion_acknowledged(). */
void congestion_adapt(struct congestion *congestion, uint64_t now_ns, uint64_t rtt_ns,
                      const struct rtt *rtt, uint64_t units);

/** `units` were acknowledged after a round trip of `rtt_ns` (0: not known). `rtt` is that path's
 *  estimate, which includes it already. */
static inline void congestion_acknowledged(struct congestion *congestion, uint64_t now_ns,
                                           uint64_t rtt_ns, const struct rtt *rtt, uint64_t units)
{
    uint64_t calm_ns = rtt->minimum_ns + congestion->slack_ns; /* at most the target */
    bool at_rest = !congestion->applied && congestion->window == congestion->ceiling;

    if (!at_rest || rtt_ns > calm_ns || rtt->smoothed_ns > calm_ns) {
        congestion_adapt(congestion, now_ns, rtt_ns, rtt, units);
    }
}

/** There was a loss. */
void congestion_lost(struct congestion *congestion, uint64_t now_ns, const struct rtt *rtt);

/** Units that may be in flight; UINT64_MAX: as many as the receiver allows. */
static inline uint64_t congestion_window(const struct congestion *congestion)
{
    return congestion->applied ? congestion->window : UINT64_MAX;
}

#endif /* BEOWIRE_FLOW_CONGESTION_H */
