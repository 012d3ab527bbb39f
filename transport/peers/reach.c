/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths to each peer: which work, which are proven, and which is used. */
#include "core/control.h"
#include "core/core_internal.h"
#include "peers/peers.h"
#include "route/address.h"

#include <errno.h>

/** The peer has another fast path than `before`. */
static void change_path(struct core *core, struct core_peer *peer, unsigned before)
{
    core->lane_users[before]--;
    core->lane_users[peer->route.paths.fast]++;
    core->counters.path_changes++;
    flow_change_way(&peer->message.flow);
    core_find_convoy(core, peer);
}

void core_check_lane(struct core *core, unsigned lane_index)
{
    struct path_lanes *lanes = &core->options.lanes;
    struct lane *lane = lanes->lanes[lane_index];
    bool down = lane->operations->status(lane) != 0;

    if (down == lanes->down[lane_index]) {
        return;
    }
    lanes->down[lane_index] = down;
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        unsigned before = peer->route.paths.fast;
        if (!peer->gone && paths_follow_status(&peer->route.paths, lanes, lane_index)) {
            change_path(core, peer, before);
        }
        core_choose_bulk_lanes(core, peer);
        if (peer->connection.state == CONNECTION_OPEN) {
            core_try_paths(core, peer);
        }
    }
}

int core_status(struct core *core)
{
    bool any = false;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        core_check_lane(core, i);
        any = any || !core->options.lanes.down[i];
    }
    return any ? 0 : -ENETDOWN;
}

bool core_leave_memory(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    struct paths before = peer->route.paths;
    struct paths others;

    if (peer->connection.state >= CONNECTION_OPEN || !paths_share_memory(&before, lanes)) {
        return false;
    }
    paths_find(&others, lanes, address_layout(&peer->address), false);
    if (others.fast == PATH_NONE) {
        return false;
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (paths_reaches(&before, i) && lane->operations->leave != NULL) {
            lane->operations->leave(lane, &before.to[i]);
        }
    }
    core->lane_users[before.fast]--;
    core->lane_users[others.fast]++;
    core->counters.memory_left++;
    peer->route.paths = others;
    peer->message.crossing = others.crossing;
    peer->answered_by = 0;
    peer->begins_anew = peer->connection.state == CONNECTION_ANSWERED;
    connection_ask_anew(&peer->connection, now_ns);
    core_note_deadline(core, now_ns);
    return true;
}

void core_use_path(struct core *core, struct core_peer *peer, unsigned lane_index, uint64_t now_ns)
{
    unsigned before = peer->route.paths.fast;

    paths_use(&peer->route.paths, &core->options.lanes, lane_index, now_ns);
    change_path(core, peer, before);
}

void core_return_to_path(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    unsigned before = peer->route.paths.fast;

    paths_return(&peer->route.paths, &core->options.lanes, now_ns);
    change_path(core, peer, before);
}

/** The peer answers, but frames on this path do not arrive: uses another one. */
void core_try_another_path(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    unsigned before = peer->route.paths.fast;

    if (peer->followed) {
        peer->followed = false; /* the peer asks there for a reason: tries the same once more */
        return;
    }
    if (paths_next(&peer->route.paths, &core->options.lanes, now_ns)) {
        change_path(core, peer, before);
    }
}

void core_try_paths(struct core *core, struct core_peer *peer)
{
    peer->challenges = 0;
    peer->challenge_at_ns = 0;
    core_note_deadline(core, 0);
}

void core_prove_path(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    unsigned before = peer->route.paths.fast;

    if (peer->message.ready && paths_has_proven(&peer->route.paths, lane_index)) {
        return;
    }
    if (paths_prove(&peer->route.paths, &core->options.lanes, lane_index)) {
        change_path(core, peer, before);
    }
    if (peer->connection.state == CONNECTION_OPEN && !peer->message.ready &&
        paths_is_proven(&peer->route.paths)) {
        message_peer_ready(&core->messages, &peer->message, peer->first_credit, peer->limit);
        peer->message.flow.go_back_n = peer->route.convoy.in_order = !peer->selective;
    }
    core_choose_bulk_lanes(core, peer);
}

/** Tries the paths that are not proven, when this is due. */
void core_service_paths(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    const struct path_lanes *lanes = &core->options.lanes;
    bool any = false;

    if (now_ns >= peer->challenge_at_ns) {
        for (unsigned i = 0; i < lanes->count; i++) {
            if (paths_reaches(&peer->route.paths, i) && !paths_has_proven(&peer->route.paths, i)) {
                any = true;
                if (!lanes->down[i]) {
                    control_send_challenge(core, peer, i);
                }
            }
        }
        uint64_t pause_ns = (uint64_t)CONNECTION_RETRY_NS << peer->challenges;
        if (pause_ns < PATH_CHALLENGE_MAX_NS) {
            peer->challenges++;
        } else {
            pause_ns = PATH_CHALLENGE_MAX_NS;
        }
        peer->challenge_at_ns = any ? now_ns + pause_ns : UINT64_MAX;
    }
    core_note_deadline(core, peer->challenge_at_ns);
}
