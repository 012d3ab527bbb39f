/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages of a sender on our host: reading from its memory.
 *
 * Copying by both ends through the lane is much quicker than reading by one end, if both have a
 * core (docs/PERFORMANCE.md). A sender without a core, or one that computes, sends nothing for a
 * while. Then blocks are read, and the next messages as a whole: 1, 2, 4 and so on, before the
 * sender is asked to send again.
 */
#include "message/internal.h"
#include "pull/pull_internal.h"

/** The sender was too late with this message. */
static void note_absence(struct pull *pull)
{
    struct message_peer *peer = pull->peer;

    if (!pull->sender_absent) {
        pull->sender_absent = true;
        peer->reads_left = (uint8_t)(1u << peer->absences);
        if (peer->absences < PULL_READ_DOUBLINGS) {
            peer->absences++;
        }
    }
}

bool pull_read_whole(struct message_layer *layer, const struct inbound *inbound)
{
    struct message_peer *peer = inbound->peer;
    bool absent = peer->reads_left > 0 && inbound->expected_bytes <= PULL_READ_ABSENT_BYTES_MAX;

    if ((!absent && inbound->expected_bytes > layer->limits.read_bytes) ||
        !inbound_is_readable(layer, inbound) ||
        layer->read_memory(layer->read_context, peer, inbound->address, inbound_target(inbound),
                           inbound->expected_bytes) != 0) {
        return false;
    }
    if (absent) {
        peer->reads_left--;
    }
    layer->counters.messages_read++;
    return true;
}

/** When data last arrived from the peer, of any message, or when the pull began. */
static uint64_t heard_ns(const struct pull *pull)
{
    uint64_t latest_ns = pull->begun_ns;

    for (uint32_t lanes = pull->peer->bulk_lanes; lanes != 0; lanes &= lanes - 1) {
        const struct pull_path *path = &pull->peer->pull_paths[__builtin_ctz(lanes)];
        latest_ns = path->heard_ns > latest_ns ? path->heard_ns : latest_ns;
    }
    return latest_ns;
}

/** How long to wait for the sender: about as long as reading the rest costs in lost time, so that
 *  the wrong choice costs at most twice the time. */
static uint64_t patience_ns(const struct pull *pull)
{
    uint64_t left = (pull->blocks - pull->blocks_done) * pull_block_bytes(pull);
    uint64_t lost_ns = left / PULL_READ_BYTES_PER_NS;

    return lost_ns > PULL_READ_PATIENCE_NS ? lost_ns : PULL_READ_PATIENCE_NS;
}

uint64_t pull_read_due(const struct pull *pull)
{
    return pull->readable ? heard_ns(pull) + patience_ns(pull) : UINT64_MAX;
}

/** The first requested block that is incomplete. Those behind it arrive later if the sender begins
 *  after all. @return NULL: none. */
static struct pull_block *first_asked(struct pull *pull)
{
    struct pull_block *first = NULL;

    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *block = &pull->block[i];
        if (block->active && (first == NULL || block->index < first->index)) {
            first = block;
        }
    }
    return first;
}

void pull_read(struct message_layer *layer, struct pull *pull)
{
    struct pull_block *asked = first_asked(pull);
    uint32_t index = asked != NULL ? asked->index : pull->next_block;
    uint64_t offset = index * pull_block_bytes(pull);
    uint64_t left = pull->bytes - offset;
    uint64_t bytes = left < pull_block_bytes(pull) ? left : pull_block_bytes(pull);

    if (layer->read_memory(layer->read_context, pull->peer, pull->inbound->address + offset,
                           pull->target + offset, bytes) != 0) {
        pull->readable = false; /* it must be requested, as from any sender */
        return;
    }
    note_absence(pull);
    layer->counters.blocks_read++;
    if (asked == NULL) {
        asked = pull_open_block(pull);
    }
    if (pull_is_out(asked)) {
        pull_path_settle(layer, pull->peer, asked);
    }
    asked->missing = 0; /* data that still arrives is dropped */
    pull_block_done(layer, pull, asked);
}
