/* SPDX-License-Identifier: BSD-3-Clause */
#include "convoy.h"

void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes)
{
    uint8_t before = convoy->lane;

    convoy->lane = PATH_NONE;
    if (paths->fast == PATH_NONE || lanes->lanes[paths->fast]->kind == LANE_SHM ||
        lanes->lanes[paths->fast]->takes_trains) {
        return;
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->lanes[i]->takes_trains && paths_is_usable(paths, lanes, i)) {
            convoy->lane = (uint8_t)i;
            break;
        }
    }
    if (convoy->lane != before) {
        convoy->unproven = 0;
        convoy->skipped = 0;
    }
}

static uint32_t length_of(const struct flow_frame *frame)
{
    return frame->head_bytes + frame->payload_bytes;
}

/** Is it cheaper to send these frames together? A train has frames of one length, only the last may
 *  be shorter. */
static bool is_burst(struct flow_frame *const *frames, unsigned count)
{
    unsigned trains = 1;

    for (unsigned i = 1; i < count; i++) {
        uint32_t before = length_of(frames[i - 1]);
        uint32_t length = length_of(frames[i]);
        bool was_shorter = i >= 2 && before < length_of(frames[i - 2]);
        trains += length > before || was_shorter;
    }
    return count >= CONVOY_FRAMES_MIN * trains;
}

/** Too many went that way, and nothing has been heard of them. */
static bool is_in_doubt(struct convoy *convoy)
{
    return convoy->unproven >= CONVOY_UNPROVEN_MAX && ++convoy->skipped != 0;
}

unsigned convoy_choose(struct convoy *convoy, const struct flow *flow,
                       struct flow_frame *const *frames, unsigned count, unsigned fast)
{
    convoy->under_way = convoy->under_way && sequence_before(flow->first, convoy->end);
    if (convoy->lane == PATH_NONE || flow->go_back_n || frames[0]->transmissions > 0 ||
        !(convoy->under_way || is_burst(frames, count)) || is_in_doubt(convoy)) {
        return fast;
    }
    return convoy->lane;
}

void convoy_sent(struct convoy *convoy, const struct flow *flow, unsigned count)
{
    if (count > 0) {
        convoy->end = flow->highest + count;
        convoy->under_way = true;
        if (convoy->unproven < CONVOY_UNPROVEN_MAX) {
            convoy->unproven++;
        }
    }
}
