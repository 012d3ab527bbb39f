/* SPDX-License-Identifier: BSD-3-Clause */
#include "convoy.h"

/** The first lane that suits bursts: one that cuts, or one that takes trains. */
static uint8_t find(const struct paths *paths, const struct path_lanes *lanes, bool cuts)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        if ((cuts ? lane->cuts : lane->takes_trains) && paths_is_usable(paths, lanes, i)) {
            return (uint8_t)i;
        }
    }
    return PATH_NONE;
}

void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes)
{
    uint8_t best = PATH_NONE;
    uint8_t spare = PATH_NONE;

    if (paths->fast != PATH_NONE && lanes->lanes[paths->fast]->kind != LANE_SHM &&
        !lanes->lanes[paths->fast]->takes_trains) {
        best = find(paths, lanes, true);
        spare = find(paths, lanes, false);
        if (best == PATH_NONE) {
            best = spare;
            spare = PATH_NONE;
        }
    }
    if (best == (convoy->astray ? convoy->spare : convoy->lane) &&
        spare == (convoy->astray ? convoy->lane : convoy->spare)) {
        return; /* as before */
    }
    convoy->lane = best;
    convoy->spare = spare;
    convoy->cutter = best != PATH_NONE && lanes->lanes[best]->cuts ? best : PATH_NONE;
    convoy->astray = false;
    convoy->doubted = false;
    convoy->lost = 0;
    convoy->skipped = 0;
}

/** The other lane has the bursts from now on. */
static void exchange(struct convoy *convoy)
{
    uint8_t lane = convoy->lane;

    convoy->lane = convoy->spare;
    convoy->spare = lane;
    convoy->astray = !convoy->astray;
    convoy->bursts = 0;
    convoy->lost = 0;
}

static uint32_t length_of(const struct flow_frame *frame)
{
    return frame->head_bytes + frame->payload_bytes;
}

/** Is it cheaper to send these frames together? A train has frames of one length, only the last may
 *  be shorter.
 *
 * @param gathers those of one message are a train, whatever their lengths */
static bool is_burst(struct flow_frame *const *frames, unsigned count, bool gathers)
{
    unsigned trains = 1;

    for (unsigned i = 1; i < count; i++) {
        uint32_t before = length_of(frames[i - 1]);
        uint32_t length = length_of(frames[i]);
        bool was_shorter = i >= 2 && before < length_of(frames[i - 2]);
        bool follows = gathers && frame_type_of(frames[i]->head) == FRAME_FRAGMENT;
        trains += !follows && (length > before || was_shorter);
    }
    return count >= CONVOY_FRAMES_MIN * trains;
}

/** Too many that went that way were lost, and none has arrived: is there no other? */
static bool is_in_doubt(struct convoy *convoy)
{
    if (convoy->lost < CONVOY_LOST_MAX) {
        return false;
    }
    if (convoy->spare != PATH_NONE && !convoy->doubted) {
        exchange(convoy);
        convoy->doubted = true;
        return false;
    }
    return ++convoy->skipped != 0;
}

/** The lane for a burst: one that cuts only while little else is on its way; and what follows by
 * the other does not overtake it. */
static unsigned lane_for(const struct convoy *convoy, const struct flow *flow)
{
    bool trains = convoy->under_way && convoy->used == convoy->spare;

    if (convoy->lane != convoy->cutter || convoy->spare == PATH_NONE) {
        return convoy->lane;
    }
    return trains || flow->highest - flow->first > CONVOY_CUT_FRAMES_MAX ? convoy->spare
                                                                         : convoy->lane;
}

unsigned convoy_choose(struct convoy *convoy, const struct flow *flow,
                       struct flow_frame *const *frames, unsigned count, unsigned fast)
{
    bool under_way = convoy->under_way && sequence_before(flow->first, convoy->end);

    convoy->under_way = under_way;
    if (convoy->lane == PATH_NONE || flow->go_back_n || frames[0]->transmissions > 0) {
        return fast;
    }
    bool gathers = lane_for(convoy, flow) == convoy->cutter;
    if (!(under_way || is_burst(frames, count, gathers)) || is_in_doubt(convoy)) {
        return fast;
    }
    return lane_for(convoy, flow);
}

void convoy_sent(struct convoy *convoy, const struct flow *flow, unsigned count, unsigned by)
{
    if (count > 0) {
        convoy->used = (uint8_t)by;
        convoy->end = flow->highest + count;
        convoy->under_way = true;
        if (convoy->astray && ++convoy->bursts == CONVOY_ASTRAY_BURSTS) {
            exchange(convoy);
        }
    }
}
