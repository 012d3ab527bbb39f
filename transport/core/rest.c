/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the rest of a message that a lane with segmentation offload has delivered at once. */
#include "core/core_internal.h"

/** Is a matched message of the peer incomplete, with no frame missing before the rest? */
static bool awaits_rest(const struct core_peer *peer)
{
    return message_awaits_rest(&peer->message) && !flow_has_gap(&peer->message.flow);
}

/** Is it a FRAGMENT of the peer that carries nothing but data: all else follows from its place? */
static bool is_plain(const struct core_peer *peer, const struct lane *lane, unsigned lane_index,
                     const struct lane_incoming *incoming, struct frame *frame)
{
    return incoming->tacit && !incoming->damaged && incoming->segment_bytes == 0 &&
           incoming->bytes <= lane->frame_bytes &&
           paths_is_to(&peer->route.paths, lane_index, &incoming->from) &&
           frame_decode(incoming->data, incoming->bytes, frame) == FRAME_OK &&
           frame->type == FRAME_FRAGMENT && frame->flags == 0 &&
           frame->key == peer->connection.own_key;
}

unsigned core_receive_rest(struct core *core, struct core_peer *peer, unsigned lane_index,
                           const struct lane_incoming *frames, unsigned count, uint64_t now_ns)
{
    struct flow *flow = &peer->message.flow;
    const struct lane *lane = core->options.lanes.lanes[lane_index];
    unsigned taken = 0;

    if (!lane->cuts || peer->route.seal != NULL || !awaits_rest(peer)) {
        return 0;
    }
    for (; taken < count; taken++) {
        struct frame frame;
        if (!is_plain(peer, lane, lane_index, &frames[taken], &frame) ||
            frame.sequence != flow->expected + taken ||
            !sequence_before(frame.sequence, flow->granted)) {
            break;
        }
        if (frames[taken].payload != NULL) {
            frame.payload = frames[taken].payload;
        }
        if (!message_continue(&peer->message, &frame)) {
            break;
        }
    }
    if (taken > 0) {
        core->counters.received[FRAME_FRAGMENT] += taken;
        flow_accept_run(flow, taken, now_ns);
        message_frames_continued(&core->messages, &peer->message, taken);
    }
    return taken;
}
