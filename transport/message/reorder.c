/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/reorder.h"

#include "lane/copy.h"
#include "message/internal.h"

#include <assert.h>
#include <string.h>

void reorder_keep(struct message_layer *layer, struct message_peer *peer, const struct frame *frame)
{
    struct chunk *chunk = chunk_take(layer);
    struct chunk **place = &peer->reordered;

    chunk->sequence = frame->sequence;
    chunk->bytes = frame_length(frame);
    uint32_t head_bytes = frame_head_length(frame);
    frame_copy_head(frame, chunk->data);
    if (frame->payload_bytes > 0) {
        copy_bytes(chunk->data + head_bytes, frame->payload, frame->payload_bytes);
    }
    if (peer->reordered != NULL &&
        sequence_before(peer->reordered_last->sequence, chunk->sequence)) {
        place = &peer->reordered_last->next;
    }
    while (*place != NULL && sequence_before((*place)->sequence, chunk->sequence)) {
        place = &(*place)->next;
    }
    assert(*place == NULL || (*place)->sequence != chunk->sequence); /* flow_check(): once each */
    chunk->next = *place;
    *place = chunk;
    if (chunk->next == NULL) {
        peer->reordered_last = chunk;
    }
}

struct chunk *reorder_take(struct message_peer *peer, struct frame *frame)
{
    struct chunk *chunk = peer->reordered;

    if (chunk == NULL || chunk->sequence != peer->flow.expected) {
        return NULL;
    }
    peer->reordered = chunk->next;
    /* In order, and all later than what is expected. */
    assert(chunk->next == NULL || sequence_before(chunk->sequence, chunk->next->sequence));
    enum frame_verdict verdict = frame_decode(chunk->data, chunk->bytes, frame);
    assert(verdict == FRAME_OK); /* as when it arrived */
    (void)verdict;
    frame->source = peer->destination; /* tacit frames lack it (lane.h) */
    return chunk;
}

void reorder_release(struct message_layer *layer, struct chunk *chunk)
{
    chunk_give(layer, chunk);
}

void reorder_drop(struct message_layer *layer, struct message_peer *peer)
{
    while (peer->reordered != NULL) {
        struct chunk *chunk = peer->reordered;
        peer->reordered = chunk->next;
        reorder_release(layer, chunk);
    }
}
