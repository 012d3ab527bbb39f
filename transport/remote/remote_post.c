/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting of puts, gets and atomic operations. */
#include "remote/remote.h"

#include "message/internal.h"
#include "message/outgoing.h"
#include "remote/atomic.h"

#include <errno.h>

/** Takes an operation and sets the common members. */
static int begin(struct message_layer *layer, struct message_peer *peer,
                 const struct beowire_remote *remote, struct operation **begun)
{
    if (peer->error != 0) {
        return peer->error;
    }
    if (peer->ready && !peer->remote_memory) {
        return -EOPNOTSUPP;
    }
    struct operation *operation = operation_take_send(layer);
    if (operation == NULL) {
        return -EAGAIN;
    }
    *operation = (struct operation){
        .state = OPERATION_QUEUED,
        .peer = peer,
        .tag = remote->key,
        .address = remote->address,
        .generation = (uint16_t)(operation->generation + 1),
    };
    *begun = operation;
    return 0;
}

static void post(struct message_layer *layer, struct operation *operation)
{
    list_append(&operation->peer->queue, &operation->link);
    message_pump(layer, operation->peer);
}

/** Removes an operation that was just posted. */
static void unpost(struct message_layer *layer, struct operation *operation)
{
    list_remove(&operation->link);
    operation->state = OPERATION_FREE;
    operation->peer = NULL;
    list_prepend(&layer->free_sends, &operation->link);
}

int remote_put(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, const void *data, uint64_t bytes,
               unsigned flags, uint32_t immediate, void *context)
{
    struct operation *operation = NULL;
    bool inject = (flags & BEOWIRE_PUT_INJECT) != 0;

    if (inject && peer->error == 0 && (!outgoing_is_clear(peer) || !list_is_empty(&peer->dones))) {
        return -EAGAIN;
    }
    if (inject && peer->error == 0 && bytes > outgoing_room(peer, FRAME_PUT) &&
        (bytes > message_limits_inject(&layer->limits) ||
         !outgoing_holds(layer, peer, bytes, FRAME_PUT, FRAME_PUT))) {
        return -EMSGSIZE;
    }
    int status = begin(layer, peer, remote, &operation);
    if (status != 0) {
        return status;
    }
    operation->kind = BEOWIRE_PUT;
    operation->context = context;
    operation->bytes = bytes;
    operation->source = data;
    operation->immediate = immediate;
    operation->put_flags = (uint8_t)flags;
    post(layer, operation);
    if (inject && operation->state == OPERATION_QUEUED) {
        unpost(layer, operation); /* no frame was free */
        return -EAGAIN;
    }
    return 0;
}

int remote_get(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, void *data, uint64_t bytes, void *context)
{
    struct operation *operation = NULL;
    int status = begin(layer, peer, remote, &operation);

    if (status != 0) {
        return status;
    }
    operation->kind = BEOWIRE_GET;
    operation->context = context;
    operation->bytes = bytes;
    operation->capacity = bytes;
    operation->target = data;
    post(layer, operation);
    return 0;
}

int remote_atomic(struct message_layer *layer, struct message_peer *peer,
                  const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                  void *context)
{
    struct operation *operation = NULL;
    int status = begin(layer, peer, remote, &operation);

    if (status != 0) {
        return status;
    }
    operation->kind = BEOWIRE_ATOMIC;
    operation->context = context;
    operation->bytes = (uint64_t)atomic->count * atomic_type_bytes(atomic->type);
    operation->capacity = atomic->result != NULL ? operation->bytes : 0;
    operation->target = atomic->result;
    operation->operand = atomic->operand;
    operation->compare = atomic->compare;
    operation->count = atomic->count;
    operation->atomic = (uint8_t)atomic->operation;
    operation->atomic_type = (uint8_t)atomic->type;
    post(layer, operation);
    return 0;
}
