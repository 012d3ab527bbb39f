/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections of which each frame is sealed (route/seal.h), because one end wants it. Only what
 * goes through memory that a host's processes share is not: nobody else can write there.
 */
#include "core/core_internal.h"
#include "route/address.h"
#include "route/trace.h"

#include <errno.h>
#include <stdlib.h>

/** Of a sealed frame: what is copied of it, for the seal to have room. */
#define HEAD_BYTES (FRAME_SEQUENCED_HEAD_BYTES_MAX + sizeof(struct frame_seal))
static_assert(HEAD_BYTES >= FRAME_PADDED_BYTES, "DATA is padded there");

struct sealed_head {
    _Alignas(8) uint8_t room[LANE_HEADROOM + HEAD_BYTES];
};

/** Network cards that cut frames would have to seal them. */
static void leave_out_cutting_lanes(const struct core *core, struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->lanes[i]->cuts) {
            peer->paths.reachable &= (uint16_t) ~(1u << i);
            peer->paths.proven &= (uint16_t) ~(1u << i);
        }
    }
}

int core_begin_seals(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    uint32_t features = from_le32(frame->connect->features);
    bool wanted = frame->type == FRAME_ACCEPT || core->options.authenticate ||
                  (features & FRAME_FEATURE_SEAL_WANTED) != 0;
    uint8_t nonce[FRAME_NONCE_BYTES];

    core_end_seals(peer); /* somebody may have asked in its name before */
    if (!core_may_seal(core, features)) {
        return -EPROTONOSUPPORT;
    }
    if ((features & FRAME_FEATURE_SEAL) == 0 || !wanted) {
        return 0;
    }
    peer->seal = malloc(sizeof *peer->seal);
    if (peer->seal == NULL) {
        return -ENOMEM;
    }
    proof_nonce(core->proof_key, peer->connection.own_key, nonce);
    seal_begin(peer->seal,
               &(struct seal_end){.secret = address_layout(&core->options.address)->secret,
                                  .nonce = nonce},
               &(struct seal_end){.secret = address_layout(&peer->address)->secret,
                                  .nonce = peer->connection.peer_nonce});
    leave_out_cutting_lanes(core, peer);
    return 0;
}

void core_end_seals(struct core_peer *peer)
{
    if (peer->seal != NULL) {
        seal_end(peer->seal);
        free(peer->seal);
        peer->seal = NULL;
    }
}

/** Makes of a frame what goes out in its stead: its head is copied, and what follows stays where it
 *  is. */
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
        /* Ethernet would pad it, and the receiver could not tell with what. */
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

unsigned core_send_sealed(struct core *core, struct core_peer *peer, unsigned by,
                          const struct lane_outgoing *frames, unsigned count)
{
    struct lane *lane = core->options.lanes.lanes[by];
    struct sealed_head heads[FLOW_BATCH_FRAMES];
    struct lane_outgoing sealed[FLOW_BATCH_FRAMES];

    if (lane->is_certain || count == 0 || frame_is_never_sealed(frame_type_of(frames->head))) {
        return lane->operations->send(lane, &peer->paths.to[by], frames, count);
    }
    count = count < FLOW_BATCH_FRAMES ? count : FLOW_BATCH_FRAMES;
    for (unsigned i = 0; i < count; i++) {
        sealed[i] = seal_frame(peer->seal, &frames[i], &heads[i]);
    }
    trace_here(core->trace, TRACE_SEALED, count);
    return lane->operations->send(lane, &peer->paths.to[by], sealed, count);
}

bool core_seal_is_right(struct core_peer *peer, const struct frame *frame, const struct lane *lane)
{
    if (lane->is_certain || frame_is_never_sealed(frame->type)) {
        return frame->seal == NULL;
    }
    if (peer->seal == NULL) {
        return peer->connection.state == CONNECTION_FAILED; /* it is told so */
    }
    return frame->seal != NULL && seal_is_right(peer->seal, frame);
}
