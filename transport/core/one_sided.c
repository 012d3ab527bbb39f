/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages that a lane reads from peers' memory (pull/one_sided.h): which lane does it, and
 * for which peers. Endpoints have at most one lane that can, so both ends use the same.
 */
#include "core/core_internal.h"

#include <errno.h>

static const struct lane_address *place_of(const struct core *core, const struct message_peer *peer)
{
    return &core->peers[peer->index]->route.paths.to[core->lender];
}

static uint64_t core_lend(void *context, const struct message_peer *peer, const void *memory,
                          uint64_t bytes)
{
    const struct core *core = context;
    struct lane *lane = core->options.lanes.lanes[core->lender];

    return lane->operations->lend(lane, place_of(core, peer), memory, bytes);
}

static void core_take_back(void *context, uint64_t lent)
{
    const struct core *core = context;
    struct lane *lane = core->options.lanes.lanes[core->lender];

    lane->operations->take_back(lane, lent);
}

static int core_begin_read(void *context, const struct message_peer *peer, uint64_t lent,
                           void *target, uint64_t bytes, void *read)
{
    const struct core *core = context;
    struct lane *lane = core->options.lanes.lanes[core->lender];

    return lane->operations->begin_read(lane, place_of(core, peer), lent, target, bytes, read);
}

static void core_stop_read(void *context, void *read)
{
    const struct core *core = context;
    struct lane *lane = core->options.lanes.lanes[core->lender];

    lane->operations->stop_read(lane, read);
}

void core_open_one_sided(struct core *core)
{
    static const struct one_sided_operations operations = {
        .lend = core_lend,
        .take_back = core_take_back,
        .begin_read = core_begin_read,
        .stop_read = core_stop_read,
    };
    const struct path_lanes *lanes = &core->options.lanes;

    core->lender = PATH_NONE;
    for (unsigned i = 0; i < lanes->count && core->lender == PATH_NONE; i++) {
        if (lanes->lanes[i]->operations->lend != NULL) {
            core->lender = (uint8_t)i;
            core->messages.one_sided = &operations;
        }
    }
}

void core_choose_one_sided(struct core *core, struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;
    unsigned lane_index = core->lender;
    /* Reads have no seal. */
    bool can = lane_index != PATH_NONE && peer->message.ready && !peer->message.ourselves &&
               !peer->message.shares_memory && peer->route.seal == NULL &&
               paths_is_usable(&peer->route.paths, lanes, lane_index);

    if (can) {
        lanes->lanes[lane_index]->operations->meet(lanes->lanes[lane_index],
                                                   &peer->route.paths.to[lane_index],
                                                   peer->connection.own_key, peer->message.key);
    }
    peer->message.one_sided = can;
}

unsigned core_end_reads(struct core *core, uint64_t (*clock_ns)(void *), void *clock,
                        uint64_t *now_ns)
{
    struct lane *lane = core->options.lanes.lanes[core->lender];
    unsigned count = 0;
    void *read = NULL;
    int status = 0;

    while (message_reads(&core->messages) && lane->operations->read_ended(lane, &read, &status)) {
        if (*now_ns == 0) {
            *now_ns = clock_ns(clock);
            core->messages.now_ns = *now_ns;
        }
        const struct message_peer *peer =
            message_read_ended(&core->messages, read, status, *now_ns);
        core_touch(core, core->peers[peer->index]);
        count++;
    }
    return count;
}
