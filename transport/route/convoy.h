/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convoy.h - sends bursts of sequenced frames over a lane that carries many together.
 *
 * The fast lane is the quickest for one frame, but each frame passes the kernel separately. A lane
 * with segmentation offload takes a burst of frames of equal length for little more than the cost
 * of one (docs/PERFORMANCE.md), so bursts use that lane. Frames that follow use it too, until the
 * burst is acknowledged, because on another lane they would overtake it.
 *
 * There may be two such lanes: one that cuts, where all frames of a message share one head, and
 * UDP, where a train has the frames of many short messages. If no frame on one seems to arrive (a
 * firewall may pass only one of them), the other is used; if none arrives on either, the fast lane.
 * Each is tried again now and then. Retransmitted frames use the fast lane.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_CONVOY_H
#define BEOWIRE_ROUTE_CONVOY_H

#include "frame/frame.h"
#include "route/flow_frame.h"
#include "route/path.h"

/** A lane for bursts. */
struct convoy_way {
    uint8_t lane;    /**< PATH_NONE: there is none */
    uint8_t lost;    /**< frames in a row that were lost on it */
    uint8_t skipped; /**< bursts that avoided it because too many frames were lost */
};

struct convoy {
    uint8_t frames_min;       /**< frames of equal length; fewer use the fast lane */
    bool in_order;            /**< what overtakes other frames is dropped: all take the fast lane */
    bool needless;            /**< no lane for bursts, because the usual lane takes trains itself */
    uint32_t end;             /**< one past the last sequence sent in a burst */
    bool under_way;           /**< frames before `end` may be unacknowledged; */
    uint8_t used;             /**< lane of the last burst; PATH_NONE: none yet */
    struct convoy_way cut;    /**< a lane with segmentation offload */
    struct convoy_way trains; /**< one that takes trains */
};

/** Starts without a lane for bursts. A burst has at least `frames_min` frames. */
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

/** Are bursts sent in trains, on whatever lane? Then frames of equal length are cheaper. */
static inline bool convoy_has_trains(const struct convoy *convoy)
{
    return convoy->trains.lane != PATH_NONE || convoy->needless;
}

/** Do the frames of a message share one head? */
static inline bool convoy_gathers(const struct convoy *convoy)
{
    return convoy->cut.lane != PATH_NONE && convoy->cut.lost < CONVOY_LOST_MAX;
}

/** The way of frames sent over a lane; `fast` is the usual lane. */
static inline enum flow_way convoy_way_of(const struct convoy *convoy, unsigned lane_index,
                                          unsigned fast)
{
    if (lane_index == fast) {
        return FLOW_WAY_USUAL;
    }
    return lane_index == convoy->cut.lane ? FLOW_WAY_CUT : FLOW_WAY_OTHER;
}

/** The lane of a way; PATH_NONE: none any more, or the usual one. */
static inline uint8_t convoy_lane_of(const struct convoy *convoy, enum flow_way way)
{
    if (way == FLOW_WAY_USUAL) {
        return PATH_NONE;
    }
    return way == FLOW_WAY_CUT ? convoy->cut.lane : convoy->trains.lane;
}

/** Finds the lanes for bursts; to be called again when lanes go down or up. */
void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes);

/** The lane for frames about to be sent: a lane for bursts, or `fast`. The flow's frames from
 *  sequence `first` to before `highest` are in flight. */
unsigned convoy_choose(struct convoy *convoy, struct flow_frame *const *frames, unsigned count,
                       uint32_t first, uint32_t highest, unsigned fast);

/** By how much this frame is shorter than the next one, if so little that both can share a train;
 *  otherwise 0. */
uint32_t convoy_shorter_bytes(const struct flow_frame *frame, const struct flow_frame *next);

/** `count` new frames from sequence `highest` on were sent over the lane `lane_index`, a lane for
 * bursts.
 */
void convoy_sent(struct convoy *convoy, uint32_t highest, unsigned count, unsigned lane_index);

/** This frame was acknowledged (or abandoned, which says nothing). Only now it is known whether it
 *  was lost, because many bursts may be in flight. */
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

/** Should `unsent` pushed frames wait for more, which would make sending cheaper? Not beyond half
 * of `window`, the peer's room for all frames in flight. */
static inline bool convoy_waits(const struct convoy *convoy, uint32_t unsent, uint32_t window)
{
    uint32_t enough = window / 2 < FLOW_BATCH_FRAMES ? window / 2 : FLOW_BATCH_FRAMES;

    return (convoy_exists(convoy) || convoy->needless) && unsent > 0 && unsent < enough;
}

#endif /* BEOWIRE_ROUTE_CONVOY_H */
