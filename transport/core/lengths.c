/* SPDX-License-Identifier: BSD-3-Clause */
#include "lengths.h"

#include "core/core_internal.h"

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/** Sets lengths to what our lanes carry, or less, as the peer says in CONNECT or ACCEPT. */
static void agree(const struct core *core, struct core_peer *peer, const struct frame *frame)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint32_t data = paths_data_bytes(&peer->route.paths, lanes, PATHS_ANY_MTU);
    uint32_t own = paths_frame_bytes(&peer->route.paths, lanes, PATHS_ANY_MTU);

    peer->data_bytes = lesser(data, from_le16(frame->connect->frame_bytes));
    /* The peer names the length of DATA; that of other frames differs as on our lanes. */
    peer->frame_bytes = own - (data - peer->data_bytes);
}

/** Sets the lengths that messages use: without seals and checksums, which are added later. */
static void use(const struct core *core, struct core_peer *peer)
{
    uint32_t lacking = peer->route.checked
                           ? paths_lack_bytes(&peer->route.paths, &core->options.lanes,
                                              peer->data_bytes, peer->frame_bytes)
                           : 0;

    peer->message.data_bytes = peer->data_bytes - route_seal_bytes(&peer->route) - lacking;
    peer->message.frame_bytes = peer->frame_bytes - route_seal_bytes(&peer->route);
}

void lengths_begin(const struct core *core, struct core_peer *peer, const struct frame *frame)
{
    const struct path_lanes *lanes = &core->options.lanes;

    agree(core, peer, frame);
    peer->message.segment_bytes_max =
        (uint16_t)(peer->data_bytes - route_seal_bytes(&peer->route) - sizeof(struct frame_data));
    if (frame->type == FRAME_CONNECT && peer->connection.attempts > CONNECTION_LONG_ATTEMPTS) {
        peer->data_bytes = lesser(
            peer->data_bytes, paths_data_bytes(&peer->route.paths, lanes, CONNECTION_SHORTEST_MTU));
        peer->frame_bytes = lesser(peer->frame_bytes, paths_frame_bytes(&peer->route.paths, lanes,
                                                                        CONNECTION_SHORTEST_MTU));
    }
    use(core, peer);
}

void lengths_shorten(const struct core *core, struct core_peer *peer, const struct frame *frame)
{
    bool unheard = frame->type == FRAME_ACCEPT || peer->accepts_sent >= CONNECTION_LONG_ACCEPTS;

    if (unheard && from_le16(frame->connect->frame_bytes) < peer->data_bytes) {
        agree(core, peer, frame);
        use(core, peer);
    }
}
