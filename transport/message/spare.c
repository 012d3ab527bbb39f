/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/spare.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

static bool grow(struct message_layer *layer)
{
    struct spare_block *block = malloc(sizeof *block);

    if (block == NULL) {
        return false;
    }
    block->next = layer->spare_blocks;
    layer->spare_blocks = block;
    for (unsigned i = 0; i < SPARE_BLOCK; i++) {
        block->operations[i] = (struct operation){.state = OPERATION_FREE};
        list_append(&layer->free_spares, &block->operations[i].link);
        list_append(&layer->free_inbounds, &block->inbounds[i].arrival);
    }
    return true;
}

struct operation *spare_take(struct message_layer *layer)
{
    if (!layer->grows || (list_is_empty(&layer->free_spares) && !grow(layer))) {
        return NULL;
    }
    return operation_take(&layer->free_spares);
}

/** Zeroed memory that is not touched before it is used. */
static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

static void free_pile(struct spare_pile *pile)
{
    if (pile->memory != NULL) {
        munmap(pile->memory, pile->memory_bytes);
    }
    if (pile->inbounds != NULL) {
        munmap(pile->inbounds, pile->inbound_bytes);
    }
    free(pile->chunks);
    free(pile);
}

static struct spare_pile *make_pile(uint32_t count, uint32_t chunk_bytes)
{
    struct spare_pile *pile = calloc(1, sizeof *pile);

    if (pile == NULL) {
        return NULL;
    }
    pile->inbound_count = count * BUNDLE_MESSAGES_MAX;
    pile->inbound_bytes = (size_t)pile->inbound_count * sizeof *pile->inbounds;
    pile->memory_bytes = (size_t)count * chunk_bytes;
    pile->chunk_count = count;
    pile->chunks = calloc(count, sizeof *pile->chunks);
    pile->inbounds = map(pile->inbound_bytes);
    pile->memory = map(pile->memory_bytes);
    if (pile->chunks == NULL || pile->inbounds == NULL || pile->memory == NULL) {
        free_pile(pile);
        return NULL;
    }
    return pile;
}

uint32_t spare_make_chunks(struct message_layer *layer, uint32_t wanted, uint32_t least)
{
    struct spare_pile *pile = make_pile(wanted, layer->chunk_bytes);

    while (pile == NULL && wanted > least) {
        wanted = wanted / 2 > least ? wanted / 2 : least;
        pile = make_pile(wanted, layer->chunk_bytes);
    }
    if (pile == NULL) {
        return 0;
    }
    pile->next = layer->spare_piles;
    layer->spare_piles = pile;
    return wanted;
}

void spare_stay_ahead(struct message_layer *layer)
{
    uint32_t made = MESSAGE_CHUNKS - layer->chunks_unmade;
    uint32_t more = made > MESSAGE_CHUNKS_STEP ? made : MESSAGE_CHUNKS_STEP;

    if (layer->chunks_unmade > 0 && layer->chunks_shared < LANE_RING_FRAMES) {
        more = more < layer->chunks_unmade ? more : layer->chunks_unmade;
        more = spare_make_chunks(layer, more, 1);
        layer->chunks_unmade -= more;
        layer->chunks_shared += more;
    }
}

struct chunk *spare_chunk(struct message_layer *layer)
{
    spare_stay_ahead(layer);
    struct spare_pile *pile = layer->spare_piles;

    while (pile != NULL && pile->chunks_used == pile->chunk_count) {
        pile = pile->next;
    }
    assert(pile != NULL);
    struct chunk *chunk = &pile->chunks[pile->chunks_used];
    chunk->data = pile->memory + (size_t)pile->chunks_used++ * layer->chunk_bytes;
    return chunk;
}

bool spare_add_chunks(struct message_layer *layer)
{
    uint32_t count = MESSAGE_CHUNKS + layer->chunks_added;

    if (count > SPARE_CHUNKS_MOST) {
        count = SPARE_CHUNKS_MOST;
    }
    if (!layer->grows || layer->chunks_added > UINT32_MAX / 4) {
        return false;
    }
    count = spare_make_chunks(layer, count, MESSAGE_PILE_STEP_FRAMES);
    for (uint32_t i = 0; i < count; i++) {
        chunk_give(layer, spare_chunk(layer));
    }
    layer->chunks_added += count;
    layer->chunks_shared += count;
    return count > 0;
}

struct inbound *spare_inbound(const struct message_layer *layer)
{
    struct spare_pile *pile = layer->spare_piles;

    while (pile != NULL && pile->inbounds_used == pile->inbound_count) {
        pile = pile->next;
    }
    assert(pile != NULL);
    return &pile->inbounds[pile->inbounds_used++];
}

void spare_close(struct message_layer *layer)
{
    while (layer->spare_piles != NULL) {
        struct spare_pile *pile = layer->spare_piles;
        layer->spare_piles = pile->next;
        free_pile(pile);
    }
    while (layer->spare_blocks != NULL) {
        struct spare_block *block = layer->spare_blocks;
        layer->spare_blocks = block->next;
        free(block);
    }
}
