/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums. Frames have them on lanes where nothing else protects their bytes, if both ends offer
 * them (frame/checksum.h). A damaged frame is dropped, and retransmitted like a lost one. CONNECT
 * and ACCEPT have proofs instead, and sealed frames their seals.
 *
 * Where frames must have a checksum, a frame without one counts as damaged, because one wrong bit
 * can make it look so.
 */
#include "core/core_internal.h"

/** The most peers that are searched for the sender of a damaged frame. */
#define PEERS_LOOKED_AT 256

void core_begin_checksums(const struct core *core, struct core_peer *peer,
                          const struct frame *frame)
{
    uint32_t features = from_le32(frame->connect->features) & core_features(core);

    peer->route.checked = (features & FRAME_FEATURE_CHECKSUM) != 0 && peer->route.seal == NULL;
}

/** The peer at this address of the lane, because the key in the frame may be damaged. @return NULL:
 *  no known peer. */
static const struct core_peer *find_peer(const struct core *core, const struct arrival *from)
{
    for (uint32_t i = 0; i < core->peer_count && i < PEERS_LOOKED_AT; i++) {
        if (paths_is_to(&core->peers[i]->route.paths, from->lane_index, &from->address)) {
            return core->peers[i];
        }
    }
    return NULL;
}

void core_note_damage(struct core *core, const struct arrival *from)
{
    const struct core_peer *peer = find_peer(core, from);
    struct core_damage *at = core->damage;
    struct core_damage *end = core->damage + core->damaged_links;

    core->counters.dropped_damaged++;
    core->options.lanes.lanes[from->lane_index]->damaged_frames++;
    if (peer == NULL) {
        return;
    }
    while (at < end && (at->lane_index != from->lane_index || at->handle != peer->message.handle)) {
        at++;
    }
    if (at == core->damage + CORE_DAMAGED_LINKS) {
        return;
    }
    if (at == end) {
        core->damaged_links++;
        *at = (struct core_damage){.handle = peer->message.handle,
                                   .lane_index = (uint8_t)from->lane_index};
    }
    at->frames++;
}
