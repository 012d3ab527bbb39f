/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages of a sender on our host: blocks that are read from its memory. */
#include "message/internal.h"
#include "message/pull_internal.h"

/** Data has come from the peer last, of whichever message; or the pull has begun since. */
static uint64_t heard_ns(const struct pull *pull)
{
    uint64_t latest_ns = pull->begun_ns;

    for (uint32_t lanes = pull->peer->bulk_lanes; lanes != 0; lanes &= lanes - 1) {
        const struct pull_path *path = &pull->peer->pull_paths[__builtin_ctz(lanes)];
        latest_ns = path->heard_ns > latest_ns ? path->heard_ns : latest_ns;
    }
    return latest_ns;
}

uint64_t pull_read_due(const struct pull *pull)
{
    return pull->readable ? heard_ns(pull) + PULL_READ_PATIENCE_NS : UINT64_MAX;
}

/** The first block that is asked for and not whole. Those behind it come later than this one, if
 *  the sender begins after all. @return NULL: none is asked for. */
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
        pull->readable = false; /* it has to be asked for, as from any sender */
        return;
    }
    layer->counters.blocks_read++;
    if (asked != NULL) {
        pull_path_settle(layer, pull->peer, asked);
    } else {
        asked = pull_open_block(pull);
    }
    asked->missing = 0; /* what may still come of it is dropped */
    pull_block_done(layer, pull, asked);
}
