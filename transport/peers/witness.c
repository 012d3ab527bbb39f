/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks by a peer's kernel whether a silent peer's process exists (lane/witness.h). */
#include "core/core_internal.h"
#include "peers/peers.h"
#include "route/address.h"
#include "route/proof.h"
#include "tuning.h"

static_assert(PROOF_WITNESS_KEY_BYTES == LANE_WITNESS_KEY_BYTES, "lane.h");

void core_bear_witness(struct core *core)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint8_t key[LANE_WITNESS_KEY_BYTES];
    bool any = false;
    bool all = true;

    proof_witness_key(address_layout(&core->options.address)->secret, key);
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->operations->bear_witness != NULL) {
            any = true;
            all = lane->operations->bear_witness(lane, key) == 0 && all;
        }
    }
    core->bears_witness = any && all;
}

void core_call_witness(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    struct lane *lane = core->options.lanes.lanes[lane_index];
    struct stillness *stillness = &peer->doubt->stillness;
    const uint8_t *secret = address_layout(&peer->address)->secret;
    uint8_t key[LANE_WITNESS_KEY_BYTES];

    if (peer->connection.state != CONNECTION_OPEN || !peer->bears_witness ||
        stillness->witness_called || lane->operations->call_witness == NULL ||
        core->witnesses >= WITNESSES_MAX || !proof_secret_is_known(secret)) {
        return;
    }
    proof_witness_key(secret, key);
    stillness->witness_by = (uint8_t)lane_index;
    stillness->witness_called =
        lane->operations->call_witness(lane, &peer->route.paths.to[lane_index], key,
                                       stillness->witness) == 0;
    core->witnesses += stillness->witness_called;
}

void core_dismiss_witness(struct core *core, struct stillness *stillness)
{
    struct lane *lane = core->options.lanes.lanes[stillness->witness_by];

    if (stillness->witness_called) {
        lane->operations->dismiss_witness(lane, stillness->witness);
        core->witnesses--;
    }
    stillness->witness_called = false;
}

bool core_may_be_there(struct core *core, struct core_peer *peer)
{
    struct stillness *stillness = &peer->doubt->stillness;
    struct lane *lane = core->options.lanes.lanes[stillness->witness_by];

    enum lane_witness state = LANE_WITNESS_UNKNOWN; /* no witness, or no socket for it */
    if (stillness->witness_called) {
        state = lane->operations->witness(lane, stillness->witness);
    }
    if (state == LANE_WITNESS_ENDED) {
        core_dismiss_witness(core, stillness); /* it is called again with the next question */
    }
    return state == LANE_WITNESS_PROVES ||
           (state == LANE_WITNESS_UNKNOWN && !core_is_refused_by_host(peer));
}
