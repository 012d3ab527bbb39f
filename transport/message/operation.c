/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: allocation and completion. */
#include "lane/copy.h"
#include "message/internal.h"
#include "message/spare.h"
#include "pull/one_sided.h"

#include <assert.h>
#include <errno.h>

/** The next never-used one from `first` on; NULL: none. Not inlined because it is rare. */
__attribute__((noinline)) static struct operation *
take_unused(const struct message_layer *layer, struct operation *first, uint32_t *used)
{
    return *used < layer->operations_each ? &first[(*used)++] : NULL;
}

struct operation *operation_take_send(struct message_layer *layer)
{
    struct operation *operation = operation_take(&layer->free_sends);

    return operation != NULL ? operation
                             : take_unused(layer, layer->operations, &layer->sends_used);
}

__attribute__((noinline)) static struct operation *take_other_receive(struct message_layer *layer)
{
    struct operation *operation =
        take_unused(layer, layer->operations + layer->operations_each, &layer->receives_used);

    return operation != NULL ? operation : spare_take(layer);
}

struct operation *operation_take_receive(struct message_layer *layer)
{
    struct operation *operation = operation_take(&layer->free_receives);

    return operation != NULL ? operation : take_other_receive(layer);
}

/** Exchanges all but their names, including their places in lists. */
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

/** A send with a slot that has not begun, so that its name is unknown to the peer; NULL: none. */
static struct operation *find_waiting(struct message_layer *layer)
{
    assert(layer->operations != NULL);
    for (uint32_t i = 0; i < layer->sends_used; i++) {
        struct operation *operation = &layer->operations[i];
        if (operation->state == OPERATION_QUEUED && operation->kind == BEOWIRE_SEND &&
            operation->pushed == 0) {
            return operation;
        }
    }
    return NULL;
}

struct operation *operation_name_spare(struct message_layer *layer, struct operation *spare)
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

void operation_matched(struct operation *operation)
{
    if (operation->peer != NULL) {
        operation->peer->posted--;
    }
    operation->state = OPERATION_RECEIVING;
}

void operation_copy_in(const struct operation *operation, uint64_t offset, const uint8_t *data,
                       uint64_t bytes)
{
    if (offset >= operation->capacity || bytes == 0) {
        return;
    }
    uint64_t room = operation->capacity - offset;
    copy_bytes(operation->target + offset, data, (size_t)(bytes < room ? bytes : room));
}

void operation_done(struct message_layer *layer, struct operation *operation, int status)
{
    list_remove(&operation->link);
    if (__builtin_expect(operation->lent != 0, 0)) {
        one_sided_take_back(layer, operation);
    }
    if (operation->state == OPERATION_POSTED) {
        operation_matched(operation);
    }
    if (operation->is_silent) {
        operation_give(layer, operation);
        return;
    }
    operation->state = OPERATION_DONE;
    operation->status = status;
    list_append(&layer->completed, &operation->link);
}

void operation_received(struct message_layer *layer, struct operation *operation)
{
    bool truncated = operation->bytes > operation->capacity;

    layer->counters.received_messages++;
    layer->counters.truncated_messages += truncated;
    operation_done(layer, operation, truncated ? -EMSGSIZE : 0);
}

struct operation *operation_named(struct message_layer *layer, const struct message_peer *peer,
                                  uint32_t name)
{
    uint32_t slot = name & 0xFFFFu;
    struct operation *operation = NULL;

    if ((slot & MESSAGE_NAME_SERVED) != 0 && (slot & ~MESSAGE_NAME_SERVED) < layer->served_used) {
        operation = &layer->served_memory[slot & ~MESSAGE_NAME_SERVED];
    } else if (slot < layer->sends_used) {
        operation = &layer->operations[slot];
    }
    return operation != NULL && operation->peer == peer && message_name(layer, operation) == name
               ? operation
               : NULL;
}

/* Not inlined: most frames have no owner, and this keeps their code short. */
__attribute__((noinline)) void message_disowned(struct message_layer *layer,
                                                struct flow_frame *frame)
{
    struct operation *operation = frame->owner;

    frame->owner = NULL;
    while (operation != NULL) {
        struct operation *next = operation->next_of_frame;
        operation->next_of_frame = NULL;
        assert(operation->frames_outstanding > 0);
        if (--operation->frames_outstanding == 0 && operation->state == OPERATION_DRAINING) {
            operation_done(layer, operation, operation->status);
        }
        operation = next;
    }
}

void message_deliver(struct message_layer *layer, struct message_peer *peer,
                     struct operation *operation, const struct arrived *arrived)
{
    operation->peer = peer;
    operation->tag = arrived->tag;
    operation->immediate = arrived->immediate;
    operation->bytes = arrived->bytes;
    operation_copy_in(operation, 0, arrived->data, arrived->bytes);
    operation_received(layer, operation);
}
