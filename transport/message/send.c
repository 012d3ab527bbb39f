/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out: how they become frames. */
#include "message/bundle.h"
#include "message/internal.h"
#include "message/lent.h"
#include "message/one_sided.h"
#include "message/outgoing.h"
#include "message/pull.h"
#include "message/remote.h"
#include "message/spare.h"

#include <errno.h>
#include <string.h>

static void fill_eager(const struct flow_frame *frame, uint64_t tag, uint32_t immediate,
                       uint64_t bytes, uint16_t message)
{
    struct frame_eager *eager = outgoing_header(frame);

    eager->tag = to_le64(tag);
    eager->immediate = to_le32(immediate);
    eager->message_bytes = to_le32((uint32_t)bytes);
    eager->message = to_le16(message);
}

bool outgoing_push_copied(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint32_t bytes,
                          struct operation *confirmed)
{
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_EAGER, bytes, 0);

    if (frame == NULL) {
        return false;
    }
    fill_eager(frame, tag, immediate, bytes, 0);
    if (bytes > 0) {
        memcpy(frame->head + sizeof(struct frame_header) + sizeof(struct frame_eager), data, bytes);
    }
    if (confirmed != NULL) {
        outgoing_await(frame, confirmed);
        outgoing_hurry(frame);
    }
    flow_push(&peer->flow, frame);
    layer->counters.eager_messages++;
    return true;
}

/** Begins a frame with the next `bytes` bytes of the send: lent, so that the send can end without
 *  waiting for the peer; referred to if it waits anyway, or no frame with so much room is free. */
static struct flow_frame *begin_next(struct message_layer *layer, struct message_peer *peer,
                                     enum frame_type type, struct operation *operation,
                                     uint32_t bytes)
{
    struct flow_frame *frame =
        operation->is_confirmed ? NULL : lent_begin(layer, peer, type, operation, bytes);

    if (frame == NULL) {
        frame = outgoing_begin(layer, peer, type, 0, bytes);
        if (frame == NULL) {
            return NULL;
        }
        outgoing_refer(frame, operation, bytes);
        operation->is_referred = true;
    }
    bool is_last = operation->pushed == operation->bytes;
    if (operation->is_confirmed ? type == FRAME_EAGER : is_last && operation->is_referred) {
        outgoing_hurry(frame); /* the sender waits for the last: here, or asked for by the first */
    }
    return frame;
}

/** How much of a message its first frame has; and sets what each has that follows. */
static uint32_t share_out(const struct message_peer *peer, struct operation *operation)
{
    uint32_t room = outgoing_room(peer, FRAME_EAGER);

    operation->part_bytes = (uint16_t)outgoing_room(peer, FRAME_FRAGMENT);
    if (operation->bytes <= room) {
        return (uint32_t)operation->bytes;
    }
    /* A short one that finds others on their way waits for more, and goes in a train with them. */
    const struct flow *flow = &peer->flow;
    bool alone = operation->bytes > (uint64_t)(CONVOY_CUT_LONG_FRAMES - 1) * room ||
                 flow->next - flow->first <= CONVOY_CUT_FRAMES_MAX;
    bool credit = sequence_before(flow->next + 4, flow->limit); /* it may take one frame more */
    if (peer->gathers && alone && credit) {
        return operation->part_bytes - (uint32_t)frame_head_bytes(FRAME_EAGER);
    }
    if (!peer->trains) {
        return room;
    }
    uint32_t even = outgoing_even_bytes(peer, operation->bytes, FRAME_EAGER, FRAME_FRAGMENT);
    operation->part_bytes = (uint16_t)(even - frame_head_bytes(FRAME_FRAGMENT));
    return even - (uint32_t)frame_head_bytes(FRAME_EAGER);
}

/** Pushes the first frame of a message. */
static bool push_first(struct message_layer *layer, struct message_peer *peer,
                       struct operation *operation)
{
    uint32_t bytes = share_out(peer, operation);
    struct flow_frame *frame = begin_next(layer, peer, FRAME_EAGER, operation, bytes);

    if (frame == NULL) {
        return false;
    }
    fill_eager(frame, operation->tag, operation->immediate, operation->bytes,
               (uint16_t)message_name(layer, operation));
    flow_push(&peer->flow, frame);
    layer->counters.eager_messages++;
    return true;
}

static bool push_fragment(struct message_layer *layer, struct message_peer *peer,
                          struct operation *operation)
{
    uint64_t left = operation->bytes - operation->pushed;
    uint32_t bytes = left < operation->part_bytes ? (uint32_t)left : operation->part_bytes;
    uint64_t offset = operation->pushed;
    struct flow_frame *frame = begin_next(layer, peer, FRAME_FRAGMENT, operation, bytes);

    if (frame == NULL) {
        return false;
    }
    struct frame_fragment *fragment = outgoing_header(frame);
    *fragment = (struct frame_fragment){
        .message = to_le16((uint16_t)message_name(layer, operation)),
        .offset = to_le64(offset),
    };
    flow_push(&peer->flow, frame);
    return true;
}

/** Are so many long messages under way to the peer that it pulls others first? It would drop what
 * of this one came before its turn. */
static bool waits_its_turn(const struct message_peer *peer)
{
    unsigned count = 0;

    for (const struct list *link = peer->announced.next;
         link != &peer->announced && count <= PULLS_PER_PEER; link = link->next) {
        count++;
    }
    return count > PULLS_PER_PEER;
}

uint8_t outgoing_unasked(struct message_layer *layer, struct message_peer *peer,
                         const struct operation *operation, uint64_t *unasked)
{
    uint32_t segments = pull_block_segments(operation->segment_bytes);
    uint64_t block_bytes = (uint64_t)segments * operation->segment_bytes;
    uint8_t lane = pull_best_lane(layer, peer, block_bytes);

    *unasked = 0;
    if (lane == LANES_MAX || peer->unasked_credit <= 0 || peer->shares_memory ||
        operation->lent != 0 || waits_its_turn(peer)) {
        return LANES_MAX;
    }
    for (unsigned i = 0; i < layer->limits.unasked_blocks && *unasked < operation->bytes; i++) {
        uint64_t left =
            (operation->bytes - *unasked + operation->segment_bytes - 1) / operation->segment_bytes;
        uint64_t wanted = left < segments ? left : segments;
        if (serve_add(layer, peer, message_name(layer, operation), *unasked,
                      wanted == 64 ? UINT64_MAX : (UINT64_C(1) << wanted) - 1, lane) != 0) {
            break;
        }
        layer->counters.data_unasked++;
        *unasked += wanted * operation->segment_bytes;
    }
    return lane;
}

bool outgoing_has_numbers(struct message_layer *layer, const struct message_peer *peer,
                          struct operation *operation)
{
    if (message_has_numbers(operation->bytes, (uint16_t)outgoing_room(peer, FRAME_DATA))) {
        return true;
    }
    operation_done(layer, operation, -EMSGSIZE);
    return false;
}

static bool push_announce(struct message_layer *layer, struct message_peer *peer,
                          struct operation *operation)
{
    if (!outgoing_has_numbers(layer, peer, operation)) {
        return true;
    }
    if (operation_is_spare(layer, operation)) {
        operation = spare_name(layer, operation);
    }
    struct flow_frame *frame =
        operation != NULL ? outgoing_begin(layer, peer, FRAME_ANNOUNCE, 0, 0) : NULL;
    uint64_t unasked = 0;

    if (frame == NULL) {
        return false;
    }
    operation->segment_bytes = (uint16_t)outgoing_room(peer, FRAME_DATA);
    list_remove(&operation->link);
    operation->state = OPERATION_ANNOUNCED;
    list_append(&peer->announced, &operation->link);
    uint64_t address = one_sided_offer(layer, peer, operation);
    uint8_t lane = outgoing_unasked(layer, peer, operation, &unasked);
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

/** Tells the sender of the first message in the list that its buffer is free. */
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

/** Everything of the send is pushed: it ends when it waits for no frame any more. */
static void all_pushed(struct message_layer *layer, struct operation *operation)
{
    list_remove(&operation->link);
    operation->state = OPERATION_DRAINING;
    if (operation->frames_outstanding == 0) {
        operation_done(layer, operation, 0);
    }
}

bool outgoing_push_part(struct message_layer *layer, struct message_peer *peer,
                        struct operation *operation)
{
    bool pushed = operation->pushed > 0 ? push_fragment(layer, peer, operation)
                                        : push_first(layer, peer, operation);

    if (pushed && operation->pushed == operation->bytes) {
        all_pushed(layer, operation);
    }
    return pushed;
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
        /* Copied, so that the caller need not wait; if no such frame is free, referred to. */
        if (outgoing_push_copied(layer, peer, operation->tag, operation->immediate,
                                 operation->source, (uint32_t)operation->bytes,
                                 operation->is_confirmed ? operation : NULL)) {
            operation->pushed = operation->bytes;
            all_pushed(layer, operation);
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

bool outgoing_is_clear(struct message_peer *peer)
{
    peer->turned_away = peer->ready && !flow_has_credit(&peer->flow);
    return peer->ready && !peer->turned_away && list_is_empty(&peer->queue) &&
           flow_has_room(&peer->flow);
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

bool outgoing_can_bundle(const struct message_layer *layer, const struct message_peer *peer,
                         uint64_t bytes)
{
    return layer->may_hold && bytes <= layer->limits.bundle_bytes && peer->ready &&
           list_is_empty(&peer->queue) && list_is_empty(&peer->dones);
}

int outgoing_check_send(const struct message_peer *peer, const void *data, uint64_t bytes)
{
    if (peer->send_error != 0) {
        return peer->send_error;
    }
    if (data == NULL && bytes > 0) {
        return -EINVAL;
    }
    return bytes > BEOWIRE_MESSAGE_BYTES_MAX ? -EMSGSIZE : 0;
}

struct operation *outgoing_take_send(struct message_layer *layer, struct message_peer *peer,
                                     uint64_t tag, uint32_t immediate, const void *data,
                                     uint64_t bytes)
{
    struct operation *operation = operation_take_send(layer);

    if (__builtin_expect(operation == NULL, 0)) {
        operation = spare_take(layer);
    }
    if (operation != NULL) {
        *operation = (struct operation){
            .state = OPERATION_QUEUED,
            .kind = BEOWIRE_SEND,
            .peer = peer,
            .tag = tag,
            .bytes = bytes,
            .source = data,
            .immediate = immediate,
            .generation = (uint16_t)(operation->generation + 1),
        };
    }
    return operation;
}

/** When a send ends, at the earliest. */
enum message_end {
    MESSAGE_REUSABLE,  /**< its buffer may be used again */
    MESSAGE_CONFIRMED, /**< the peer's endpoint has all of it */
    MESSAGE_MATCHED,   /**< a receive of the peer's has it */
};

/** Inlined where `end` is known: a short message does without the rest. */
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
        all_pushed(layer, operation);
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
