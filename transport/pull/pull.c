/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: the beginning and end of pulls, and their lanes. */
#include "message/internal.h"
#include "pull/one_sided.h"
#include "pull/pull_internal.h"

#include <assert.h>

static_assert(PULL_BLOCKS >= 2 && PULL_BLOCKS <= 64, "a few blocks at once");
static_assert(PULLS_PER_PEER * PULL_BLOCKS <= UINT16_MAX, "struct pull_path: blocks");

uint8_t pull_best_lane(const struct message_layer *layer, const struct message_peer *peer,
                       uint64_t bytes)
{
    return (uint8_t)pull_path_choose(layer, peer, bytes, UINT64_MAX, false, 0);
}

struct pull_block *pull_open_block(struct pull *pull)
{
    struct pull_block *block = &pull->block[pull->next_block % PULL_BLOCKS];

    assert(pull->next_block < pull->blocks && !block->active);
    *block = (struct pull_block){
        .index = pull->next_block,
        .missing = pull_all_segments(pull, pull->next_block),
        .active = true,
    };
    pull->next_block++;
    return block;
}

void pull_block_done(struct message_layer *layer, struct pull *pull, struct pull_block *block)
{
    assert(block->active && block->missing == 0 && block->accounted_bytes == 0);
    block->active = false;
    pull->blocks_done++;
    assert(pull->blocks_done <= pull->next_block); /* done once, after they were begun */
    layer->pulls_changed = true;
    if (pull->blocks_done == pull->blocks) {
        pull_note_presence(pull);
        struct inbound *inbound = pull->inbound;
        pull_stop(layer, inbound);
        list_append(&layer->pulled, &inbound->waiting);
    }
}

static void begin(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                  uint8_t lane, uint64_t now_ns)
{
    struct pull *pull = LIST_ENTRY(layer->free_pulls.next, struct pull, link);

    assert(inbound->pull == NULL && inbound->peer->pulls < PULLS_PER_PEER);
    list_remove(&pull->link);
    *pull = (struct pull){
        .peer = inbound->peer,
        .inbound = inbound,
        .message = inbound->name,
        .target = inbound_target(inbound),
        .capacity = inbound->operation != NULL ? inbound->operation->capacity : inbound->bytes,
        .bytes = inbound->expected_bytes - inbound->tail_bytes,
        .segment_bytes = inbound->segment_bytes,
        .readable = inbound_is_readable(layer, inbound),
        .begun_ns = now_ns,
    };
    pull->block_segments = pull_block_segments(pull->segment_bytes);
    pull->blocks = (uint32_t)((pull->bytes + pull_block_bytes(pull) - 1) / pull_block_bytes(pull));
    inbound->pull = pull;
    if (pull->peer->pulls++ == 0) {
        pull->peer->data_silent_since_ns = 0; /* it was of other messages */
        pull_path_begin_peer(layer, pull->peer);
    }
    list_append(&layer->pulls, &pull->link);
    pull->unasked = unasked > 0;
    layer->pulls_begun += !pull->unasked;
    /* Unasked data will not arrive on a path that is quiet. */
    unasked = unasked > 0 && pull_path_is_quiet(&pull->peer->pull_paths[lane]) ? 0 : unasked;
    while (pull->next_block < pull->blocks && pull->next_block < PULL_BLOCKS &&
           pull->next_block * pull_block_bytes(pull) < unasked) {
        struct pull_block *block = pull_open_block(pull);
        block->unasked = true;
        pull_mark_asked(layer, pull, block, block->missing, lane, now_ns);
    }
    layer->pulls_changed = true;
}

/** @param comes data of the message is on its way, and would have to be sent again */
static bool may_begin(const struct message_layer *layer, const struct message_peer *peer,
                      bool comes)
{
    return !list_is_empty(&layer->free_pulls) && peer->pulls < PULLS_PER_PEER &&
           (comes || layer->pulls_begun < PULLS_MAX);
}

void pull_begin_waiting(struct message_layer *layer, uint64_t now_ns)
{
    struct list *link = layer->waiting_pulls.next;

    while (link != &layer->waiting_pulls && !list_is_empty(&layer->free_pulls)) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, waiting);
        link = link->next;
        if (may_begin(layer, inbound->peer, false)) {
            list_remove(&inbound->waiting);
            begin(layer, inbound, 0, 0, now_ns);
        }
    }
    layer->pull_freed = false;
}

void pull_start(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                uint8_t lane, uint64_t now_ns)
{
    if (!may_begin(layer, inbound->peer, unasked > 0)) {
        list_append(&layer->waiting_pulls, &inbound->waiting);
        return;
    }
    begin(layer, inbound, unasked, lane, now_ns);
}

void pull_stop(struct message_layer *layer, struct inbound *inbound)
{
    struct pull *pull = inbound->pull;

    one_sided_stop(layer, inbound);
    list_remove(&inbound->waiting);
    if (pull == NULL) {
        return;
    }
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        if (pull_is_out(&pull->block[i])) {
            pull_path_settle(layer, pull->peer, &pull->block[i]);
        }
    }
    assert(pull->inbound == inbound && pull->peer->pulls > 0);
    inbound->pull = NULL;
    if (--pull->peer->pulls == 0) {
        pull_path_end_peer(layer, pull->peer);
    }
    list_remove(&pull->link);
    list_prepend(&layer->free_pulls, &pull->link);
    layer->pulls_begun -= !pull->unasked;
    layer->pull_freed = true;
    layer->pulls_changed = true; /* its room is free for others */
}

void pull_ask_all_again(struct message_layer *layer, const struct message_peer *peer,
                        uint32_t lanes, const struct pull_block *but)
{
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *pull = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; i < PULL_BLOCKS && pull->peer == peer; i++) {
            struct pull_block *block = &pull->block[i];
            if (pull_is_out(block) && block != but && (lanes >> block->lane & 1) != 0) {
                block->again = true;
            }
        }
    }
    layer->pulls_changed = true;
}

void pull_set_lanes(struct message_layer *layer, struct message_peer *peer, uint32_t best,
                    uint32_t usable)
{
    uint32_t gone = peer->usable_lanes & ~usable;

    peer->bulk_lanes = best;
    peer->usable_lanes = usable;
    if (usable != 0 && gone != 0) {
        pull_ask_all_again(layer, peer, gone, NULL);
    }
    layer->pulls_changed = true;
}
