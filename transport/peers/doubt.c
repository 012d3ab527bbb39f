/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that may have ended: since when, and the application's events about them. */
#include "core/core_internal.h"
#include "peers/peers.h"

#include <stdlib.h>

struct doubt *core_doubt(struct core_peer *peer)
{
    if (peer->doubt == NULL) {
        peer->doubt = calloc(1, sizeof *peer->doubt);
    }
    if (peer->doubt != NULL) {
        peer->doubt->open = true;
    }
    return peer->doubt;
}

void core_trust(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    struct suspicion *suspicion = &peer->doubt->suspicion;
    struct stillness *stillness = &peer->doubt->stillness;

    peer->doubt->open = false;
    core_dismiss_witness(core, stillness);
    if (stillness->silent) {
        stillness->silent = false;
        core_touch(core, peer); /* sends what has waited */
    }
    /* `ask_at_ns` remains, because reports may come at any rate. */
    *suspicion = (struct suspicion){.ask_at_ns = suspicion->ask_at_ns};
    stillness->asked_ns = 0;
    if (stillness->still) {
        stillness->still = false;
        stillness->lasted_ns = now_ns - stillness->since_ns;
        core->events += stillness->told ? 1 : UINT32_MAX;
    }
    stillness->since_ns = 0;
}

void core_end_doubt(struct core *core, struct core_peer *peer)
{
    if (peer->doubt != NULL) {
        core_dismiss_witness(core, &peer->doubt->stillness);
        core->events -= peer->doubt->stillness.still != peer->doubt->stillness.told;
        *peer->doubt = (struct doubt){0};
    }
}

bool core_take_event(struct core *core, struct beowire_event *event, uint64_t now_ns)
{
    for (uint32_t i = 0; core->events > 0 && i < core->peer_count; i++) {
        struct doubt *doubt = core->peers[i]->doubt;
        if (doubt != NULL && doubt->stillness.still != doubt->stillness.told) {
            struct stillness *stillness = &doubt->stillness;
            bool still = stillness->still;
            stillness->told = still;
            core->events--;
            *event = (struct beowire_event){
                .kind = still ? BEOWIRE_PEER_STANDS_STILL : BEOWIRE_PEER_GOES_ON,
                .peer = core->peers[i]->message.handle,
                .since_ns = still ? now_ns - stillness->since_ns : stillness->lasted_ns,
            };
            return true;
        }
    }
    return false;
}
