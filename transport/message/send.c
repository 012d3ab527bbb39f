/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out: how they become frames. */
#include "message/internal.h"

#include <errno.h>
#include <string.h>

static uint32_t room_in(const struct message_peer *peer, enum frame_type type)
{
    return peer->frame_bytes -
           (uint32_t)(sizeof(struct frame_header) + frame_operation_bytes(type));
}

/** Takes a frame and encodes its header. `copied` bytes will follow the operation header in the
 *  head, `referred` bytes stay where they are. @return NULL: none is free. */
static struct flow_frame *begin(struct message_layer *layer, struct message_peer *peer,
                                enum frame_type type, uint32_t copied, uint32_t referred)
{
    size_t head_bytes = sizeof(struct frame_header) + frame_operation_bytes(type) + copied;
    struct flow_frame *frame = frame_pool_take(&layer->frames, head_bytes);

    if (frame == NULL) {
        return NULL;
    }
    frame->head_bytes = (uint32_t)head_bytes;
    frame->payload_bytes = referred;
    frame_encode(frame->head, &(struct frame_fields){
                                  .type = type,
                                  .destination = peer->destination,
                                  .source = peer->source,
                                  .key = peer->key,
                                  .sequence = peer->flow.next,
                                  .payload_bytes = (uint16_t)(copied + referred),
                              });
    return frame;
}

static void *operation_header(const struct flow_frame *frame)
{
    return frame->head + sizeof(struct frame_header);
}

/** The frame's data is `bytes` bytes of the send, from where it stands. */
static void refer(struct flow_frame *frame, struct operation *operation, uint32_t bytes)
{
    frame->payload = operation->source + operation->pushed;
    frame->owner = operation;
    operation->frames_outstanding++;
    operation->pushed += bytes;
}

static uint16_t message_name(const struct message_layer *layer, const struct operation *operation)
{
    return (uint16_t)(operation - layer->operations);
}

static void fill_eager(const struct flow_frame *frame, uint64_t tag, uint32_t immediate,
                       uint64_t bytes, uint16_t message)
{
    struct frame_eager *eager = operation_header(frame);

    eager->tag = to_le64(tag);
    eager->immediate = to_le32(immediate);
    eager->message_bytes = to_le32((uint32_t)bytes);
    eager->message = to_le16(message);
}

/** Pushes a message that fits one frame, copied. @return false: no frame is free. */
static bool push_copied(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                        uint32_t immediate, const void *data, uint32_t bytes)
{
    struct flow_frame *frame = begin(layer, peer, FRAME_EAGER, bytes, 0);

    if (frame == NULL) {
        return false;
    }
    fill_eager(frame, tag, immediate, bytes, 0);
    if (bytes > 0) {
        memcpy(frame->head + sizeof(struct frame_header) + sizeof(struct frame_eager), data, bytes);
    }
    flow_push(&peer->flow, frame);
    layer->counters.eager_messages++;
    return true;
}

/** Pushes the first frame of a message, referring to the user's data. */
static bool push_first(struct message_layer *layer, struct message_peer *peer,
                       struct operation *operation)
{
    uint32_t room = room_in(peer, FRAME_EAGER);
    uint32_t bytes = operation->bytes < room ? (uint32_t)operation->bytes : room;
    struct flow_frame *frame = begin(layer, peer, FRAME_EAGER, 0, bytes);

    if (frame == NULL) {
        return false;
    }
    fill_eager(frame, operation->tag, operation->immediate, operation->bytes,
               message_name(layer, operation));
    refer(frame, operation, bytes);
    flow_push(&peer->flow, frame);
    layer->counters.eager_messages++;
    return true;
}

static bool push_fragment(struct message_layer *layer, struct message_peer *peer,
                          struct operation *operation)
{
    uint64_t left = operation->capacity - operation->pushed;
    uint32_t room = room_in(peer, FRAME_FRAGMENT);
    uint32_t bytes = left < room ? (uint32_t)left : room;
    struct flow_frame *frame = begin(layer, peer, FRAME_FRAGMENT, 0, bytes);

    if (frame == NULL) {
        return false;
    }
    struct frame_fragment *fragment = operation_header(frame);
    *fragment = (struct frame_fragment){
        .message = to_le16(message_name(layer, operation)),
        .offset = to_le64(operation->pushed),
    };
    refer(frame, operation, bytes);
    if (operation->pushed == operation->capacity) {
        /* The sender waits for this one: its buffer is free when it is acknowledged. */
        frame_stamp(frame->head, FRAME_ACK_REQUEST, 0, 0);
    }
    flow_push(&peer->flow, frame);
    return true;
}

static bool push_announce(struct message_layer *layer, struct message_peer *peer,
                          struct operation *operation)
{
    struct flow_frame *frame = begin(layer, peer, FRAME_ANNOUNCE, 0, 0);

    if (frame == NULL) {
        return false;
    }
    struct frame_announce *announce = operation_header(frame);
    *announce = (struct frame_announce){
        .tag = to_le64(operation->tag),
        .immediate = to_le32(operation->immediate),
        .message_bytes = to_le64(operation->bytes),
        .message = to_le16(message_name(layer, operation)),
    };
    list_remove(&operation->link);
    list_append(&peer->announced, &operation->link);
    operation->state = OPERATION_ANNOUNCED;
    flow_push(&peer->flow, frame);
    layer->counters.announced_messages++;
    return true;
}

static bool push_clear(struct message_layer *layer, struct message_peer *peer)
{
    struct inbound *inbound = LIST_ENTRY(peer->clears.next, struct inbound, clear);
    struct flow_frame *frame = begin(layer, peer, FRAME_CLEAR, 0, 0);

    if (frame == NULL) {
        return false;
    }
    struct frame_clear *clear = operation_header(frame);
    *clear = (struct frame_clear){
        .message = to_le16(inbound->message),
        .accepted_bytes = to_le64(inbound->expected_bytes),
    };
    list_remove(&inbound->clear);
    if (inbound->expected_bytes == 0) {
        operation_received(layer, inbound->operation); /* nothing will follow */
        inbound_free(layer, inbound);
    }
    flow_push(&peer->flow, frame);
    return true;
}

/** Everything of the send is pushed: it ends when nothing refers to its data any more. */
static void all_pushed(struct message_layer *layer, struct operation *operation)
{
    list_remove(&operation->link);
    operation->state = OPERATION_DRAINING;
    if (operation->frames_outstanding == 0) {
        operation_done(layer, operation, 0);
    }
}

/** Pushes the next frame of the first send in the queue. */
static bool push_queued(struct message_layer *layer, struct message_peer *peer)
{
    struct operation *operation = LIST_ENTRY(peer->queue.next, struct operation, link);
    uint32_t room = room_in(peer, FRAME_EAGER);

    if (operation->pushed > 0) {
        if (!push_fragment(layer, peer, operation)) {
            return false;
        }
    } else if (operation->bytes <= room) {
        /* Copied, so that the caller need not wait; if no such frame is free, referred to. */
        if (!push_copied(layer, peer, operation->tag, operation->immediate, operation->source,
                         (uint32_t)operation->bytes) &&
            (operation->bytes == 0 || !push_first(layer, peer, operation))) {
            return false;
        }
        operation->pushed = operation->bytes;
    } else if (operation->bytes > MESSAGE_EAGER_BYTES_MAX) {
        return push_announce(layer, peer, operation);
    } else if (!push_first(layer, peer, operation)) {
        return false;
    }
    if (operation->pushed == operation->bytes) {
        all_pushed(layer, operation);
    }
    return true;
}

static bool push_bulk(struct message_layer *layer, struct message_peer *peer)
{
    struct operation *operation = LIST_ENTRY(peer->bulk.next, struct operation, link);

    if (!push_fragment(layer, peer, operation)) {
        return false;
    }
    if (operation->pushed == operation->capacity) {
        all_pushed(layer, operation);
    }
    return true;
}

bool message_has_work(const struct message_peer *peer)
{
    return !list_is_empty(&peer->queue) || !list_is_empty(&peer->clears) ||
           !list_is_empty(&peer->bulk);
}

bool message_is_flushed(const struct message_peer *peer)
{
    return !message_has_work(peer) && list_is_empty(&peer->announced) && flow_is_idle(&peer->flow);
}

bool message_depends_on(const struct message_peer *peer)
{
    return !list_is_empty(&peer->announced) || !list_is_empty(&peer->inbound);
}

void message_pump(struct message_layer *layer, struct message_peer *peer)
{
    bool pushed = peer->ready;

    while (pushed && flow_has_room(&peer->flow)) {
        if (!list_is_empty(&peer->clears)) {
            pushed = push_clear(layer, peer);
        } else if (!list_is_empty(&peer->queue)) {
            pushed = push_queued(layer, peer);
        } else if (!list_is_empty(&peer->bulk)) {
            pushed = push_bulk(layer, peer);
        } else {
            pushed = false;
        }
    }
}

static int check_send(const struct message_peer *peer, const void *data, uint64_t bytes)
{
    if (peer->error != 0) {
        return peer->error;
    }
    if (data == NULL && bytes > 0) {
        return -EINVAL;
    }
    return bytes > BEOWIRE_MESSAGE_BYTES_MAX ? -EMSGSIZE : 0;
}

int message_send(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    int status = check_send(peer, data, bytes);

    if (status != 0) {
        return status;
    }
    struct operation *operation = operation_take(&layer->free_sends);
    if (operation == NULL) {
        return -EAGAIN;
    }
    *operation = (struct operation){
        .state = OPERATION_QUEUED,
        .kind = BEOWIRE_SEND,
        .peer = peer,
        .context = context,
        .tag = tag,
        .bytes = bytes,
        .capacity = bytes,
        .source = data,
        .immediate = immediate,
    };
    list_append(&peer->queue, &operation->link);
    message_pump(layer, peer);
    return 0;
}

int message_inject(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes)
{
    int status = check_send(peer, data, bytes);

    if (status != 0) {
        return status;
    }
    if (!peer->ready || !list_is_empty(&peer->queue) || !flow_has_room(&peer->flow)) {
        return -EAGAIN;
    }
    if (bytes > room_in(peer, FRAME_EAGER)) {
        return -EMSGSIZE;
    }
    return push_copied(layer, peer, tag, immediate, data, (uint32_t)bytes) ? 0 : -EAGAIN;
}
