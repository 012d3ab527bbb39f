/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convoy.h - bursts of sequenced frames, over a lane that carries many together.
 *
 * The fast lane is the quickest for one frame, but each costs it a way through the kernel of its
 * own. A lane with segmentation offload takes a burst of frames of equal length for little more
 * than one costs (docs/PERFORMANCE.md), so bursts go there; and so do the frames that follow, until
 * those of the burst are acknowledged, since on another lane they would overtake them.
 *
 * Two lanes may be there for that: one that cuts, where the frames of a message need one head
 * between them, and UDP, over which streams of bursts are quicker (docs/PERFORMANCE.md). If nothing
 * that went by the one seems to arrive (a firewall may let one lane through and not the other) the
 * other is used, and the first tried again after many bursts; if nothing arrives by either, the
 * fast lane is used for all, and bursts are tried once in a while. What is sent again takes the
 * fast lane.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ENDPOINT_CONVOY_H
#define BEOWIRE_ENDPOINT_CONVOY_H

#include "endpoint/path.h"
#include "flow/flow.h"

struct convoy {
    uint32_t end;    /**< one past the last sequence that went by convoy */
    uint8_t lane;    /**< that has the bursts; PATH_NONE: there is none beside the fast one */
    uint8_t used;    /**< by which the last one went */
    uint8_t spare;   /**< that has them if nothing arrives; PATH_NONE: there is none */
    uint8_t cutter;  /**< which of the two cuts; PATH_NONE: neither does */
    uint8_t lost;    /**< frames that went by it and had to be sent again, since one had not */
    uint8_t skipped; /**< bursts that took the fast lane because too many were lost */
    bool under_way;  /**< frames before `end` may be unacknowledged */
    bool astray;     /**< `lane` and `spare` have been exchanged, ... */
    bool doubted;    /**< ... since when nothing has been seen to arrive ... */
    uint16_t bursts; /**< ... of so many bursts */
};

/** There is no lane for bursts yet. */
static inline void convoy_init(struct convoy *convoy)
{
    *convoy = (struct convoy){
        .lane = PATH_NONE, .used = PATH_NONE, .spare = PATH_NONE, .cutter = PATH_NONE};
}

/** Finds the lanes for bursts, again when lanes went down or up. */
void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes);

/** The lane for these frames, which are about to be sent: that of bursts, or `fast`. */
unsigned convoy_choose(struct convoy *convoy, const struct flow *flow,
                       struct flow_frame *const *frames, unsigned count, unsigned fast);

/** `count` new frames have left over the lane `by` of those for bursts. */
void convoy_sent(struct convoy *convoy, const struct flow *flow, unsigned count, unsigned by);

/** This frame is acknowledged (or given up, which tells nothing). Only now is it known what became
 *  of it: many bursts may be on their way. */
static inline void convoy_released(struct convoy *convoy, const struct flow_frame *frame)
{
    if (!frame->convoyed) {
        return;
    }
    if (frame->transmissions == 1) {
        convoy->lost = 0;
        convoy->doubted = false;
    } else if (convoy->lost < CONVOY_LOST_MAX) {
        convoy->lost++;
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
