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
 * between them, and UDP, where a train has the frames of many short messages. If nothing that goes
 * by the one seems to arrive (a firewall may let one lane through and not the other) the
 * other is used, and if nothing arrives by either, the fast lane; each is tried again once in a
 * while. What is sent again takes the fast lane.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_CONVOY_H
#define BEOWIRE_CORE_CONVOY_H

#include "core/path.h"
#include "flow/flow.h"

/** A lane that has bursts. */
struct convoy_way {
    uint8_t lane;    /**< PATH_NONE: there is none */
    uint8_t lost;    /**< frames in a row that went by it and had to be sent again */
    uint8_t skipped; /**< bursts that did not go by it because too many were lost */
};

struct convoy {
    uint8_t frames_min;       /**< of equal length; fewer take the fast lane */
    bool needless;            /**< there is none, since the usual lane takes trains itself */
    uint32_t end;             /**< one past the last sequence that went by convoy */
    bool under_way;           /**< frames before `end` may be unacknowledged; */
    uint8_t used;             /**< the last of them by this lane; PATH_NONE: none has gone yet */
    struct convoy_way cut;    /**< a lane that cuts */
    struct convoy_way trains; /**< one that takes trains */
};

/** There is no lane for bursts yet. Later they have at least `frames_min` frames. */
static inline void convoy_init(struct convoy *convoy, uint8_t frames_min)
{
    *convoy = (struct convoy){.frames_min = frames_min,
                              .used = PATH_NONE,
                              .cut = {.lane = PATH_NONE},
                              .trains = {.lane = PATH_NONE}};
}

/** Is there a lane for bursts? */
static inline bool convoy_exists(const struct convoy *convoy)
{
    return convoy->cut.lane != PATH_NONE || convoy->trains.lane != PATH_NONE;
}

/** Do bursts go in trains, by convoy or not? Then frames of one length are cheaper. */
static inline bool convoy_has_trains(const struct convoy *convoy)
{
    return convoy->trains.lane != PATH_NONE || convoy->needless;
}

/** Do the frames of a message go with one head between them? */
static inline bool convoy_gathers(const struct convoy *convoy)
{
    return convoy->cut.lane != PATH_NONE && convoy->cut.lost < CONVOY_LOST_MAX;
}

/** The way of frames that leave over a lane, of which `fast` is the usual one. */
static inline enum flow_way convoy_way_of(const struct convoy *convoy, unsigned by, unsigned fast)
{
    if (by == fast) {
        return FLOW_WAY_USUAL;
    }
    return by == convoy->cut.lane ? FLOW_WAY_CUT : FLOW_WAY_OTHER;
}

/** The lane of a way; PATH_NONE: there is none any more, or it is the usual one. */
static inline uint8_t convoy_lane_of(const struct convoy *convoy, enum flow_way way)
{
    if (way == FLOW_WAY_USUAL) {
        return PATH_NONE;
    }
    return way == FLOW_WAY_CUT ? convoy->cut.lane : convoy->trains.lane;
}

/** Finds the lanes for bursts, again when lanes went down or up. */
void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes);

/** The lane for these frames, which are about to be sent: that of bursts, or `fast`. */
unsigned convoy_choose(struct convoy *convoy, const struct flow *flow,
                       struct flow_frame *const *frames, unsigned count, unsigned fast);

/** By how much this frame is shorter than the next one, if so little that both can go in one train
 *  nevertheless; else 0. */
uint32_t convoy_shorter_bytes(const struct flow_frame *frame, const struct flow_frame *next);

/** `count` new frames have left over the lane `by` of those for bursts. */
void convoy_sent(struct convoy *convoy, const struct flow *flow, unsigned count, unsigned by);

/** This frame is acknowledged (or given up, which tells nothing). Only now is it known what became
 *  of it: many bursts may be on their way. */
static inline void convoy_released(struct convoy *convoy, const struct flow_frame *frame)
{
    if (frame->first_way == FLOW_WAY_USUAL) {
        return;
    }
    struct convoy_way *way = frame->first_way == FLOW_WAY_CUT ? &convoy->cut : &convoy->trains;
    if (frame->transmissions == 1) {
        way->lost = 0;
    } else if (way->lost < CONVOY_LOST_MAX) {
        way->lost++;
    }
}

/** Would more frames make it cheaper to send these, pushed and not sent yet? Not more than the peer
 *  has room for while others are on their way. */
static inline bool convoy_waits(const struct convoy *convoy, const struct flow *flow)
{
    uint32_t unsent = flow->next - flow->highest;
    uint32_t half = flow_window(flow, flow->first) / 2; /* of all that may be under way */
    uint32_t enough = half < FLOW_BATCH_FRAMES ? half : FLOW_BATCH_FRAMES;

    return (convoy_exists(convoy) || convoy->needless) && unsent > 0 && unsent < enough;
}

#endif /* BEOWIRE_CORE_CONVOY_H */
