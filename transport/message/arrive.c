/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles sequenced frames in order. */
#include "message/bundle.h"
#include "message/internal.h"
#include "pull/pull.h"
#include "remote/remote.h"

#include <errno.h>

static int arrive_eager(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    const struct frame_eager *eager = frame->eager;
    uint64_t tag = from_le64(eager->tag);
    uint32_t bytes = from_le32(eager->message_bytes);
    uint16_t message = from_le16(eager->message);
    bool whole = !frame_begins_message(frame);

    if (!whole && (frame->payload_bytes == 0 || inbound_named(peer, message, false) != NULL)) {
        return -EPROTO;
    }
    struct operation *operation = match_posted(layer, peer, tag);
    if (operation != NULL && whole) {
        message_deliver(layer, peer, operation,
                        &(struct arrived){.tag = tag,
                                          .immediate = from_le32(eager->immediate),
                                          .bytes = bytes,
                                          .data = frame->payload});
        return 0;
    }
    struct inbound *inbound = inbound_take(layer);
    inbound->peer = peer;
    inbound->tag = tag;
    inbound->immediate = from_le32(eager->immediate);
    inbound->bytes = bytes;
    inbound->expected_bytes = bytes;
    inbound->received = frame->payload_bytes;
    inbound->name = message;
    inbound->hurried = (frame->flags & FRAME_ACK_REQUEST) != 0;
    if (!whole) {
        list_append(&peer->inbound, &inbound->of_peer);
    }
    if (operation != NULL) {
        operation_copy_in(operation, 0, frame->payload, frame->payload_bytes);
        inbound_attach(layer, inbound, operation, 0, 0);
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
    uint64_t unasked = from_le32(announce->unasked_bytes);
    uint32_t name = from_le32(announce->message);
    uint16_t segment_bytes = from_le16(announce->segment_bytes);
    uint32_t tail_bytes = frame->payload_bytes;

    if (!inbound_can_pull(peer, name, bytes, segment_bytes) ||
        (tail_bytes > 0 && tail_bytes != pull_tail_bytes(bytes, segment_bytes))) {
        return -EPROTO;
    }
    struct operation *operation = match_posted(layer, peer, from_le64(announce->tag));
    struct inbound *inbound = inbound_take(layer);
    inbound->peer = peer;
    inbound->tag = from_le64(announce->tag);
    inbound->immediate = from_le32(announce->immediate);
    inbound->bytes = bytes;
    inbound->expected_bytes = bytes;
    inbound->name = name;
    inbound->segment_bytes = segment_bytes;
    inbound->announced = true;
    inbound->address = from_le64(announce->address);
    list_append(&peer->inbound, &inbound->of_peer);
    if (operation != NULL) {
        if (operation->capacity >= bytes) { /* otherwise, it is pulled, with the rest */
            operation_copy_in(operation, bytes - tail_bytes, frame->payload, tail_bytes);
            inbound->received = inbound->tail_bytes = tail_bytes;
        }
        uint8_t lane = pull_lane_of(layer, peer, announce->lane_kind, announce->lane_rail);
        inbound_attach(layer, inbound, operation, lane < LANES_MAX ? unasked : 0, lane);
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
    struct inbound *inbound = inbound_named(peer, from_le16(frame->fragment->message), false);

    if (inbound == NULL || from_le64(frame->fragment->offset) != inbound->received ||
        frame->payload_bytes > inbound->expected_bytes - inbound->received) {
        return -EPROTO;
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
    peer->flow.acknowledge_now = peer->flow.acknowledge_now || inbound->hurried;
    if (inbound->operation != NULL) {
        operation_received(layer, inbound->operation);
        inbound_free(layer, inbound);
    } else {
        list_remove(&inbound->of_peer); /* complete; waits for its receive */
    }
    return 0;
}

bool message_continue(const struct message_peer *peer, const struct frame *frame)
{
    struct inbound *inbound = inbound_named(peer, from_le16(frame->fragment->message), false);

    if (inbound == NULL || inbound->operation == NULL ||
        from_le64(frame->fragment->offset) != inbound->received ||
        frame->payload_bytes >= inbound->expected_bytes - inbound->received) {
        return false;
    }
    operation_copy_in(inbound->operation, inbound->received, frame->payload, frame->payload_bytes);
    inbound->received += frame->payload_bytes;
    return true;
}

static int arrive_done(struct message_layer *layer, struct message_peer *peer,
                       const struct frame *frame)
{
    uint32_t name = from_le32(frame->done->message);
    struct operation *operation = operation_named(layer, peer, name);

    if (operation == NULL && (name & MESSAGE_NAME_SERVED) != 0 && peer->remote_memory) {
        return 0; /* its memory was withdrawn */
    }
    if (operation == NULL || operation->state != OPERATION_ANNOUNCED) {
        return -EPROTO;
    }
    if (operation->kind == BEOWIRE_SEND) {
        operation_done(layer, operation, 0);
    } else {
        remote_done(layer, operation, from_le32(frame->done->status));
    }
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
    case FRAME_BUNDLE:
        status = bundle_arrive(layer, peer, frame);
        break;
    case FRAME_DONE:
        status = arrive_done(layer, peer, frame);
        break;
    case FRAME_PUT:
    case FRAME_OFFER:
    case FRAME_GET:
    case FRAME_ATOMIC:
        status = remote_request(layer, peer, frame);
        break;
    case FRAME_RESULT:
    case FRAME_REPLY:
    case FRAME_GRANT:
        status = remote_answer(layer, peer, frame);
        break;
    default: /* control and DATA are not for messages */
        break;
    }
    layer->counters.protocol_errors += status != 0;
    return status;
}

bool message_is_half_here(const struct message_peer *peer)
{
    return message_half_here(peer) != NULL;
}

bool message_awaits_rest(const struct message_peer *peer)
{
    const struct inbound *half = message_half_here(peer);

    return half != NULL && half->operation != NULL;
}
