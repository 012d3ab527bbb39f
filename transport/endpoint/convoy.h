/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convoy.h - bursts of sequenced frames, over a lane that carries many together.
 *
 * The fast lane is the quickest for one frame, but each costs it a way through the kernel of its
 * own. A lane with segmentation offload takes a burst of frames of equal length for little more
 * than one costs (docs/PERFORMANCE.md), so bursts go there; and so do the frames that follow, until
 * those of the burst are acknowledged, since on another lane they would overtake them.
 *
 * What is sent again takes the fast lane. If nothing that went by convoy seems to arrive (a
 * firewall may let one lane through and not the other) the fast lane is used for all, and the
 * convoy is tried again once in a while.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ENDPOINT_CONVOY_H
#define BEOWIRE_ENDPOINT_CONVOY_H

#include "endpoint/path.h"
#include "flow/flow.h"

struct convoy {
    uint32_t end;     /**< one past the last sequence that went by convoy */
    uint8_t lane;     /**< that has the bursts; PATH_NONE: there is none beside the fast one */
    uint8_t unproven; /**< bursts since one is known to have arrived */
    uint8_t skipped;  /**< bursts that took the fast lane because too many were unproven */
    bool under_way;   /**< frames before `end` may be unacknowledged */
};

/** Finds the lane for bursts, again when lanes went down or up. */
void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes);

/** The lane for these frames, which are about to be sent: that of bursts, or `fast`. */
unsigned convoy_choose(struct convoy *convoy, const struct flow *flow,
                       struct flow_frame *const *frames, unsigned count, unsigned fast);

/** `count` new frames have left over the convoy's lane. */
void convoy_sent(struct convoy *convoy, const struct flow *flow, unsigned count);

/** This frame is acknowledged (or given up, which tells nothing). */
static inline void convoy_released(struct convoy *convoy, const struct flow_frame *frame)
{
    if (frame->way == FLOW_WAY_OTHER && frame->transmissions == 1) {
        convoy->unproven = 0;
    }
}

/** Would it pay to wait for more frames before these, pushed and not sent yet, are sent? */
static inline bool convoy_waits(const struct convoy *convoy, const struct flow *flow)
{
    uint32_t unsent = flow->next - flow->highest;

    return convoy->lane != PATH_NONE && unsent > 0 && unsent < FLOW_BATCH_FRAMES &&
           flow->highest - flow->first >= BUNDLE_IN_FLIGHT_MIN;
}

#endif /* BEOWIRE_ENDPOINT_CONVOY_H */
