/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequenced frames, in order: what they do to messages. */
#include "message/internal.h"

#include <errno.h>

static struct inbound *find_inbound(const struct message_peer *peer, uint16_t message)
{
    for (struct list *link = peer->inbound.next; link != &peer->inbound; link = link->next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, of_peer);
        if (inbound->message == message) {
            return inbound;
        }
    }
    return NULL;
}

/** A whole message for a receive that waits: the common case, nothing to remember. */
static void deliver(struct message_layer *layer, struct message_peer *peer,
                    const struct frame *frame, struct operation *operation)
{
    operation->peer = peer;
    operation->tag = from_le64(frame->eager->tag);
    operation->immediate = from_le32(frame->eager->immediate);
    operation->bytes = frame->payload_bytes;
    operation_copy_in(operation, 0, frame->payload, frame->payload_bytes);
    operation_received(layer, operation);
}

static int arrive_eager(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    const struct frame_eager *eager = frame->eager;
    uint64_t tag = from_le64(eager->tag);
    uint32_t bytes = from_le32(eager->message_bytes);
    uint16_t message = from_le16(eager->message);
    bool whole = frame->payload_bytes == bytes;

    if (bytes > BEOWIRE_MESSAGE_BYTES_MAX ||
        (!whole && (frame->payload_bytes == 0 || find_inbound(peer, message) != NULL))) {
        return -EPROTO;
    }
    struct operation *operation = match_posted(layer, peer, tag);
    if (operation != NULL && whole) {
        deliver(layer, peer, frame, operation);
        return 0;
    }
    struct inbound *inbound = inbound_take(layer);
    inbound->peer = peer;
    inbound->tag = tag;
    inbound->immediate = from_le32(eager->immediate);
    inbound->bytes = bytes;
    inbound->expected_bytes = bytes;
    inbound->received = frame->payload_bytes;
    inbound->message = message;
    if (!whole) {
        list_append(&peer->inbound, &inbound->of_peer);
    }
    if (operation != NULL) {
        operation_copy_in(operation, 0, frame->payload, frame->payload_bytes);
        inbound_attach(layer, inbound, operation);
    } else {
        inbound_keep(layer, inbound, frame->payload, frame->payload_bytes);
        list_append(&layer->unexpected, &inbound->arrival);
        layer->counters.unexpected_messages++;
    }
    return 0;
}

static int arrive_announce(struct message_layer *layer, struct message_peer *peer,
                           const struct frame *frame)
{
    const struct frame_announce *announce = frame->announce;
    uint64_t bytes = from_le64(announce->message_bytes);
    uint16_t message = from_le16(announce->message);

    if (bytes > BEOWIRE_MESSAGE_BYTES_MAX || find_inbound(peer, message) != NULL) {
        return -EPROTO;
    }
    struct operation *operation = match_posted(layer, peer, from_le64(announce->tag));
    struct inbound *inbound = inbound_take(layer);
    inbound->peer = peer;
    inbound->tag = from_le64(announce->tag);
    inbound->immediate = from_le32(announce->immediate);
    inbound->bytes = bytes;
    inbound->expected_bytes = bytes;
    inbound->message = message;
    inbound->announced = true;
    list_append(&peer->inbound, &inbound->of_peer);
    if (operation != NULL) {
        inbound_attach(layer, inbound, operation);
    } else {
        inbound_keep(layer, inbound, NULL, 0); /* counts against the sender's credit */
        list_append(&layer->unexpected, &inbound->arrival);
        layer->counters.unexpected_messages++;
    }
    return 0;
}

static int arrive_fragment(struct message_layer *layer, struct message_peer *peer,
                           const struct frame *frame)
{
    struct inbound *inbound = find_inbound(peer, from_le16(frame->fragment->message));

    if (inbound == NULL || from_le64(frame->fragment->offset) != inbound->received ||
        frame->payload_bytes > inbound->expected_bytes - inbound->received) {
        return -EPROTO;
    }
    if (inbound->announced && (inbound->operation == NULL || !list_is_empty(&inbound->clear))) {
        return -EPROTO; /* we have not asked for it */
    }
    if (inbound->operation != NULL) {
        operation_copy_in(inbound->operation, inbound->received, frame->payload,
                          frame->payload_bytes);
    } else {
        inbound_keep(layer, inbound, frame->payload, frame->payload_bytes);
    }
    inbound->received += frame->payload_bytes;
    if (inbound->received < inbound->expected_bytes) {
        return 0;
    }
    if (inbound->operation != NULL) {
        operation_received(layer, inbound->operation);
        inbound_free(layer, inbound);
    } else {
        list_remove(&inbound->of_peer); /* whole; it waits for its receive */
    }
    return 0;
}

static int arrive_clear(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    uint16_t message = from_le16(frame->clear->message);
    uint64_t accepted = from_le64(frame->clear->accepted_bytes);

    if (message >= layer->operations_each) {
        return -EPROTO;
    }
    struct operation *operation = &layer->operations[message];
    if (operation->state != OPERATION_ANNOUNCED || operation->peer != peer ||
        accepted > operation->bytes) {
        return -EPROTO;
    }
    operation->capacity = accepted;
    if (accepted == 0) {
        operation_done(layer, operation, 0);
        return 0;
    }
    list_remove(&operation->link);
    operation->state = OPERATION_BULK;
    list_append(&peer->bulk, &operation->link);
    return 0;
}

int message_frame(struct message_layer *layer, struct message_peer *peer, const struct frame *frame)
{
    int status = -EPROTO;

    layer->frame_kept = false;
    switch (frame->type) {
    case FRAME_EAGER:
        status = arrive_eager(layer, peer, frame);
        break;
    case FRAME_FRAGMENT:
        status = arrive_fragment(layer, peer, frame);
        break;
    case FRAME_ANNOUNCE:
        status = arrive_announce(layer, peer, frame);
        break;
    case FRAME_CLEAR:
        status = arrive_clear(layer, peer, frame);
        break;
    case FRAME_CONNECT:
    case FRAME_ACCEPT:
    case FRAME_RESET:
    case FRAME_CLOSE:
    case FRAME_ACK:
    case FRAME_PROBE:
    case FRAME_SACK:
        break;
    }
    layer->counters.protocol_errors += status != 0;
    return status;
}
