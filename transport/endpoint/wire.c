/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequenced frames on their way out: over which lane each goes. */
#include "endpoint/core_internal.h"

/** As find_wide(), over a lane that has been narrowed. */
static unsigned find_wider(const struct core *core, const struct core_peer *peer, unsigned by,
                           const struct lane_outgoing *frames, unsigned *count)
    __attribute__((noinline, cold));

static unsigned find_wider(const struct core *core, const struct core_peer *peer, unsigned by,
                           const struct lane_outgoing *frames, unsigned *count)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint32_t most = lanes->lanes[by]->narrowed_bytes - core_seal_bytes(peer);
    unsigned alike = 1;

    if (*count == 0) {
        return by;
    }
    bool fits = frames[0].head_bytes + frames[0].payload_bytes <= most;
    while (alike < *count &&
           (frames[alike].head_bytes + frames[alike].payload_bytes <= most) == fits) {
        alike++;
    }
    *count = alike;
    for (unsigned i = 0; i < lanes->count && !fits; i++) {
        if (paths_is_for_all(lanes, i) && paths_is_usable(&peer->paths, lanes, i) &&
            lanes->lanes[i]->narrowed_bytes == 0) {
            return i;
        }
    }
    return by;
}

/** Which lane takes the first of these frames, if the one it should go over has been narrowed: what
 *  is too long for that goes over another, of which the kernel cuts what it sends (UDP).
 *  @param count gets how many frames go there together */
static inline unsigned find_wide(const struct core *core, const struct core_peer *peer, unsigned by,
                                 const struct lane_outgoing *frames, unsigned *count)
{
    if (__builtin_expect(core->options.lanes.lanes[by]->narrowed_bytes == 0, 1)) {
        return by;
    }
    return find_wider(core, peer, by, frames, count);
}

unsigned core_wire_send(void *context, struct flow_frame *const *frames, unsigned count)
{
    const struct core_wire *wire = context;
    struct lane_outgoing outgoing[FLOW_BATCH_FRAMES];

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
    by = find_wide(wire->core, wire->peer, by, outgoing, &count);
    unsigned taken = core_send(wire->core, wire->peer, by, outgoing, count);
    if (taken == 0 &&
        by != fast) { /* whoever takes nothing, for whatever reason, holds nothing up */
        by = find_wide(wire->core, wire->peer, fast, outgoing, &count);
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
    return taken;
}

void core_wire_released(void *context, struct flow_frame *frame)
{
    const struct core_wire *wire = context;

    convoy_released(&wire->peer->convoy, frame);
    message_frame_released(&wire->core->messages, frame);
}
