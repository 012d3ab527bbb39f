/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include "core/core_internal.h"
#include "frame/checksum.h"
#include "route/address.h"
#include "route/proof.h"

/** A frame on the stack, with the headroom that the lane needs. */
struct control_frame {
    _Alignas(8) uint8_t room[LANE_HEADROOM + FRAME_HEAD_BYTES_MAX];
};

static uint8_t *head_of(struct control_frame *frame)
{
    return frame->room + LANE_HEADROOM;
}

static void *body_of(struct control_frame *frame)
{
    return head_of(frame) + sizeof(struct frame_header);
}

static struct lane_outgoing outgoing_of(struct control_frame *frame, enum frame_type type)
{
    return (struct lane_outgoing){
        .head = head_of(frame),
        .head_bytes = (uint32_t)frame_head_bytes(type),
    };
}

/** @return false: the lane has no room. */
static bool send_frame_by(struct core *core, struct core_peer *peer, unsigned lane_index,
                          struct control_frame *frame, enum frame_type type)
{
    struct lane_outgoing outgoing = outgoing_of(frame, type);

    return core_send(core, peer, lane_index, &outgoing, 1) == 1;
}

static bool send_frame(struct core *core, struct core_peer *peer, struct control_frame *frame,
                       enum frame_type type)
{
    return send_frame_by(core, peer, peer->route.paths.fast, frame, type);
}

static void encode(struct control_frame *frame, const struct core_peer *peer, enum frame_type type,
                   uint32_t key, uint32_t sequence)
{
    *frame = (struct control_frame){0};
    frame_encode(head_of(frame), &(struct frame_fields){
                                     .type = type,
                                     .destination = peer->message.destination,
                                     .source = peer->message.source,
                                     .key = key,
                                     .sequence = sequence,
                                 });
}

/** Features of both ends of an open connection. */
static uint32_t chosen_features(const struct core_peer *peer)
{
    return (peer->selective ? FRAME_FEATURE_SELECTIVE : 0u) |
           (peer->message.remote_memory ? FRAME_FEATURE_REMOTE : 0u) |
           (peer->route.seal != NULL ? FRAME_FEATURE_SEAL : 0u) |
           (peer->route.checked ? FRAME_FEATURE_CHECKSUM : 0u) |
           (peer->bears_witness ? FRAME_FEATURE_WITNESS : 0u);
}

/** Sends a frame padded with zeros.
 *  @param bytes total length, at least the frame's */
static void send_long(struct core *core, struct core_peer *peer, unsigned lane_index,
                      struct control_frame *frame, enum frame_type type, uint32_t bytes)
{
    static const uint8_t zeros[FRAME_BYTES_MAX];
    struct lane_outgoing outgoing = outgoing_of(frame, type);

    outgoing.payload = zeros;
    outgoing.payload_bytes = bytes - outgoing.head_bytes;
    (void)core_send(core, peer, lane_index, &outgoing, 1);
}

/** @param data_bytes longest DATA of the connection
 *  @param bytes length of this frame, padding included */
static void send_offer(struct core *core, struct core_peer *peer, enum frame_type type,
                       unsigned lane_index, uint32_t data_bytes, uint32_t bytes)
{
    bool accepts = type == FRAME_ACCEPT;
    uint32_t echoed_key = accepts ? peer->connection.peer_key : 0;
    const struct address_layout *asked =
        address_layout(accepts ? &core->options.address : &peer->address);
    struct control_frame frame;
    struct frame_connect *body = body_of(&frame);

    encode(&frame, peer, type, echoed_key, 0);
    *body = (struct frame_connect){
        .incarnation = to_le64(core->incarnation),
        .expected_incarnation = to_le64(peer->incarnation),
        .key = to_le32(peer->connection.own_key),
        .echoed_key = to_le32(echoed_key),
        .features = to_le32(accepts ? chosen_features(peer) : core_features(core)),
        .frame_bytes = to_le16((uint16_t)data_bytes),
        .job_key = to_le64(core->options.job_key),
    };
    proof_nonce(core->proof_key, peer->connection.own_key, body->nonce);
    memcpy(body->place, core->options.address.bytes, sizeof body->place);
    frame_stamp(head_of(&frame), 0, 0, (uint16_t)peer->first_credit);
    proof_write(head_of(&frame), asked->secret, accepts ? peer->connection.peer_nonce : NULL);
    send_long(core, peer, lane_index, &frame, type, bytes);
}

void control_send_connect(struct core *core, struct core_peer *peer, unsigned lane_index,
                          uint32_t mtu)
{
    const struct path_lanes *lanes = &core->options.lanes;

    send_offer(core, peer, FRAME_CONNECT, lane_index,
               paths_data_bytes(&peer->route.paths, lanes, mtu),
               path_carries(lanes->lanes[lane_index], mtu));
}

/** Length of a frame over this lane that is as long as the longest of the connection on any lane,
 * but at most `most` on the wire. */
static uint32_t agreed_bytes(const struct core *core, const struct core_peer *peer,
                             unsigned lane_index, uint32_t most)
{
    const struct path_lanes *lanes = &core->options.lanes;
    const struct lane *lane = lanes->lanes[lane_index];
    uint32_t wire_bytes =
        paths_wire_bytes(&peer->route.paths, lanes, peer->data_bytes, peer->frame_bytes);

    wire_bytes = wire_bytes < most ? wire_bytes : most;
    uint32_t bytes = wire_bytes - path_below_bytes(lane);
    return bytes < lane->frame_bytes ? bytes : lane->frame_bytes;
}

void control_send_accept(struct core *core, struct core_peer *peer, unsigned lane_index,
                         uint32_t asked_bytes)
{
    send_offer(core, peer, FRAME_ACCEPT, lane_index, peer->data_bytes,
               agreed_bytes(core, peer, lane_index, asked_bytes));
}

/** Begins a frame of an open connection. */
static void begin(struct control_frame *frame, const struct core_peer *peer, enum frame_type type)
{
    encode(frame, peer, type, peer->message.key, peer->message.flow.highest);
}

void control_send_challenge(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    struct control_frame frame;
    struct frame_challenge *body = body_of(&frame);

    begin(&frame, peer, FRAME_CHALLENGE);
    body->number = to_le64(proof_challenge(core->proof_key, peer->connection.own_key, lane_index));
    flow_stamp(&peer->message.flow, head_of(&frame), 0);
    uint32_t bytes = agreed_bytes(core, peer, lane_index, UINT32_MAX);
    if (core_spend(peer, bytes)) {
        send_long(core, peer, lane_index, &frame, FRAME_CHALLENGE,
                  bytes - route_seal_bytes(&peer->route));
    }
}

void control_send_response(struct core *core, struct core_peer *peer, unsigned lane_index,
                           uint64_t number)
{
    struct control_frame frame;
    struct frame_challenge *body = body_of(&frame);

    begin(&frame, peer, FRAME_RESPONSE);
    body->number = to_le64(number);
    flow_stamp(&peer->message.flow, head_of(&frame), 0);
    send_frame_by(core, peer, lane_index, &frame, FRAME_RESPONSE);
}

/** FRAME_LEAVING, for ACK and PROBE, if the application receives no more, and all answers to what
 * it has received are in frames already sent. */
static uint16_t leave_flag(const struct core *core, const struct core_peer *peer)
{
    const struct flow *flow = &peer->message.flow;

    return core->leaving && !message_owes_answers(&peer->message) && flow->highest == flow->next
               ? FRAME_LEAVING
               : 0;
}

void control_send_ack(struct core *core, struct core_peer *peer, unsigned also_by, uint64_t now_ns)
{
    struct flow *flow = &peer->message.flow;
    enum frame_type type = flow_has_gap(flow) ? FRAME_SACK : FRAME_ACK;
    struct control_frame frame;

    begin(&frame, peer, type);
    if (type == FRAME_SACK) {
        flow_stamp_sack(flow, head_of(&frame), body_of(&frame), now_ns);
    } else {
        flow_stamp(flow, head_of(&frame), leave_flag(core, peer));
    }
    bool told = send_frame(core, peer, &frame, type);
    for (; also_by != 0; also_by &= also_by - 1) {
        told |= send_frame_by(core, peer, (unsigned)__builtin_ctz(also_by), &frame, type);
    }
    if (!told) {
        flow_not_told(flow, now_ns);
    }
}

static void send_probe(struct core *core, struct core_peer *peer, unsigned lane_index,
                       uint32_t number)
{
    struct control_frame frame;
    struct frame_probe *body = body_of(&frame);

    begin(&frame, peer, FRAME_PROBE);
    body->number = to_le32(number);
    flow_stamp(&peer->message.flow, head_of(&frame), leave_flag(core, peer));
    send_frame_by(core, peer, lane_index, &frame, FRAME_PROBE);
}

void control_send_probe_by(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    send_probe(core, peer, lane_index, flow_probe_number(&peer->message.flow));
}

void control_repeat_probe_by(struct core *core, struct core_peer *peer, unsigned lane_index)
{
    send_probe(core, peer, lane_index, flow_probe_number(&peer->message.flow) - 1);
}

void control_send_probe(struct core *core, struct core_peer *peer)
{
    control_send_probe_by(core, peer, peer->route.paths.fast);
}

bool control_send_pull(struct core *core, struct core_peer *peer, const struct pull_ask *ask)
{
    const struct lane *lane = core->options.lanes.lanes[ask->lane];
    struct control_frame frame;
    struct frame_pull *body = body_of(&frame);

    encode(&frame, peer, FRAME_PULL, peer->message.key, peer->message.flow.highest);
    flow_stamp(&peer->message.flow, head_of(&frame), 0);
    *body = (struct frame_pull){
        .message = to_le32(ask->message),
        .lane_kind = (uint8_t)lane->kind,
        .lane_rail = lane->rail,
        .more = to_le16((uint16_t)ask->more),
        .offset = to_le64(ask->offset),
        .wanted = to_le64(ask->wanted),
    };
    return send_frame(core, peer, &frame, FRAME_PULL);
}

void control_send_close(struct core *core, struct core_peer *peer, bool asks)
{
    struct control_frame frame;

    begin(&frame, peer, FRAME_CLOSE);
    flow_stamp(&peer->message.flow, head_of(&frame), asks ? FRAME_ACK_REQUEST : 0);
    send_frame(core, peer, &frame, FRAME_CLOSE);
}

/** Where to send the answer to a frame. Lanes that cut carry no answers.
 *  @param key of the frame. @return lane_index is PATH_NONE if there is no path. */
static struct arrival way_back(const struct core *core, const struct arrival *from, uint32_t key)
{
    if (!core->options.lanes.lanes[from->lane_index]->cuts) {
        return *from;
    }
    uint32_t index = map_find(&core->by_key, key);
    const struct paths *paths = index != MAP_NONE ? &core->peers[index]->route.paths : NULL;
    if (paths == NULL || paths->fast == PATH_NONE) {
        return (struct arrival){.lane_index = PATH_NONE};
    }
    return (struct arrival){.lane_index = paths->fast, .address = paths->to[paths->fast]};
}

/** Does the sender of a refused frame support checksums? Its connection may be unknown. */
static bool knows_checksums(const struct core *core, const struct frame *refused)
{
    uint32_t index = map_find(&core->by_key, refused->key);

    return refused->checksum != NULL ||
           (refused->type == FRAME_CONNECT &&
            (from_le32(refused->connect->features) & FRAME_FEATURE_CHECKSUM) != 0) ||
           (index != MAP_NONE && core->peers[index]->route.checked);
}

void control_send_reset(struct core *core, const struct frame *refused, const struct arrival *from,
                        enum frame_reset_reason reason, uint64_t now_ns)
{
    const struct arrival back = way_back(core, from, refused->key);
    uint64_t second = now_ns / 1000000000u;

    if (back.lane_index == PATH_NONE) {
        return;
    }
    if (second != core->reset_second) {
        core->reset_second = second;
        core->resets_this_second = 0;
    }
    if (core->resets_this_second >= ENDPOINT_RESETS_PER_SECOND) {
        core->counters.resets_suppressed++;
        return;
    }
    core->resets_this_second++;

    struct control_frame frame = {0};
    struct frame_reset *body = body_of(&frame);
    uint32_t seen =
        refused->type == FRAME_CONNECT ? from_le32(refused->connect->key) : refused->key;
    frame_encode(head_of(&frame), &(struct frame_fields){
                                      .type = FRAME_RESET,
                                      .destination = refused->source,
                                      .source = core->endpoint,
                                  });
    *body = (struct frame_reset){
        .echoed_key = to_le32(seen),
        .reason = to_le32(reason),
    };
    struct lane *lane = core->options.lanes.lanes[back.lane_index];
    struct lane_outgoing outgoing = outgoing_of(&frame, FRAME_RESET);
    if (lane->needs_checksum && knows_checksums(core, refused)) {
        checksum_write(outgoing.head, outgoing.head_bytes, NULL, 0);
    }
    core->counters.sent[FRAME_RESET] += lane->operations->send(lane, &back.address, &outgoing, 1);
}
