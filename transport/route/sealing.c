/* SPDX-License-Identifier: BSD-3-Clause */
/* Seals outgoing frames. */
#include "route/route.h"

#include <assert.h>

/** Copied part of a sealed frame, with room for the seal. */
#define HEAD_BYTES (FRAME_SEQUENCED_HEAD_BYTES_MAX + sizeof(struct frame_seal))
static_assert(HEAD_BYTES >= FRAME_PADDED_BYTES, "DATA is padded there");

struct sealed_head {
    _Alignas(8) uint8_t room[LANE_HEADROOM + HEAD_BYTES];
};

/** Makes the sealed frame: copies the head, and refers to the rest. */
static struct lane_outgoing seal_frame(struct seal *seal, const struct lane_outgoing *frame,
                                       struct sealed_head *copy)
{
    enum frame_type type = (enum frame_type)frame_type_of(frame->head);
    size_t header_bytes = frame_header_bytes(type);
    size_t operation_bytes = frame_operation_bytes(type);
    size_t beside = frame->head_bytes - header_bytes - operation_bytes; /* data in the head */
    uint8_t *head = copy->room + LANE_HEADROOM;
    uint8_t *operation = (uint8_t *)(frame_copy_for_seal(head, frame->head) + 1);
    struct lane_outgoing sealed = *frame;

    assert(operation + operation_bytes <= copy->room + sizeof copy->room);
    assert(beside == 0 || frame->payload_bytes == 0);
    memcpy(operation, frame->head + header_bytes, operation_bytes);
    sealed.head = head;
    sealed.head_bytes = (uint32_t)(header_bytes + sizeof(struct frame_seal) + operation_bytes);
    if (beside > 0) {
        sealed.payload = frame->head + header_bytes + operation_bytes;
        sealed.payload_bytes = (uint32_t)beside;
    }
    uint32_t owned = sealed.payload_bytes;
    if (type != FRAME_DATA) {
        owned = frame_payload_bytes(frame->head);
    } else if (sealed.head_bytes + owned < FRAME_PADDED_BYTES) {
        /* Ethernet would pad it with bytes unknown to the receiver. */
        uint32_t padded = FRAME_PADDED_BYTES - sealed.head_bytes;
        memcpy(operation, sealed.payload, owned);
        memset(operation + owned, 0, padded - owned);
        sealed.payload = NULL;
        sealed.payload_bytes = 0;
        sealed.head_bytes = FRAME_PADDED_BYTES;
        seal_write(seal, head, NULL, 0, operation, padded);
        return sealed;
    }
    seal_write(seal, head, operation, operation_bytes, sealed.payload, owned);
    return sealed;
}

unsigned route_send_sealed(struct routes *routes, struct route *route, unsigned lane_index,
                           const struct lane_outgoing *frames, unsigned count)
{
    struct lane *lane = routes->lanes->lanes[lane_index];
    struct sealed_head heads[FLOW_BATCH_FRAMES];
    struct lane_outgoing sealed[FLOW_BATCH_FRAMES];

    if (lane->is_certain || count == 0 || frame_is_never_sealed(frame_type_of(frames->head))) {
        return lane->operations->send(lane, &route->paths.to[lane_index], frames, count);
    }
    count = count < FLOW_BATCH_FRAMES ? count : FLOW_BATCH_FRAMES;
    for (unsigned i = 0; i < count; i++) {
        sealed[i] = seal_frame(route->seal, &frames[i], &heads[i]);
    }
    trace_here(routes->trace, TRACE_SEALED, count);
    return lane->operations->send(lane, &route->paths.to[lane_index], sealed, count);
}
