/* SPDX-License-Identifier: BSD-3-Clause */
#include "congestion.h"

#include <assert.h>

/** Steps in a floor: the round trips in which a window cut to the floor doubles. */
#define STEPS_OF_FLOOR 16

/** Shares of the window, in 1/1024. The largest cut, for an endless round trip, is 0.8. */
#define SHARE_ONE UINT64_C(1024)
#define SHARE_MAX UINT64_C(819)

void congestion_init(struct congestion *congestion, uint64_t window, uint64_t floor,
                     uint64_t ceiling, uint64_t slack_ns)
{
    assert(floor > 0 && floor <= window && window <= ceiling);
    *congestion = (struct congestion){
        .window = window, .floor = floor, .ceiling = ceiling, .slack_ns = slack_ns};
}

static void cut_by(struct congestion *congestion, uint64_t now_ns, uint64_t units)
{
    uint64_t most = congestion->window / 2;
    uint64_t left = congestion->window - (units < most ? units : most);

    congestion->window = left > congestion->floor ? left : congestion->floor;
    congestion->cut_ns = now_ns;
    congestion->earned = 0;
}

static void earn(struct congestion *congestion, uint64_t units)
{
    congestion->earned += units;
    if (congestion->earned < congestion->window) {
        return;
    }
    uint64_t step = congestion->floor / STEPS_OF_FLOOR;
    congestion->earned = 0;
    congestion->window += step > 0 ? step : 1;
    if (congestion->window > congestion->ceiling) {
        congestion->window = congestion->ceiling;
    }
}

void congestion_adapt(struct congestion *congestion, uint64_t now_ns, uint64_t rtt_ns,
                      const struct rtt *rtt, uint64_t units)
{
    uint64_t target_ns = congestion_target_ns(congestion, rtt);

    congestion->applied = rtt->smoothed_ns > target_ns && congestion->lost_ns != 0 &&
                          now_ns - congestion->lost_ns < CONGESTION_MEMORY_NS;
    if (rtt_ns == 0) {
        return;
    }
    if (rtt_ns <= target_ns) {
        earn(congestion, units);
    } else if (now_ns - congestion->cut_ns >= rtt->smoothed_ns) {
        uint64_t share = SHARE_MAX * (rtt_ns - target_ns) / rtt_ns;
        cut_by(congestion, now_ns, congestion->window * share / SHARE_ONE);
    }
}

void congestion_lost(struct congestion *congestion, uint64_t now_ns, const struct rtt *rtt)
{
    congestion->lost_ns = now_ns;
    if (rtt->smoothed_ns > congestion_target_ns(congestion, rtt) &&
        now_ns - congestion->cut_ns >= rtt->smoothed_ns) {
        congestion->applied = true;
        cut_by(congestion, now_ns, congestion->window / 2);
    }
}
