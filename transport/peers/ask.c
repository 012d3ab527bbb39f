/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks a peer for a connection, or whether it still exists. */
#include "core/control.h"
#include "core/core_internal.h"
#include "peers/peers.h"
#include "route/address.h"
#include "route/proof.h"

void core_ask_by(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    static const uint32_t shorter[] = CONNECTION_SHORTER_MTUS;
    const struct lane *lane = core->options.lanes.lanes[lane_index];

    control_send_connect(core, peer, lane_index, PATHS_ANY_MTU);
    for (unsigned i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        if (peer->connection.attempts > CONNECTION_LONG_ATTEMPTS && shorter[i] < lane->mtu) {
            control_send_connect(core, peer, lane_index, shorter[i]);
        }
    }
}

void core_ask_over(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    if (peer->connection.asks) {
        core_ask_by(core, peer, lane_index);
    } else {
        control_send_probe_by(core, peer, lane_index);
    }
}

bool core_ask(struct core_peer *peer, uint64_t now_ns)
{
    if (!proof_secret_is_known(address_layout(&peer->address)->secret)) {
        return false;
    }
    connection_ask(&peer->connection, now_ns);
    return true;
}

bool core_ask_who_it_is(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    bool needed = peer->connection.asking_since_ns != 0;

    if (peer->connection.state != CONNECTION_ANSWERED || !core_ask(peer, now_ns)) {
        return false;
    }
    if (!needed) {
        connection_relent(&peer->connection); /* none of our operations depends on it */
    }
    core_note_deadline(core, 0);
    return true;
}
