/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/outgoing.h"

#include "message/internal.h"
#include "message/lent.h"
#include "message/spare.h"
#include "pull/pull.h"

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

/** Begins a frame with the next `bytes` bytes of the send. They are lent, so that the send need
 *  not wait for the peer; or referred to, if it waits anyway or no frame with that much room is
 *  free. */
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
        outgoing_hurry(frame); /* the sender waits for the last frame, whose acknowledgement is
                                  requested here or by the first */
    }
    return frame;
}

/** Sets the payload of the frames after the first, and returns that of the first. */
static uint32_t share_out(const struct message_peer *peer, struct operation *operation)
{
    uint32_t room = outgoing_room(peer, FRAME_EAGER);

    operation->part_bytes = (uint16_t)outgoing_room(peer, FRAME_FRAGMENT);
    if (operation->bytes <= room) {
        return (uint32_t)operation->bytes;
    }
    /* A short one behind other frames waits for more, and is sent in a train with them. */
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

/** Are so many long messages under way to the peer that it pulls others first? Then it would drop
 *  data that came before this one's turn. */
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
                         const struct operation *operation, uint64_t bytes, uint64_t *unasked)
{
    uint32_t segments = pull_block_segments(operation->segment_bytes);
    uint64_t block_bytes = (uint64_t)segments * operation->segment_bytes;
    uint8_t lane = pull_best_lane(layer, peer, block_bytes);

    *unasked = 0;
    if (lane == LANES_MAX || peer->unasked_credit <= 0 || peer->shares_memory ||
        operation->lent != 0 || waits_its_turn(peer) || layer->far_peers > PULL_FREE_PEERS ||
        flow_window(&peer->flow, peer->flow.first) < PULL_UNASKED_FRAMES_MIN) {
        return LANES_MAX;
    }
    for (unsigned i = 0; i < layer->limits.unasked_blocks && *unasked < bytes; i++) {
        uint64_t left =
            (bytes - *unasked + operation->segment_bytes - 1) / operation->segment_bytes;
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

void outgoing_all_pushed(struct message_layer *layer, struct operation *operation)
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
        outgoing_all_pushed(layer, operation);
    }
    return pushed;
}

bool outgoing_is_clear(struct message_peer *peer)
{
    peer->turned_away = peer->ready && !flow_has_credit(&peer->flow);
    return peer->ready && !peer->turned_away && list_is_empty(&peer->queue) &&
           flow_has_room(&peer->flow);
}

bool outgoing_holds(const struct message_layer *layer, const struct message_peer *peer,
                    uint64_t bytes, enum frame_type first, enum frame_type others)
{
    const struct flow *flow = &peer->flow;
    uint32_t room = outgoing_room(peer, others);
    /* The first frame is at least this long, unless all have equal lengths, and then there are no
     * more (share_out()). */
    uint32_t least = room - (uint32_t)frame_head_bytes(first);
    uint64_t more = bytes > least ? (bytes - least + room - 1) / room : 0;

    return more < FLOW_WINDOW_FRAMES && more < flow_window(flow, flow->next) &&
           flow->next - flow->first + more < FLOW_WINDOW_FRAMES &&
           frame_pool_has(&layer->frames, (uint32_t)more + 1);
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
