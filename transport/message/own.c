/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to the endpoint itself are copied, without frames. */
#include "message/internal.h"
#include "message/outgoing.h"

/** Have all earlier messages to ourselves been handled, so that none is overtaken? */
static bool is_next(const struct message_peer *peer)
{
    return peer->ready && list_is_empty(&peer->queue) && peer->flow.next == peer->flow.expected;
}

bool message_to_ourselves(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint64_t bytes, bool silent,
                          void *context)
{
    struct operation *send = NULL;

    if (!is_next(peer) || outgoing_check_send(peer, data, bytes) != 0) {
        return false;
    }
    if (!silent) {
        send = outgoing_take_send(layer, peer, tag, immediate, data, bytes);
        if (send == NULL) {
            return false;
        }
        send->context = context;
        list_init(&send->link);
    }
    struct operation *receive = match_posted(layer, peer, tag);
    if (receive == NULL) {
        if (send != NULL) {
            operation_give(layer, send);
        }
        return false;
    }
    receive->peer = peer;
    receive->tag = tag;
    receive->immediate = immediate;
    receive->bytes = bytes;
    operation_copy_in(receive, 0, data, bytes);
    layer->counters.own_messages++;
    operation_received(layer, receive);
    if (send != NULL) {
        operation_done(layer, send, 0);
    }
    return true;
}
