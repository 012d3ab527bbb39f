/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections in which each frame is sealed (route/seal.h), because one end requires it. Frames in
 * shared memory need no seal, because others cannot write there.
 */
#include "core/core_internal.h"
#include "route/address.h"

#include <errno.h>
#include <stdlib.h>

/** Network cards that cut frames cannot seal the pieces. */
static void leave_out_cutting_lanes(const struct core *core, struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->lanes[i]->cuts) {
            peer->route.paths.reachable &= (uint16_t) ~(1u << i);
            peer->route.paths.proven &= (uint16_t) ~(1u << i);
        }
    }
}

int core_begin_seals(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    uint32_t features = from_le32(frame->connect->features);
    bool wanted = frame->type == FRAME_ACCEPT || core->options.authenticate ||
                  (features & FRAME_FEATURE_SEAL_WANTED) != 0;
    uint8_t nonce[FRAME_NONCE_BYTES];

    core_end_seals(peer); /* a forged CONNECT may have come before */
    if (!core_may_seal(core, features)) {
        return -EPROTONOSUPPORT;
    }
    if ((features & FRAME_FEATURE_SEAL) == 0 || !wanted) {
        return 0;
    }
    peer->route.seal = malloc(sizeof *peer->route.seal);
    if (peer->route.seal == NULL) {
        return -ENOMEM;
    }
    proof_nonce(core->proof_key, peer->connection.own_key, nonce);
    seal_begin(peer->route.seal,
               &(struct seal_end){.secret = address_layout(&core->options.address)->secret,
                                  .nonce = nonce},
               &(struct seal_end){.secret = address_layout(&peer->address)->secret,
                                  .nonce = peer->connection.peer_nonce});
    leave_out_cutting_lanes(core, peer);
    return 0;
}

void core_end_seals(struct core_peer *peer)
{
    if (peer->route.seal != NULL) {
        seal_end(peer->route.seal);
        free(peer->route.seal);
        peer->route.seal = NULL;
    }
}

bool core_seal_is_right(struct core_peer *peer, const struct frame *frame, const struct lane *lane)
{
    if (lane->is_certain || frame_is_never_sealed(frame->type)) {
        return frame->seal == NULL;
    }
    if (peer->route.seal == NULL) {
        return peer->connection.state == CONNECTION_FAILED; /* it gets a RESET */
    }
    return frame->seal != NULL && seal_is_right(peer->route.seal, frame);
}
