/* SPDX-License-Identifier: BSD-3-Clause */
/* Peeking at and claiming unmatched messages. */
#include "message/internal.h"

#include <errno.h>

static struct inbound *find(struct message_layer *layer, const struct message_peer *peer,
                            uint64_t tag, uint64_t ignore, struct beowire_completion *found)
{
    struct operation wanted = {
        .peer = (struct message_peer *)(uintptr_t)peer, .tag = tag, .ignore = ignore};
    struct inbound *inbound = match_unexpected(layer, &wanted);

    if (inbound != NULL) {
        *found = (struct beowire_completion){
            .peer = inbound->peer->handle,
            .immediate = inbound->immediate,
            .tag = inbound->tag,
            .bytes = inbound->bytes,
        };
    } else {
        layer->sought = true;
    }
    return inbound;
}

int message_peek(struct message_layer *layer, const struct message_peer *peer, uint64_t tag,
                 uint64_t ignore, struct beowire_completion *found)
{
    return find(layer, peer, tag, ignore, found) != NULL ? 0 : -ENOMSG;
}

int message_claim(struct message_layer *layer, const struct message_peer *peer, uint64_t tag,
                  uint64_t ignore, struct beowire_completion *found, beowire_message *message)
{
    struct inbound *inbound = find(layer, peer, tag, ignore, found);

    if (inbound == NULL) {
        return -ENOMSG;
    }
    list_remove(&inbound->arrival);
    list_append(&layer->claimed, &inbound->arrival);
    inbound->claim = ++layer->last_claim;
    *message = inbound->claim;
    return 0;
}

int message_receive_claimed(struct message_layer *layer, beowire_message message, void *data,
                            uint64_t bytes, void *context, struct message_peer **touched)
{
    if (data == NULL && bytes > 0) {
        return -EINVAL;
    }
    for (struct list *link = layer->claimed.next; link != &layer->claimed; link = link->next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, arrival);
        if (inbound->claim != message) {
            continue;
        }
        struct operation *operation = operation_take_receive(layer);
        if (operation == NULL) {
            return -EAGAIN;
        }
        *operation = (struct operation){
            .kind = BEOWIRE_RECEIVE,
            .context = context,
            .capacity = bytes,
            .target = data,
        };
        list_init(&operation->link);
        *touched = inbound->peer;
        inbound_attach(layer, inbound, operation, 0, 0);
        return 0;
    }
    return -ENOENT;
}
