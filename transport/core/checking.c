/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums: frames have them over lanes on which nothing else covers their bytes, if both ends
 * offer that (frame/checksum.h). One that is damaged is dropped, and comes again as if it had been
 * lost. CONNECT and ACCEPT have their proofs, and sealed frames their seals.
 *
 * Where frames are to have a checksum one without is damaged, too: it is a bit that says so.
 */
#include "core/core_internal.h"

/** Peers that are looked at for the one from which a damaged frame has come. */
#define PEERS_LOOKED_AT 256

void core_begin_checksums(const struct core *core, struct core_peer *peer,
                          const struct frame *frame)
{
    uint32_t features = from_le32(frame->connect->features) & core_features(core);

    peer->route.checked = (features & FRAME_FEATURE_CHECKSUM) != 0 && peer->route.seal == NULL;
}

/** Who is at this address of the lane? Its own key may be what was damaged. @return NULL: nobody
 *  that is known. */
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
