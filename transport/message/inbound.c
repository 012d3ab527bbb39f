/* SPDX-License-Identifier: BSD-3-Clause */
/* Inbound messages: their chunks, and the receives that match them. */
#include "lane/copy.h"
#include "message/internal.h"
#include "message/spare.h"
#include "pull/one_sided.h"
#include "pull/pull.h"

#include <assert.h>
#include <string.h>

struct inbound *inbound_take(struct message_layer *layer)
{
    struct inbound *inbound;

    if (list_is_empty(&layer->free_inbounds)) {
        /* There is one for every receive, and those allocated with the chunks for all messages in
         * them. */
        inbound = layer->inbounds_used < layer->inbound_count
                      ? &layer->inbounds[layer->inbounds_used]
                      : spare_inbound(layer);
        layer->inbounds_used++;
    } else {
        inbound = LIST_ENTRY(layer->free_inbounds.next, struct inbound, arrival);
        list_remove(&inbound->arrival);
    }
    *inbound = (struct inbound){0};
    list_init(&inbound->arrival);
    list_init(&inbound->of_peer);
    list_init(&inbound->done);
    list_init(&inbound->waiting);
    return inbound;
}

struct inbound *inbound_named(const struct message_peer *peer, uint32_t name, bool announced)
{
    for (struct list *link = peer->inbound.next; link != &peer->inbound; link = link->next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, of_peer);
        if (inbound->name == name && inbound->announced == announced) {
            return inbound;
        }
    }
    return NULL;
}

static void free_chunk(struct message_layer *layer, struct message_peer *peer, struct chunk *chunk)
{
    chunk_give(layer, chunk);
    message_return_credit(layer, peer, 1);
}

static bool is_older(const struct chunk *chunk, uint32_t sequence)
{
    return chunk != NULL && sequence_before(chunk->sequence, sequence);
}

void inbound_taken(const struct inbound *inbound)
{
    struct message_peer *peer = inbound->peer;

    /* The first chunk is the oldest. */
    if (!peer->has_starved || is_older(inbound->chunks, peer->starved_at) ||
        is_older(inbound->shared, peer->starved_at)) {
        peer->drained = true;
    }
}

void inbound_free_chunks(struct message_layer *layer, struct inbound *inbound)
{
    while (inbound->chunks != NULL) {
        struct chunk *chunk = inbound->chunks;
        inbound->chunks = chunk->next;
        free_chunk(layer, inbound->peer, chunk);
    }
    inbound->last_chunk = NULL;
    assert(inbound->shared == NULL || inbound->shared->users > 0);
    if (inbound->shared != NULL && --inbound->shared->users == 0) {
        free_chunk(layer, inbound->peer, inbound->shared);
    }
    inbound->shared = NULL;
}

void inbound_free(struct message_layer *layer, struct inbound *inbound)
{
    inbound_free_chunks(layer, inbound);
    pull_stop(layer, inbound);
    list_remove(&inbound->arrival);
    list_remove(&inbound->of_peer);
    list_remove(&inbound->done);
    list_prepend(&layer->free_inbounds, &inbound->arrival);
}

struct chunk *chunk_take(struct message_layer *layer)
{
    struct chunk *chunk = layer->free_chunks;

    if (chunk != NULL) {
        layer->free_chunks = chunk->next;
    } else {
        assert(layer->chunks_used < layer->chunk_count); /* the frame had credit */
        chunk = spare_chunk(layer);
        layer->chunks_used++;
    }
    chunk->next = NULL;
    return chunk;
}

void inbound_keep(struct message_layer *layer, struct inbound *inbound, const uint8_t *data,
                  uint32_t bytes)
{
    struct chunk *chunk = chunk_take(layer);

    layer->frame_kept = true;
    chunk->sequence = inbound->peer->flow.expected;
    chunk->bytes = bytes;
    if (bytes > 0) {
        copy_bytes(chunk->data, data, bytes);
    }
    if (inbound->last_chunk == NULL) {
        inbound->chunks = chunk;
    } else {
        inbound->last_chunk->next = chunk;
    }
    inbound->last_chunk = chunk;
}

/** Copies the kept data into the receive's buffer. */
static void hand_over_chunks(struct message_layer *layer, struct inbound *inbound,
                             const struct operation *operation)
{
    uint64_t offset = 0;

    for (const struct chunk *chunk = inbound->chunks; chunk != NULL; chunk = chunk->next) {
        operation_copy_in(operation, offset, chunk->data, chunk->bytes);
        offset += chunk->bytes;
    }
    if (inbound->shared != NULL) {
        operation_copy_in(operation, 0, inbound->shared_data, (uint32_t)inbound->bytes);
    }
    if (inbound->chunks != NULL || inbound->shared != NULL) {
        inbound_taken(inbound);
    }
    inbound_free_chunks(layer, inbound);
}

void inbound_pulled(struct message_layer *layer, struct inbound *inbound)
{
    pull_stop(layer, inbound);
    list_remove(&inbound->of_peer);
    list_append(&inbound->peer->dones, &inbound->done);
}

struct message_peer *message_take_pulled(struct message_layer *layer)
{
    if (list_is_empty(&layer->pulled)) {
        return NULL;
    }
    struct inbound *inbound = LIST_ENTRY(layer->pulled.next, struct inbound, waiting);

    inbound_pulled(layer, inbound);
    return inbound->peer;
}

struct message_peer *message_read_ended(struct message_layer *layer, void *read, int status,
                                        uint64_t now_ns)
{
    struct inbound *inbound = read;

    inbound->one_sided = false;
    list_remove(&inbound->waiting);
    if (status != 0) {
        pull_instead(layer, inbound, now_ns);
        return inbound->peer;
    }
    inbound->received = inbound->expected_bytes;
    layer->counters.one_sided_messages++;
    inbound_pulled(layer, inbound);
    return inbound->peer;
}

void inbound_fetch(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                   uint8_t lane)
{
    if (inbound->received == inbound->expected_bytes || pull_read_whole(layer, inbound)) {
        inbound_pulled(layer, inbound);
    } else if (!one_sided_begin(layer, inbound)) {
        pull_start(layer, inbound, unasked, lane, layer->now_ns);
    }
}

void inbound_attach(struct message_layer *layer, struct inbound *inbound,
                    struct operation *operation, uint64_t unasked, uint8_t lane)
{
    list_remove(&inbound->arrival);
    list_remove(&operation->link);
    operation->state = OPERATION_RECEIVING;
    operation->peer = inbound->peer;
    operation->tag = inbound->tag;
    operation->bytes = inbound->bytes;
    operation->immediate = inbound->immediate;

    hand_over_chunks(layer, inbound, operation);
    if (inbound->announced) {
        inbound->expected_bytes =
            inbound->bytes < operation->capacity ? inbound->bytes : operation->capacity;
        inbound->operation = operation;
        inbound_fetch(layer, inbound, unasked, lane);
        return;
    }
    if (inbound->received == inbound->expected_bytes) {
        operation_received(layer, operation);
        inbound_free(layer, inbound);
    } else {
        inbound->operation = operation;
    }
}
