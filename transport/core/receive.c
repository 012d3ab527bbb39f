/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles received frames: finds their peer, and does what they ask. */
#include "core.h"

#include "core/control.h"
#include "core/core_internal.h"
#include "core/lengths.h"
#include "frame/checksum.h"
#include "message/reorder.h"
#include "peers/peers.h"
#include "route/address.h"
#include "route/proof.h"
#include "route/trace.h"

#include <errno.h>

/* ---- frames in ----------------------------------------------------------------------------- */

/** Marks the peer as to be serviced; if not `patient`, before the application continues. */
static void touch(struct core *core, struct core_peer *peer, bool patient)
{
    core->patient = core->patient && patient;
    core_touch(core, peer);
}

/** The connection has just begun by `frame` (CONNECT or ACCEPT). @return false: it has failed. */
static bool begin_peer(struct core *core, struct core_peer *peer, const struct frame *frame,
                       const struct arrival *from, uint64_t now_ns)
{
    uint32_t features = from_le32(frame->connect->features) & core_features(core);

    peer->route.paths.heard |= (uint16_t)(1u << from->lane_index);
    if (core_is_doubted(peer)) {
        core_trust(core, peer, now_ns);
    }
    peer->begins_anew = false;
    core_reserve_credit(core, peer);
    if (peer->message.key != 0) {
        map_remove(&core->by_peer_key, peer->message.key, peer->message.index);
    }
    peer->message.key = peer->connection.peer_key;
    map_add(&core->by_peer_key, peer->connection.peer_key, peer->message.index);
    int status = core_begin_seals(core, peer, frame);
    if (status != 0) {
        core_fail_peer(core, peer, status);
        return false;
    }
    core_begin_checksums(core, peer, frame);
    peer->message.remote_memory = (features & FRAME_FEATURE_REMOTE) != 0;
    peer->selective = (features & FRAME_FEATURE_SELECTIVE) != 0;
    peer->bears_witness = (features & FRAME_FEATURE_WITNESS) != 0;
    peer->limit = frame->credit;
    lengths_begin(core, peer, frame);
    return true;
}

/** A peer whose CONNECT began the connection has sent a frame with our key, so it has received an
 * ACCEPT. If ACCEPT was sent to one address only, that address is proven. */
static void hear_peer(struct core *core, struct core_peer *peer)
{
    uint16_t answered_by = peer->answered_by;

    peer->confirmed = true;
    core_try_paths(core, peer);
    if (answered_by != 0 && (answered_by & (answered_by - 1)) == 0) {
        core_prove_path(core, peer, (unsigned)__builtin_ctz(answered_by));
    }
}

/** Does this address of the lane belong to the peer? */
static bool is_from(const struct core_peer *peer, const struct arrival *from)
{
    return paths_is_to(&peer->route.paths, from->lane_index, &from->address);
}

/** Is the address in this CONNECT or ACCEPT that of its sender? */
static bool body_is_honest(const struct core *core, const struct frame *frame,
                           const struct arrival *from)
{
    const struct address_layout *layout =
        (const struct address_layout *)(const void *)frame->connect->place;

    return path_leads_to(&core->options.lanes, from->lane_index, layout, &from->address) &&
           from_le16(layout->endpoint) == frame->source &&
           from_le64(layout->incarnation) == from_le64(frame->connect->incarnation);
}

/** Is CONNECT as long as the DATA that it asks for? The answer is as long, and goes to an address
 *  that may be forged. */
static bool is_as_long_as_it_asks(const struct frame *frame, const struct arrival *from)
{
    return from->bytes >= from_le16(frame->connect->frame_bytes);
}

static bool is_of_our_job(const struct core *core, const struct frame *frame)
{
    return from_le64(frame->connect->job_key) == core->options.job_key;
}

/** Answers CONNECT at once, to its source. A CONNECT for shorter frames than the connection has is
 * not answered, because the answer would be longer. */
static void answer_connect(struct core *core, struct core_peer *peer, const struct frame *frame,
                           const struct arrival *from)
{
    const struct lane *lane = core->options.lanes.lanes[from->lane_index];

    core_count_accept(peer);
    if (from_le16(frame->connect->frame_bytes) < peer->data_bytes) {
        return;
    }
    core_allow(peer, from->bytes);
    (void)core_spend(peer, from->bytes); /* ACCEPT is not longer */
    peer->answered_by |= (uint16_t)(1u << from->lane_index);
    control_send_accept(core, peer, from->lane_index, from->bytes + path_below_bytes(lane));
}

/** CONNECT has come over a lane that does not reach its sender. If this is shared memory, its
 * sender is told that no memory is shared. */
static void drop_from_elsewhere(struct core *core, const struct arrival *from)
{
    struct lane *lane = core->options.lanes.lanes[from->lane_index];

    core->counters.dropped_source++;
    if (lane->shares_memory && lane->operations->leave != NULL) {
        lane->operations->leave(lane, &from->address);
    }
}

/** Has the connection just begun by this CONNECT, or begun again after one over shared memory? */
static bool is_begun(struct core_peer *peer, const struct frame *frame, uint64_t now_ns)
{
    return connection_receive(&peer->connection, frame, now_ns) == CONNECTION_BEGUN ||
           (peer->begins_anew && peer->connection.state == CONNECTION_ANSWERED &&
            peer->connection.peer_key == from_le32(frame->connect->key));
}

/** Handles CONNECT. Without a valid proof it is not answered and changes nothing. */
static void receive_connect(struct core *core, const struct frame *frame,
                            const struct arrival *from, uint64_t now_ns)
{
    const struct address_layout *own = address_layout(&core->options.address);
    struct core_peer *peer = NULL;

    if (!body_is_honest(core, frame, from) || !is_as_long_as_it_asks(frame, from)) {
        drop_from_elsewhere(core, from);
        return;
    }
    if (!proof_is_right(frame, own->secret, NULL) ||
        from_le64(frame->connect->expected_incarnation) != core->incarnation) {
        core->counters.dropped_proof++;
        return;
    }
    if (!is_of_our_job(core, frame)) {
        control_send_reset(core, frame, from, FRAME_RESET_JOB, now_ns);
        return;
    }
    if (!core_may_seal(core, from_le32(frame->connect->features))) {
        control_send_reset(core, frame, from, FRAME_RESET_SEAL, now_ns);
        return;
    }
    int status = core_peer_meet(core, frame->connect->place, from->lane_index, &peer);
    if (status == 0 && !core->options.lanes.lanes[from->lane_index]->shares_memory) {
        (void)core_leave_memory(core, peer, now_ns); /* as the peer has done */
    }
    if (status == -EINVAL || status == -EHOSTUNREACH || (status == 0 && !is_from(peer, from))) {
        drop_from_elsewhere(core, from);
        return;
    }
    if (status != 0) {
        control_send_reset(core, frame, from, FRAME_RESET_FULL, now_ns);
        return;
    }
    if (is_begun(peer, frame, now_ns) && begin_peer(core, peer, frame, from, now_ns)) {
        /* It is answered below. */
    } else if (peer->connection.state == CONNECTION_FAILED) {
        control_send_reset(core, frame, from, FRAME_RESET_UNKNOWN, now_ns);
        return;
    } else if (peer->connection.peer_key == from_le32(frame->connect->key)) {
        lengths_shorten(core, peer, frame);
    } else {
        /* This CONNECT, or the one before, is not from the peer. */
        (void)core_ask_who_it_is(core, peer, now_ns);
        return;
    }
    answer_connect(core, peer, frame, from);
    touch(core, peer, false);
}

/** The peer has violated the protocol. */
static void break_off(struct core *core, struct core_peer *peer, const struct frame *frame,
                      const struct arrival *from, uint64_t now_ns)
{
    control_send_reset(core, frame, from, FRAME_RESET_PROTOCOL, now_ns);
    core_fail_peer(core, peer, -EPROTO);
}

/** Handles the next frame in order. @return false: it violates the protocol, and the peer has
 * failed.
 */
static bool accept_frame(struct core *core, struct core_peer *peer, const struct frame *frame,
                         const struct arrival *from, uint64_t now_ns)
{
    struct message_peer *message = &peer->message;

    if (message_frame(&core->messages, message, frame) != 0) {
        break_off(core, peer, frame, from, now_ns);
        return false;
    }
    trace_here(core->routes.trace, TRACE_MATCHED, frame->type);
    bool reserved = sequence_before(frame->sequence, message->flow.granted);
    flow_accept(&message->flow, frame, now_ns);
    message_frame_accepted(&core->messages, message, reserved);
    trace_here(core->routes.trace, TRACE_ACCEPTED, frame->type);
    return true;
}

/** A gap has been filled: handles the frames kept after it. */
static void accept_kept(struct core *core, struct core_peer *peer, const struct arrival *from,
                        uint64_t now_ns)
{
    struct frame frame;
    struct chunk *chunk = NULL;

    while ((chunk = reorder_take(&peer->message, &frame)) != NULL) {
        (void)accept_frame(core, peer, &frame, from, now_ns); /* after a failure nothing is kept */
        reorder_release(&core->messages, chunk);
    }
}

static void receive_sequenced(struct core *core, struct core_peer *peer, const struct frame *frame,
                              const struct arrival *from, uint64_t now_ns)
{
    struct message_peer *message = &peer->message;

    switch (flow_check(&message->flow, frame, now_ns)) {
    case FLOW_NEXT:
        if (accept_frame(core, peer, frame, from, now_ns) && reorder_has_kept(message)) {
            accept_kept(core, peer, from, now_ns);
        }
        return;
    case FLOW_KEEP:
        if (!reorder_has_kept(message)) {
            core_look_at_all(core); /* the frames that it has overtaken may be on a quiet lane */
        }
        reorder_keep(&core->messages, message, frame);
        return;
    case FLOW_DUPLICATE:
        core->counters.dropped_duplicate++;
        return;
    case FLOW_GAP:
        core->counters.dropped_gap++;
        return;
    case FLOW_OVERRUN:
        core->counters.dropped_overrun++;
        return;
    }
}

/** Answers a CLOSE that asks for an answer by one that does not. This carries our last
 *  acknowledgement, and the peer need not repeat its own CLOSE. */
static void answer_close(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    if (frame->type == FRAME_CLOSE && (frame->flags & FRAME_ACK_REQUEST) != 0) {
        control_send_close(core, peer, false);
    }
}

/** Is this the first PROBE with its number? */
static bool asks_here(const struct core_peer *peer, const struct frame *frame)
{
    return frame->type == FRAME_PROBE &&
           sequence_before(peer->message.flow.probe_seen, from_le32(frame->probe->number));
}

/** The peer asks over another lane, and nothing comes over ours: it has found that ours fails, in
 * one direction at least, which we may not have noticed. */
static void follow_peer(struct core *core, struct core_peer *peer, const struct frame *frame,
                        unsigned lane_index, uint64_t now_ns)
{
    if (lane_index == peer->route.paths.fast) {
        peer->asked_elsewhere = 0;
    } else if (asks_here(peer, frame) && paths_is_for_all(&core->options.lanes, lane_index) &&
               ++peer->asked_elsewhere >= PATH_PATIENCE_PROBES &&
               paths_is_usable(&peer->route.paths, &core->options.lanes, lane_index)) {
        peer->asked_elsewhere = 0;
        peer->followed = true;
        core_use_path(core, peer, lane_index, now_ns);
    }
}

/** Can the answer to this frame wait until the application has its message? */
static bool is_patient(const struct core_peer *peer, const struct frame *frame)
{
    return (frame->type == FRAME_EAGER || frame->type == FRAME_FRAGMENT ||
            frame->type == FRAME_BUNDLE) &&
           !peer->message.flow.acknowledge_now && !flow_has_gap(&peer->message.flow) &&
           !message_has_work(&peer->message);
}

/** Does the peer answer over another lane what was not answered over ours? Silence alone does not
 * prove that a lane fails: a stopped process is silent on all lanes, and answers on ours first when
 * it continues. */
static bool answers_elsewhere(const struct core *core, const struct core_peer *peer,
                              unsigned lane_index, unsigned questions, unsigned patience)
{
    return lane_index != peer->route.paths.fast && questions > patience &&
           paths_is_for_all(&core->options.lanes, lane_index) &&
           paths_is_usable(&peer->route.paths, &core->options.lanes, lane_index);
}

/** Answers a challenge, over the lane on which it came if that takes answers. */
static void answer_challenge(struct core *core, struct core_peer *peer, const struct frame *frame,
                             unsigned lane_index)
{
    unsigned back =
        core->options.lanes.lanes[lane_index]->cuts ? peer->route.paths.fast : lane_index;

    control_send_response(core, peer, back, from_le64(frame->challenge->number));
}

static void receive_response(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    uint64_t number = from_le64(frame->challenge->number);

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        if (paths_reaches(&peer->route.paths, i) && !paths_has_proven(&peer->route.paths, i) &&
            proof_challenge(core->proof_key, peer->connection.own_key, i) == number) {
            core_prove_path(core, peer, i);
        }
    }
}

/** Handles a frame of an open connection while no path to the peer is proven. */
static void receive_early(struct core *core, struct core_peer *peer, const struct frame *frame,
                          unsigned lane_index)
{
    if (frame->type == FRAME_CHALLENGE) {
        answer_challenge(core, peer, frame, lane_index);
    } else if (frame->type == FRAME_RESPONSE) {
        receive_response(core, peer, frame);
    } else if (frame->type == FRAME_CLOSE &&
               connection_receive(&peer->connection, frame, 0) == CONNECTION_BROKEN) {
        core_fail_peer(core, peer, peer->connection.error);
    } else {
        core->counters.dropped_state++; /* it will be repeated */
    }
}

/** The peer's application receives no more, and all its answers have come. */
static void notice_leaving(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    struct message_peer *message = &peer->message;

    if (frame->type < FRAME_SEQUENCED && message->send_error == 0 &&
        frame->sequence == message->flow.expected) {
        bool any = message_peer_leaves(&core->messages, message);
        core->undelivered = core->undelivered || any;
    }
}

/** Notes over which lanes the latest PROBE has come: its sender may receive nothing over others. */
static void receive_probe(struct core *core, struct core_peer *peer, const struct frame *frame,
                          unsigned lane_index)
{
    uint32_t latest = peer->message.flow.probe_seen;
    bool asks_anew = asks_here(peer, frame);

    peer->asked_by = asks_anew ? 0 : peer->asked_by;
    if ((asks_anew || from_le32(frame->probe->number) == latest) &&
        paths_is_for_all(&core->options.lanes, lane_index)) {
        peer->asked_by |= (uint16_t)(1u << lane_index);
    }
    flow_probed(&peer->message.flow, frame);
    if (asks_anew) {
        message_starving(&core->messages, &peer->message);
    }
    core->probed = true;
}

/** Handles a frame of an open connection. */
static void receive_open(struct core *core, struct core_peer *peer, const struct frame *frame,
                         const struct arrival *from, uint64_t now_ns)
{
    if (frame->tacit) {
        flow_heard(&peer->message.flow);
    } else if (!flow_acknowledged(&peer->message.flow, &peer->route, frame, now_ns)) {
        core->counters.dropped_acknowledgement++;
        return;
    }
    message_take_released(&core->messages, &peer->message);
    trace_here(core->routes.trace, TRACE_ACKNOWLEDGED, frame->type);
    peer->confirmed = true;
    if (core_is_doubted(peer)) {
        core_trust(core, peer, now_ns);
    }
    if (__builtin_expect((frame->flags & FRAME_LEAVING) != 0, 0)) {
        notice_leaving(core, peer, frame);
    }
    if (frame->type >= FRAME_SEQUENCED) {
        receive_sequenced(core, peer, frame, from, now_ns);
    } else if (frame->type == FRAME_DATA || frame->type == FRAME_PULL) {
        if (core_receive_bulk(core, peer, frame, from->lane_index, now_ns) != 0) {
            break_off(core, peer, frame, from, now_ns);
        }
    } else if (frame->type == FRAME_PROBE) {
        receive_probe(core, peer, frame, from->lane_index);
    } else if (frame->type == FRAME_CHALLENGE) {
        answer_challenge(core, peer, frame, from->lane_index);
    } else if (frame->type == FRAME_RESPONSE) {
        receive_response(core, peer, frame);
    } else if (frame->type == FRAME_CLOSE &&
               connection_receive(&peer->connection, frame, 0) == CONNECTION_BROKEN) {
        answer_close(core, peer, frame);
        core_fail_peer(core, peer, peer->connection.error);
    }
}

/** Handles ACCEPT, which also proves the peer's identity and its address. */
static void receive_accept(struct core *core, struct core_peer *peer, const struct frame *frame,
                           const struct arrival *from, uint64_t now_ns)
{
    struct connection *connection = &peer->connection;
    uint8_t nonce[FRAME_NONCE_BYTES];

    if (!body_is_honest(core, frame, from) || !is_of_our_job(core, frame) ||
        from_le64(frame->connect->incarnation) != peer->incarnation) {
        core->counters.dropped_source++;
        return;
    }
    proof_nonce(core->proof_key, connection->own_key, nonce);
    if (from_le32(frame->connect->echoed_key) != connection->own_key ||
        !proof_is_right(frame, address_layout(&peer->address)->secret, nonce)) {
        core->counters.dropped_proof++;
        return;
    }
    if (connection_receive(connection, frame, now_ns) == CONNECTION_BEGUN) {
        if (!begin_peer(core, peer, frame, from, now_ns)) {
            return;
        }
        core_try_paths(core, peer);
        core_prove_path(core, peer, from->lane_index);
        peer->message.flow.acknowledge_now = true; /* the peer sends nothing before it hears us */
    } else if (connection->peer_key != from_le32(frame->connect->key) ||
               connection->state == CONNECTION_FAILED) {
        return;
    } else if (connection_heard(connection)) {
        if (peer->begins_anew && !begin_peer(core, peer, frame, from, now_ns)) {
            return;
        }
        hear_peer(core, peer);
    }
    core_prove_path(core, peer, from->lane_index);
    lengths_shorten(core, peer, frame);
}

static void receive_from_peer(struct core *core, struct core_peer *peer, const struct frame *frame,
                              const struct arrival *from, uint64_t now_ns)
{
    if (peer->message.destination != frame->source || !is_from(peer, from)) {
        core->counters.dropped_source++;
        return;
    }
    if (frame->type == FRAME_ACCEPT) {
        receive_accept(core, peer, frame, from, now_ns);
    } else if (peer->connection.state == CONNECTION_OPEN ||
               peer->connection.state == CONNECTION_ANSWERED) {
        peer->heard_ns = now_ns;
        peer->route.paths.heard |= (uint16_t)(1u << from->lane_index);
        core_allow(peer, from->bytes);
        if (connection_heard(&peer->connection)) {
            hear_peer(core, peer);
        }
        if (!peer->message.ready) {
            receive_early(core, peer, frame, from->lane_index);
            touch(core, peer, false);
            return;
        }
        if (answers_elsewhere(core, peer, from->lane_index, peer->message.flow.unanswered,
                              PATH_PATIENCE_PROBES)) {
            core_use_path(core, peer, from->lane_index, now_ns);
        } else if (paths_is_for_all(&core->options.lanes, from->lane_index) &&
                   paths_may_return(&peer->route.paths, from->lane_index, now_ns)) {
            core_return_to_path(core, peer, now_ns);
        }
        follow_peer(core, peer, frame, from->lane_index, now_ns);
        receive_open(core, peer, frame, from, now_ns);
    } else {
        bool failed = peer->connection.state == CONNECTION_FAILED;
        core->counters.dropped_state += !failed || frame->type != FRAME_CLOSE;
        if (failed && peer->message.key != 0) {
            answer_close(core, peer, frame); /* our answer to an earlier one was lost */
        }
        if (failed && frame->type != FRAME_CLOSE) {
            control_send_reset(core, frame, from, FRAME_RESET_UNKNOWN, now_ns);
        }
    }
    touch(core, peer, is_patient(peer, frame));
}

/** May a frame like this come over a lane with segmentation offload? A probe may follow the frames
 *  that it asks about. */
static bool is_of_cut_lane(const struct frame *frame, bool joined)
{
    return joined ? frame->type == FRAME_DATA
                  : frame->type >= FRAME_SEQUENCED || frame->type == FRAME_PROBE ||
                        frame->type == FRAME_CHALLENGE;
}

struct core_peer *core_receive_frame(struct core *core, unsigned lane_index,
                                     const struct lane_incoming *incoming, uint64_t now_ns)
{
    const struct lane *lane = core->options.lanes.lanes[lane_index];
    const struct arrival from = {
        .lane_index = lane_index, .bytes = incoming->bytes, .address = incoming->from};
    struct frame frame;

    if (__builtin_expect(lane->cuts && incoming->damaged, 0)) {
        core_note_damage(core, &from);
        return NULL;
    }
    enum frame_verdict verdict = frame_decode(incoming->data, incoming->bytes, &frame);
    bool joined = lane->cuts && incoming->segment_bytes > 0;

    if (!joined && incoming->bytes > lane->frame_bytes) {
        verdict = FRAME_BAD_LENGTH; /* longer than we announced, and than a chunk */
    }
    if (verdict == FRAME_OK && lane->cuts && !is_of_cut_lane(&frame, joined)) {
        verdict = FRAME_BAD_TYPE;
    }
    if (verdict != FRAME_OK) {
        core->counters.dropped[verdict]++;
        return NULL;
    }
    if (incoming->payload != NULL) {
        frame.payload = incoming->payload;
    }
    if (frame.checksum != NULL && !checksum_is_right(incoming->data, &frame)) {
        core_note_damage(core, &from);
        return NULL;
    }
    core->counters.received[frame.type] +=
        joined ? lane_segments(frame.payload_bytes, incoming->segment_bytes) : 1;
    trace_here(core->routes.trace, TRACE_SEEN, frame.type);
    frame.tacit = frame.tacit || (lane->cuts && incoming->tacit);
    if (frame.type == FRAME_CONNECT) {
        receive_connect(core, &frame, &from, now_ns);
        return NULL;
    }
    if (frame.type == FRAME_RESET) {
        core_receive_reset(core, &frame, &from, now_ns);
        return NULL;
    }
    uint32_t index = map_find(&core->by_key, frame.key);
    if (index == MAP_NONE) {
        core->counters.dropped_key++;
        /* A tacit frame names no sender. */
        if (frame.type != FRAME_CLOSE && !frame.tacit) {
            control_send_reset(core, &frame, &from, FRAME_RESET_UNKNOWN, now_ns);
        }
        return NULL;
    }
    struct core_peer *peer = core->peers[index];
    if (__builtin_expect(core_lacks_checksum(peer, &frame, lane), 0)) {
        core_note_damage(core, &from);
        return NULL;
    }
    if (__builtin_expect(peer->route.seal != NULL || frame.seal != NULL, 0) &&
        !core_seal_is_right(peer, &frame, lane)) {
        core->counters.dropped_seal++;
        return NULL;
    }
    if (frame.tacit) {
        frame.source = peer->message.destination; /* known by the frame's key */
    }
    receive_from_peer(core, peer, &frame, &from, now_ns);
    return frame.type >= FRAME_SEQUENCED && peer->touched ? peer : NULL;
}
