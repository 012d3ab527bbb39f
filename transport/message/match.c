/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching of receives and messages. */
#include "message/internal.h"

#include <errno.h>

static bool wants(const struct operation *operation, const struct message_peer *peer, uint64_t tag)
{
    return (operation->peer == NULL || operation->peer == peer) &&
           ((operation->tag ^ tag) & ~operation->ignore) == 0;
}

struct operation *match_posted(struct message_layer *layer, const struct message_peer *peer,
                               uint64_t tag)
{
    for (struct list *link = layer->posted.next; link != &layer->posted; link = link->next) {
        struct operation *operation = LIST_ENTRY(link, struct operation, link);
        if (wants(operation, peer, tag)) {
            list_remove(link);
            operation_matched(operation);
            return operation;
        }
    }
    return NULL;
}

struct inbound *match_unexpected(const struct message_layer *layer,
                                 const struct operation *operation)
{
    for (struct list *link = layer->unexpected.next; link != &layer->unexpected;
         link = link->next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, arrival);
        if (wants(operation, inbound->peer, inbound->tag)) {
            return inbound;
        }
    }
    return NULL;
}

int message_receive(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context,
                    struct message_peer **touched)
{
    if (data == NULL && bytes > 0) {
        return -EINVAL;
    }
    struct operation *operation = operation_take_receive(layer);
    if (operation == NULL) {
        return -EAGAIN;
    }
    *operation = (struct operation){
        .state = OPERATION_POSTED,
        .kind = BEOWIRE_RECEIVE,
        .peer = peer,
        .context = context,
        .tag = tag,
        .ignore = ignore,
        .capacity = bytes,
        .target = data,
    };
    list_init(&operation->link);

    struct inbound *inbound = match_unexpected(layer, operation);
    if (inbound != NULL) {
        *touched = inbound->peer; /* chunks are free again; a PULL may be due */
        inbound_attach(layer, inbound, operation, 0, 0);
        return 0;
    }
    if (peer != NULL && peer->error != 0) {
        operation_give(layer, operation);
        return peer->error;
    }
    list_append(&layer->posted, &operation->link);
    if (peer != NULL) {
        peer->posted++;
    }
    return 0;
}

int message_cancel(struct message_layer *layer, const void *context, struct message_peer **from)
{
    for (struct list *link = layer->posted.next; link != &layer->posted; link = link->next) {
        struct operation *operation = LIST_ENTRY(link, struct operation, link);
        if (operation->context == context) {
            if (from != NULL) {
                *from = operation->peer;
            }
            operation_done(layer, operation, -ECANCELED);
            return 0;
        }
    }
    return -ENOENT;
}
