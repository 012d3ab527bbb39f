/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/spare.h"

#include <stdlib.h>

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

/** Exchanges all but names, and their places in whichever lists they are. */
static void change_places(struct operation *a, struct operation *b)
{
    struct list at_a;
    struct list at_b;
    const struct operation was_a = *a;
    uint16_t generation = b->generation;

    list_append(&a->link, &at_a);
    list_append(&b->link, &at_b);
    list_remove(&a->link);
    list_remove(&b->link);
    *a = *b;
    a->generation = was_a.generation;
    *b = was_a;
    b->generation = generation;
    list_append(&at_b, &a->link);
    list_append(&at_a, &b->link);
    list_remove(&at_a);
    list_remove(&at_b);
}

/** A send that has a slot and has not begun, so that nobody knows its name; NULL: there is none. */
static struct operation *find_waiting(struct message_layer *layer)
{
    for (uint32_t i = 0; i < layer->sends_used; i++) {
        struct operation *operation = &layer->operations[i];
        if (operation->state == OPERATION_QUEUED && operation->kind == BEOWIRE_SEND &&
            operation->pushed == 0) {
            return operation;
        }
    }
    return NULL;
}

struct operation *spare_name(struct message_layer *layer, struct operation *spare)
{
    struct operation *named = operation_take_send(layer);

    if (named != NULL) {
        list_init(&named->link);
        named->generation++;
        change_places(spare, named);
        operation_give(layer, spare);
        return named;
    }
    named = find_waiting(layer);
    if (named != NULL) {
        change_places(spare, named);
    }
    return named;
}

void spare_close(struct message_layer *layer)
{
    while (layer->spare_blocks != NULL) {
        struct spare_block *block = layer->spare_blocks;
        layer->spare_blocks = block->next;
        free(block);
    }
}
