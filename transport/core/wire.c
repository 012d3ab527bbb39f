/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends sequenced frames, and chooses the lane of each. */
#include "core/core_internal.h"

#include <assert.h>

/* A narrowed lane takes only short frames. Longer ones use another lane, whose datagrams the kernel
 * fragments (UDP). Lanes are rarely narrowed, so this is a function of its own. */

static inline bool is_narrowed(const struct core *core, unsigned by)
{
    return __builtin_expect(core->options.lanes.lanes[by]->narrowed_bytes != 0, 0);
}

static bool is_too_long(const struct core *core, const struct core_peer *peer, unsigned by,
                        const struct lane_outgoing *frame)
{
    uint32_t most = core->options.lanes.lanes[by]->narrowed_bytes - core_seal_bytes(peer);

    return frame->head_bytes + frame->payload_bytes > most;
}

/** How many frames, from the first on, use the same lane: either all are too long for the narrowed
 *  one, or none is. @param count at least 1 */
__attribute__((noinline, cold)) static unsigned
count_alike(const struct core *core, const struct core_peer *peer, unsigned by,
            const struct lane_outgoing *frames, unsigned count)
{
    unsigned alike = 1;

    while (alike < count &&
           is_too_long(core, peer, by, &frames[alike]) == is_too_long(core, peer, by, &frames[0])) {
        alike++;
    }
    return alike;
}

/** @return the lane for this frame instead of a narrowed one, which may be that lane itself. */
__attribute__((noinline, cold)) static unsigned find_wide(const struct core *core,
                                                          const struct core_peer *peer, unsigned by,
                                                          const struct lane_outgoing *frame)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count && is_too_long(core, peer, by, frame); i++) {
        if (paths_is_for_all(lanes, i) && paths_is_usable(&peer->paths, lanes, i) &&
            lanes->lanes[i]->narrowed_bytes == 0) {
            return i;
        }
    }
    return by;
}

unsigned core_wire_send(void *context, struct flow_frame *const *frames, unsigned count)
{
    struct core_wire *wire = context;
    struct lane_outgoing outgoing[FLOW_BATCH_FRAMES];

    assert(count > 0);
    count = count < wire->left ? count : wire->left;
    if (count == 0) {
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        outgoing[i] = (struct lane_outgoing){
            .head = frames[i]->head,
            .head_bytes = frames[i]->head_bytes,
            .payload = frames[i]->payload,
            .payload_bytes = frames[i]->payload_bytes,
        };
    }
    struct convoy *convoy = &wire->peer->convoy;
    const struct flow *flow = &wire->peer->message.flow;
    unsigned fast = wire->peer->paths.fast;
    unsigned by = convoy_choose(convoy, flow, frames, count, fast);
    for (unsigned i = 0; wire->peer->message.trains && i + 1 < count; i++) {
        outgoing[i].shorter_bytes = convoy_shorter_bytes(frames[i], frames[i + 1]);
    }
    if (is_narrowed(wire->core, by)) {
        count = count_alike(wire->core, wire->peer, by, outgoing, count);
        by = find_wide(wire->core, wire->peer, by, outgoing);
    }
    unsigned taken = core_send(wire->core, wire->peer, by, outgoing, count);
    if (taken == 0 && by != fast) { /* a lane that takes nothing must not stop the others */
        by = fast;
        if (is_narrowed(wire->core, by)) {
            count = count_alike(wire->core, wire->peer, by, outgoing, count);
            by = find_wide(wire->core, wire->peer, by, outgoing);
        }
        taken = core_send(wire->core, wire->peer, by, outgoing, count);
    }
    enum flow_way way = convoy_way_of(convoy, by, fast);
    for (unsigned i = 0; i < taken; i++) {
        frames[i]->way = (uint8_t)way;
        frames[i]->first_way = frames[i]->transmissions == 0 ? (uint8_t)way : frames[i]->first_way;
    }
    if (by != fast) {
        convoy_sent(convoy, flow, taken, by);
    }
    wire->peer->message.gathers = convoy_gathers(convoy);
    wire->left -= taken;
    return taken;
}

void core_wire_released(void *context, struct flow_frame *frame)
{
    const struct core_wire *wire = context;

    convoy_released(&wire->peer->convoy, frame);
    message_frame_released(&wire->core->messages, frame);
}
