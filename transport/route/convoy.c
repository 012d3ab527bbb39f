/* SPDX-License-Identifier: BSD-3-Clause */
#include "convoy.h"

/** The first lane for bursts: one that cuts, or one that takes trains. */
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

/** Changes the lane, and forgets the history of the old one. */
static void set(struct convoy_way *way, uint8_t lane)
{
    if (way->lane != lane) {
        *way = (struct convoy_way){.lane = lane};
    }
}

void convoy_find(struct convoy *convoy, const struct paths *paths, const struct path_lanes *lanes)
{
    const struct lane *fast = paths->fast != PATH_NONE ? lanes->lanes[paths->fast] : NULL;
    bool wanted = fast != NULL && !fast->shares_memory && !fast->takes_trains;

    convoy->needless = fast != NULL && fast->takes_trains;
    set(&convoy->cut, wanted ? find(paths, lanes, true) : PATH_NONE);
    set(&convoy->trains, wanted ? find(paths, lanes, false) : PATH_NONE);
}

static uint32_t length_of(const struct flow_frame *frame)
{
    return frame->head_bytes + frame->payload_bytes;
}

uint32_t convoy_shorter_bytes(const struct flow_frame *frame, const struct flow_frame *next)
{
    uint32_t by = length_of(next) - length_of(frame);

    return by <= FRAME_EVENED_BYTES ? by : 0;
}

static uint32_t length_in_train(struct flow_frame *const *frames, unsigned count, unsigned i)
{
    return length_of(frames[i]) +
           (i + 1 < count ? convoy_shorter_bytes(frames[i], frames[i + 1]) : 0);
}

static bool is_fragment(struct flow_frame *const *frames, unsigned count, unsigned i)
{
    return i < count && frame_type_of(frames[i]->head) == FRAME_FRAGMENT;
}

/** Calls needed for these frames. Frames of equal length are a train, with one shorter frame at its
 *  end; a lane that cuts takes each message of several frames separately. */
static unsigned calls_for(struct flow_frame *const *frames, unsigned count, bool cut)
{
    unsigned calls = 1;

    for (unsigned i = 1; i < count; i++) {
        uint32_t before = length_in_train(frames, count, i - 1);
        uint32_t length = length_in_train(frames, count, i);
        bool was_shorter = i >= 2 && before < length_in_train(frames, count, i - 2);
        bool uneven = length > before || was_shorter;
        bool other = is_fragment(frames, count, i - 1) || is_fragment(frames, count, i + 1);
        calls += cut ? !is_fragment(frames, count, i) && (other || uneven) : uneven;
    }
    return calls;
}

/** Can this way be used for a burst? If too many frames were lost there, only once in a while. */
static bool is_open(struct convoy_way *way)
{
    return way->lane != PATH_NONE && (way->lost < CONVOY_LOST_MAX || ++way->skipped == 0);
}

/** Should a burst of `count` frames use a lane that cuts? A short burst only if little else is in
 *  flight; and frames behind a train must not overtake it. */
static bool may_be_cut(const struct convoy *convoy, unsigned count, uint32_t on_way)
{
    bool behind_train =
        convoy->under_way && convoy->used == convoy->trains.lane && convoy->used != PATH_NONE;

    return !behind_train && (count >= CONVOY_CUT_LONG_FRAMES || on_way <= CONVOY_CUT_FRAMES_MAX);
}

unsigned convoy_choose(struct convoy *convoy, struct flow_frame *const *frames, unsigned count,
                       uint32_t first, uint32_t highest, unsigned fast)
{
    convoy->under_way = convoy->under_way && sequence_before(first, convoy->end);
    if (!convoy_exists(convoy) || convoy->in_order || frames[0]->transmissions > 0) {
        return fast;
    }
    bool cut = convoy->cut.lane != PATH_NONE &&
               (convoy->trains.lane == PATH_NONE || may_be_cut(convoy, count, highest - first));
    if (cut || !convoy->under_way) { /* in a stream the lane is decided */
        unsigned calls = calls_for(frames, count, cut);
        if (cut && convoy->trains.lane != PATH_NONE) {
            unsigned trains = calls_for(frames, count, false);
            cut = calls <= trains;
            calls = cut ? calls : trains;
        }
        if (!convoy->under_way && count < convoy->frames_min * calls) {
            return fast;
        }
    }
    struct convoy_way *better = cut ? &convoy->cut : &convoy->trains;
    struct convoy_way *other = cut ? &convoy->trains : &convoy->cut;
    if (is_open(better)) {
        return better->lane;
    }
    return better != other && is_open(other) ? other->lane : fast;
}

void convoy_sent(struct convoy *convoy, uint32_t highest, unsigned count, unsigned lane_index)
{
    if (count > 0) {
        convoy->end = highest + count;
        convoy->used = (uint8_t)lane_index;
        convoy->under_way = true;
    }
}
