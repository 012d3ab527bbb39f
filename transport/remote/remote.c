/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's side: requests, and the target's answers. */
#include "remote/remote.h"

#include "lane/copy.h"
#include "message/internal.h"
#include "message/lent.h"
#include "message/outgoing.h"
#include "pull/one_sided.h"
#include "pull/pull.h"
#include "remote/atomic.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/** All of it is pushed: now it waits for the peer's answer. */
static void await_answer(struct message_peer *peer, struct operation *operation)
{
    assert(operation->state == OPERATION_QUEUED);
    list_remove(&operation->link);
    operation->state = OPERATION_REMOTE;
    list_append(&peer->announced, &operation->link);
}

static uint16_t put_flags(const struct operation *operation)
{
    return (operation->put_flags & BEOWIRE_PUT_NOTIFY) != 0 ? FRAME_PUT_NOTIFY : 0;
}

static bool push_offer(struct message_layer *layer, struct message_peer *peer,
                       struct operation *operation)
{
    if (!outgoing_has_numbers(layer, peer, operation)) {
        return true;
    }
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_OFFER, 0, 0);
    uint64_t unasked = 0;

    if (frame == NULL) {
        return false;
    }
    await_answer(peer, operation);
    operation->segment_bytes = outgoing_segment(peer);
    operation->state = OPERATION_ANNOUNCED;
    uint64_t address = one_sided_offer(layer, peer, operation);
    uint8_t lane = outgoing_unasked(layer, peer, operation, operation->bytes, &unasked);
    operation->pushed = unasked;
    struct frame_offer *offer = outgoing_header(frame);
    *offer = (struct frame_offer){
        .key = to_le64(operation->tag),
        .remote_address = to_le64(operation->address),
        .bytes = to_le64(operation->bytes),
        .address = to_le64(address),
        .message = to_le32(message_name(layer, operation)),
        .immediate = to_le32(operation->immediate),
        .unasked_bytes = to_le32((uint32_t)unasked),
        .segment_bytes = to_le16(operation->segment_bytes),
        .lane_kind = unasked > 0 ? layer->lanes[lane].kind : LANE_NONE,
        .lane_rail = unasked > 0 ? layer->lanes[lane].rail : 0,
        .flags = to_le16(put_flags(operation)),
    };
    flow_push(&peer->flow, frame);
    return true;
}

static bool push_put(struct message_layer *layer, struct message_peer *peer,
                     struct operation *operation)
{
    uint64_t left = operation->bytes - operation->pushed;
    uint32_t room = outgoing_room(peer, FRAME_PUT);
    uint32_t bytes = left < room ? (uint32_t)left : room;
    uint64_t offset = operation->pushed;
    bool inject = (operation->put_flags & BEOWIRE_PUT_INJECT) != 0;
    bool copy = bytes == 0 || (inject && operation->bytes <= room);
    bool lend = inject && !copy;
    struct flow_frame *frame =
        lend ? lent_begin(layer, peer, FRAME_PUT, operation, bytes)
             : outgoing_begin(layer, peer, FRAME_PUT, copy ? bytes : 0, copy ? 0 : bytes);
    if (frame == NULL) {
        return false;
    }
    struct frame_put *put = outgoing_header(frame);
    *put = (struct frame_put){
        .key = to_le64(operation->tag),
        .address = to_le64(operation->address),
        .request = to_le32(message_name(layer, operation)),
        .immediate = to_le32(operation->immediate),
        .bytes = to_le32((uint32_t)operation->bytes),
        .offset = to_le32((uint32_t)offset),
        .flags = to_le16(put_flags(operation)),
    };
    if (!copy && !lend) {
        outgoing_refer(frame, operation, bytes);
    } else if (copy && bytes > 0) {
        copy_bytes(put + 1, operation->source, bytes);
        operation->pushed += bytes;
    }
    flow_push(&peer->flow, frame);
    if (operation->pushed == operation->bytes) {
        await_answer(peer, operation);
    }
    return true;
}

static bool push_get(struct message_layer *layer, struct message_peer *peer,
                     struct operation *operation)
{
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_GET, 0, 0);

    if (frame == NULL) {
        return false;
    }
    struct frame_get *get = outgoing_header(frame);
    *get = (struct frame_get){
        .key = to_le64(operation->tag),
        .address = to_le64(operation->address),
        .bytes = to_le64(operation->bytes),
        .request = to_le32(message_name(layer, operation)),
    };
    flow_push(&peer->flow, frame);
    await_answer(peer, operation);
    return true;
}

static bool push_atomic(struct message_layer *layer, struct message_peer *peer,
                        struct operation *operation)
{
    uint32_t each = (uint32_t)operation->bytes;
    uint32_t operand_bytes = atomic_has_operand(operation->atomic) ? each : 0;
    uint32_t compare_bytes = atomic_has_compare(operation->atomic) ? each : 0;

    if (operand_bytes + compare_bytes > outgoing_room(peer, FRAME_ATOMIC)) {
        operation_done(layer, operation, -EMSGSIZE); /* more than atomic_count_max() */
        return true;
    }
    struct flow_frame *frame =
        outgoing_begin(layer, peer, FRAME_ATOMIC, operand_bytes + compare_bytes, 0);
    if (frame == NULL) {
        return false;
    }
    struct frame_atomic *atomic = outgoing_header(frame);
    *atomic = (struct frame_atomic){
        .key = to_le64(operation->tag),
        .address = to_le64(operation->address),
        .request = to_le32(message_name(layer, operation)),
        .count = to_le16((uint16_t)operation->count),
        .operation = operation->atomic,
        .type = operation->atomic_type,
        .flags = to_le16(operation->target != NULL ? FRAME_ATOMIC_FETCH : 0),
    };
    uint8_t *payload = (uint8_t *)(atomic + 1);
    if (operand_bytes > 0) {
        memcpy(payload, operation->operand, operand_bytes);
    }
    if (compare_bytes > 0) {
        memcpy(payload + operand_bytes, operation->compare, compare_bytes);
    }
    flow_push(&peer->flow, frame);
    await_answer(peer, operation);
    return true;
}

bool remote_push(struct message_layer *layer, struct message_peer *peer,
                 struct operation *operation)
{
    if (!peer->remote_memory) {
        operation_done(layer, operation, -EOPNOTSUPP); /* posted before that was known */
        return true;
    }
    if (operation->kind == BEOWIRE_GET) {
        return push_get(layer, peer, operation);
    }
    if (operation->kind == BEOWIRE_ATOMIC) {
        return push_atomic(layer, peer, operation);
    }
    bool copied = (operation->put_flags & BEOWIRE_PUT_INJECT) != 0; /* there is room for it */
    return operation->bytes > outgoing_eager_bytes(layer, peer) && !copied
               ? push_offer(layer, peer, operation)
               : push_put(layer, peer, operation);
}

/* ---- answers in ---------------------------------------------------------------------------- */

static int error_of(uint32_t status)
{
    switch (status) {
    case FRAME_STATUS_OK:
        return 0;
    case FRAME_STATUS_OPERATION:
        return -EOPNOTSUPP;
    default:
        return -EACCES;
    }
}

/** Completes an operation with the peer's status. */
static void end(struct message_layer *layer, struct operation *operation, int error)
{
    if (operation->frames_outstanding == 0) {
        operation_done(layer, operation, error);
        return;
    }
    /* The status came before the acknowledgement of frames that still refer to our data. */
    list_remove(&operation->link);
    operation->status = error;
    operation->state = OPERATION_DRAINING;
}

void remote_done(struct message_layer *layer, struct operation *operation, uint32_t status)
{
    if (operation->kind == BEOWIRE_GET) {
        layer->counters.remote_read++;
        remote_served(layer, operation);
    } else {
        end(layer, operation, error_of(status));
    }
}

/** Stops a get that is being pulled. @return false: all of it has arrived. */
static bool stop_get(struct message_layer *layer, const struct operation *operation)
{
    for (struct list *link = operation->peer->inbound.next; link != &operation->peer->inbound;
         link = link->next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, of_peer);
        if (inbound->operation == operation) {
            inbound_free(layer, inbound);
            return true;
        }
    }
    return false;
}

static int end_by_result(struct message_layer *layer, struct operation *operation, uint32_t status)
{
    bool wants_data = operation->capacity > 0;

    if (operation->kind == BEOWIRE_GET && operation->state == OPERATION_RECEIVING) {
        if (status == FRAME_STATUS_OK) {
            return -EPROTO;
        }
        if (stop_get(layer, operation)) {
            end(layer, operation, error_of(status));
        }
        return 0;
    }
    if (operation->state != OPERATION_REMOTE || (wants_data && status == FRAME_STATUS_OK)) {
        return -EPROTO;
    }
    end(layer, operation, error_of(status));
    return 0;
}

static int arrive_result(struct message_layer *layer, struct message_peer *peer,
                         const struct frame *frame)
{
    const struct frame_result *results = (const struct frame_result *)(const void *)frame->payload;
    int status = 0;

    for (uint32_t i = 0; i < frame->payload_bytes / sizeof *results && status == 0; i++) {
        uint32_t name = from_le32(results[i].request);
        struct operation *operation = operation_named(layer, peer, name);
        if ((name & MESSAGE_NAME_SERVED) != 0) {
            status = -EPROTO; /* not one of ours */
        } else if (operation != NULL) {
            status = end_by_result(layer, operation, from_le32(results[i].status));
        }
    }
    return status;
}

static int arrive_reply(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    struct operation *operation = operation_named(layer, peer, from_le32(frame->reply->request));
    uint32_t offset = from_le32(frame->reply->offset);

    if (operation == NULL || operation->state != OPERATION_REMOTE || offset != operation->pushed ||
        frame->payload_bytes > operation->capacity - operation->pushed) {
        return -EPROTO;
    }
    operation_copy_in(operation, offset, frame->payload, frame->payload_bytes);
    operation->pushed += frame->payload_bytes;
    if (operation->pushed == operation->capacity) {
        end(layer, operation, 0);
    }
    return 0;
}

static int arrive_grant(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    const struct frame_grant *grant = frame->grant;
    struct operation *operation = operation_named(layer, peer, from_le32(grant->request));
    uint32_t name = from_le32(grant->message);
    uint16_t segment_bytes = from_le16(grant->segment_bytes);

    if (operation == NULL || operation->state != OPERATION_REMOTE ||
        operation->kind != BEOWIRE_GET || operation->bytes == 0 || operation->pushed != 0 ||
        !inbound_can_pull(peer, name, operation->bytes, segment_bytes)) {
        return -EPROTO;
    }
    struct inbound *inbound = inbound_take(layer);
    inbound->peer = peer;
    inbound->bytes = operation->bytes;
    inbound->expected_bytes = operation->bytes;
    inbound->name = name;
    inbound->segment_bytes = segment_bytes;
    inbound->announced = true;
    inbound->address = from_le64(grant->address);
    inbound->operation = operation;
    operation->state = OPERATION_RECEIVING;
    list_append(&peer->inbound, &inbound->of_peer);
    uint8_t lane = pull_lane_of(layer, peer, grant->lane_kind, grant->lane_rail);
    inbound_fetch(layer, inbound, lane < LANES_MAX ? from_le32(grant->unasked_bytes) : 0, lane);
    return 0;
}

int remote_answer(struct message_layer *layer, struct message_peer *peer, const struct frame *frame)
{
    if (!peer->remote_memory) {
        return -EPROTO; /* nothing was requested */
    }
    if (frame->type == FRAME_RESULT) {
        return arrive_result(layer, peer, frame);
    }
    return frame->type == FRAME_REPLY ? arrive_reply(layer, peer, frame)
                                      : arrive_grant(layer, peer, frame);
}
