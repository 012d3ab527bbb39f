/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtt.h - the round trip to a peer: smoothed, its deviation, and its minimum of the last seconds.
 *
 * Smoothing is RFC 6298, section 2, with the gains of Jacobson (SIGCOMM '88). The minimum covers
 * this and the last period of RTT_PERIOD_NS, so that it follows a way that becomes longer. Pure.
 */
#ifndef BEOWIRE_FLOW_RTT_H
#define BEOWIRE_FLOW_RTT_H

#include "tuning.h"

#include <stdint.h>

#define RTT_PERIOD_NS UINT64_C(5000000000)

struct rtt {
    uint64_t smoothed_ns;  /**< 0: nothing measured yet */
    uint64_t deviation_ns; /**< mean deviation */
    uint64_t minimum_ns;   /**< of this period and the last; 0: nothing measured yet */
    uint64_t period_minimum_ns;
    uint64_t period_began_ns;
};

/** The round trip of a frame that was sent at `sent_ns` and is answered now. Longer times than any
 * timeout are no measure of the way: an end was not running, or its clock has jumped. */
static inline uint64_t rtt_between(uint64_t sent_ns, uint64_t now_ns)
{
    return now_ns - sent_ns < FLOW_RTO_MAX_NS ? now_ns - sent_ns : FLOW_RTO_MAX_NS;
}

/** The first sample of all, or of a period: the minimum of the last period is kept. */
void rtt_begin_period(struct rtt *rtt, uint64_t now_ns, uint64_t sample_ns);

/** A round trip of `sample_ns` has ended at `now_ns`. */
static inline void rtt_sample(struct rtt *rtt, uint64_t now_ns, uint64_t sample_ns)
{
    sample_ns += sample_ns == 0; /* 0 means "none" */
    if (rtt->smoothed_ns == 0) {
        rtt->smoothed_ns = sample_ns;
        rtt->deviation_ns = sample_ns / 2;
        rtt_begin_period(rtt, now_ns, sample_ns);
        return;
    }
    uint64_t deviation_ns =
        sample_ns > rtt->smoothed_ns ? sample_ns - rtt->smoothed_ns : rtt->smoothed_ns - sample_ns;
    rtt->deviation_ns = (3 * rtt->deviation_ns + deviation_ns) / 4;
    rtt->smoothed_ns = (7 * rtt->smoothed_ns + sample_ns) / 8;
    rtt->smoothed_ns += rtt->smoothed_ns == 0;
    if (now_ns - rtt->period_began_ns >= RTT_PERIOD_NS) {
        rtt_begin_period(rtt, now_ns, sample_ns);
    } else if (sample_ns < rtt->period_minimum_ns) {
        rtt->period_minimum_ns = sample_ns;
        rtt->minimum_ns = sample_ns < rtt->minimum_ns ? sample_ns : rtt->minimum_ns;
    }
}

#endif /* BEOWIRE_FLOW_RTT_H */
