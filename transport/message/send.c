/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages: how they become frames. */
#include "message/bundle.h"
#include "message/internal.h"
#include "message/outgoing.h"
#include "pull/one_sided.h"
#include "pull/pull.h"
#include "remote/remote.h"

#include <errno.h>
#include <string.h>

/** Begins ANNOUNCE, with the last bytes of the message if they may be in it and fit. */
static struct flow_frame *begin_announce(struct message_layer *layer, struct message_peer *peer,
                                         struct operation *operation, uint32_t *tail_bytes)
{
    operation->segment_bytes = outgoing_segment(peer);
    /* Of another's memory, the peer may read all. */
    bool read = peer->shares_memory || peer->one_sided;
    uint32_t bytes = read ? 0 : pull_tail_bytes(operation->bytes, operation->segment_bytes);
    struct flow_frame *frame = NULL;

    if (bytes > 0 && bytes <= outgoing_room(peer, FRAME_ANNOUNCE)) {
        frame = outgoing_begin(layer, peer, FRAME_ANNOUNCE, bytes, 0);
    }
    if (frame == NULL) {
        return outgoing_begin(layer, peer, FRAME_ANNOUNCE, 0, 0);
    }
    memcpy((uint8_t *)outgoing_header(frame) + sizeof(struct frame_announce),
           operation->source + operation->bytes - bytes, bytes);
    *tail_bytes = bytes;
    return frame;
}

static bool push_announce(struct message_layer *layer, struct message_peer *peer,
                          struct operation *operation)
{
    if (!outgoing_has_numbers(layer, peer, operation)) {
        return true;
    }
    if (operation_is_spare(layer, operation)) {
        operation = operation_name_spare(layer, operation);
    }
    uint64_t unasked = 0;
    uint32_t tail_bytes = 0;
    struct flow_frame *frame =
        operation != NULL ? begin_announce(layer, peer, operation, &tail_bytes) : NULL;

    if (frame == NULL) {
        return false;
    }
    list_remove(&operation->link);
    operation->state = OPERATION_ANNOUNCED;
    list_append(&peer->announced, &operation->link);
    uint64_t address = one_sided_offer(layer, peer, operation);
    uint8_t lane =
        outgoing_unasked(layer, peer, operation, operation->bytes - tail_bytes, &unasked);
    operation->pushed = unasked;
    struct frame_announce *announce = outgoing_header(frame);
    *announce = (struct frame_announce){
        .tag = to_le64(operation->tag),
        .immediate = to_le32(operation->immediate),
        .message_bytes = to_le64(operation->bytes),
        .address = to_le64(address),
        .message = to_le32(message_name(layer, operation)),
        .unasked_bytes = to_le32((uint32_t)unasked),
        .segment_bytes = to_le16(operation->segment_bytes),
        .lane_kind = unasked > 0 ? layer->lanes[lane].kind : LANE_NONE,
        .lane_rail = unasked > 0 ? layer->lanes[lane].rail : 0,
    };
    flow_push(&peer->flow, frame);
    layer->counters.announced_messages++;
    return true;
}

/** Tells the peer that the buffer of the first message in the list is free. */
static bool push_done(struct message_layer *layer, struct message_peer *peer)
{
    struct inbound *inbound = LIST_ENTRY(peer->dones.next, struct inbound, done);
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_DONE, 0, 0);

    if (frame == NULL) {
        return false;
    }
    struct frame_done *done = outgoing_header(frame);
    *done = (struct frame_done){
        .message = to_le32(inbound->name),
        .status = to_le32(inbound->status),
    };
    flow_push(&peer->flow, frame);
    if (inbound->operation == NULL) {
        remote_answered(layer, inbound);
        return true;
    }
    if (inbound->operation->kind == BEOWIRE_RECEIVE) {
        operation_received(layer, inbound->operation);
    } else {
        operation_done(layer, inbound->operation, 0);
    }
    inbound_free(layer, inbound);
    return true;
}

/** Answers the first message or request in the list. */
static bool push_answer(struct message_layer *layer, struct message_peer *peer)
{
    struct inbound *inbound = LIST_ENTRY(peer->dones.next, struct inbound, done);

    return inbound->answer == ANSWER_DONE ? push_done(layer, peer)
                                          : remote_push_answer(layer, peer, inbound);
}

/** Pushes the next frame of the first send in the queue. */
static bool push_queued(struct message_layer *layer, struct message_peer *peer)
{
    struct operation *operation = LIST_ENTRY(peer->queue.next, struct operation, link);
    uint32_t room = outgoing_room(peer, FRAME_EAGER);

    if (operation->kind != BEOWIRE_SEND) {
        return remote_push(layer, peer, operation);
    }
    if (operation->pushed == 0 && operation->bytes <= room && !operation->is_matched) {
        /* Copied, so that the caller need not wait; referred to if no such frame is free. */
        if (outgoing_push_copied(layer, peer, operation->tag, operation->immediate,
                                 operation->source, (uint32_t)operation->bytes,
                                 operation->is_confirmed ? operation : NULL)) {
            operation->pushed = operation->bytes;
            outgoing_all_pushed(layer, operation);
            return true;
        }
        return operation->bytes > 0 && outgoing_push_part(layer, peer, operation);
    }
    if (operation->pushed == 0 &&
        (operation->is_matched || !outgoing_is_eager(layer, peer, operation->bytes))) {
        return push_announce(layer, peer, operation);
    }
    return outgoing_push_part(layer, peer, operation);
}

bool message_has_work(const struct message_peer *peer)
{
    return !list_is_empty(&peer->queue) || !list_is_empty(&peer->dones);
}

bool message_is_flushed(const struct message_peer *peer)
{
    return !message_has_work(peer) && list_is_empty(&peer->announced) && flow_is_idle(&peer->flow);
}

bool message_depends_on(const struct message_peer *peer)
{
    return !list_is_empty(&peer->announced) || !list_is_empty(&peer->inbound) || peer->posted > 0 ||
           peer->served > 0 || peer->put != NULL;
}

void message_pump(struct message_layer *layer, struct message_peer *peer)
{
    bool pushed = peer->ready;

    if (!list_is_empty(&peer->dones) || !list_is_empty(&peer->queue)) {
        bundle_close(layer, peer); /* only the last frame can be open */
    }

    while (pushed && flow_has_room(&peer->flow)) {
        if (!list_is_empty(&peer->dones)) {
            pushed = push_answer(layer, peer);
        } else if (!list_is_empty(&peer->queue) && flow_has_credit(&peer->flow)) {
            pushed = push_queued(layer, peer);
        } else {
            pushed = false;
        }
    }
    bool credit = flow_has_credit(&peer->flow);
    peer->turned_away = peer->turned_away && !credit;
    flow_starve(&peer->flow, !credit && (peer->turned_away || !list_is_empty(&peer->queue)));
}

/** The earliest time at which a send completes. */
enum message_end {
    MESSAGE_REUSABLE,  /**< its buffer may be reused */
    MESSAGE_CONFIRMED, /**< the peer's endpoint has all of it */
    MESSAGE_MATCHED,   /**< a receive of the peer has matched it */
};

/** Inlined where `end` is constant, so that short messages skip the rest. */
__attribute__((always_inline)) static inline int
post(struct message_layer *layer, struct message_peer *peer, uint64_t tag, uint32_t immediate,
     const void *data, uint64_t bytes, void *context, enum message_end end)
{
    int status = outgoing_check_send(peer, data, bytes);

    if (status != 0) {
        return status;
    }
    struct operation *operation = outgoing_take_send(layer, peer, tag, immediate, data, bytes);
    if (operation == NULL) {
        return -EAGAIN;
    }
    operation->context = context;
    operation->is_confirmed = end == MESSAGE_CONFIRMED;
    operation->is_matched = end == MESSAGE_MATCHED;
    bool bundled = end != MESSAGE_MATCHED && outgoing_can_bundle(layer, peer, bytes) &&
                   bundle_add(layer, peer, tag, immediate, data, (uint32_t)bytes,
                              end == MESSAGE_CONFIRMED ? operation : NULL);
    list_append(&peer->queue, &operation->link);
    if (bundled) {
        outgoing_all_pushed(layer, operation);
    } else {
        message_pump(layer, peer);
    }
    return 0;
}

int message_send(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post(layer, peer, tag, immediate, data, bytes, context, MESSAGE_REUSABLE);
}

int message_send_confirmed(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                           uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post(layer, peer, tag, immediate, data, bytes, context, MESSAGE_CONFIRMED);
}

int message_send_matched(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                         uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post(layer, peer, tag, immediate, data, bytes, context, MESSAGE_MATCHED);
}
