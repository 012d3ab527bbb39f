/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include "endpoint/address.h"
#include "endpoint/control.h"

#include <errno.h>
#include <stdlib.h>

int core_open(struct core *core, const struct core_options *options)
{
    *core = (struct core){.options = *options, .deadline_ns = UINT64_MAX};
    const struct address_layout *layout = address_layout(&core->options.address);
    core->incarnation = from_le64(layout->incarnation);
    core->endpoint = from_le16(layout->endpoint);

    int status = message_open(&core->messages, options->operations, options->peers,
                              options->lane->frame_bytes);
    if (status != 0) {
        return status;
    }
    core->peers = calloc(options->peers, sizeof(struct core_peer *));
    core->touched = calloc(options->peers, sizeof *core->touched);
    if (core->peers == NULL || core->touched == NULL ||
        map_open(&core->by_key, options->peers) != 0 ||
        map_open(&core->by_incarnation, options->peers) != 0) {
        core_close(core);
        return -ENOMEM;
    }
    return 0;
}

void core_close(struct core *core)
{
    for (uint32_t i = 0; core->peers != NULL && i < core->peer_count; i++) {
        free(core->peers[i]);
    }
    free(core->peers);
    free(core->touched);
    map_close(&core->by_key);
    map_close(&core->by_incarnation);
    message_close(&core->messages);
    core->peers = NULL;
    core->touched = NULL;
    core->peer_count = 0;
}

static uint32_t new_key(struct core *core)
{
    uint32_t key = 0;

    while (key == 0 || map_find(&core->by_key, key) != MAP_NONE) {
        key = (uint32_t)core->options.random(core->options.random_context);
    }
    return key;
}

int core_peer_add(struct core *core, const struct beowire_address *address, struct core_peer **peer)
{
    const struct address_layout *layout = address_layout(address);

    if (!address_is_valid(address) ||
        from_le16(layout->ethertype) !=
            from_le16(address_layout(&core->options.address)->ethertype)) {
        return -EINVAL;
    }
    uint64_t incarnation = from_le64(layout->incarnation);
    uint32_t known = map_find(&core->by_incarnation, incarnation);
    if (known != MAP_NONE) {
        *peer = core->peers[known];
        return memcmp(&(*peer)->address, address, sizeof *address) == 0 ? 0 : -EINVAL;
    }
    if (core->peer_count == core->options.peers) {
        return -ENOSPC;
    }
    struct core_peer *added = calloc(1, sizeof *added);
    if (added == NULL) {
        return -ENOMEM;
    }
    uint32_t index = core->peer_count++;
    message_peer_init(&added->message, index);
    connection_init(&added->connection, new_key(core));
    added->message.destination = from_le16(layout->endpoint);
    added->message.source = core->endpoint;
    added->address = *address;
    added->incarnation = incarnation;
    memcpy(added->where.bytes, layout->mac, sizeof layout->mac);
    core->peers[index] = added;
    map_add(&core->by_incarnation, incarnation, index);
    map_add(&core->by_key, added->connection.own_key, index);
    *peer = added;
    return 0;
}

/* ---- frames out ---------------------------------------------------------------------------- */

struct wire_context {
    struct core *core;
    struct core_peer *peer;
};

static unsigned wire_send(void *context, struct flow_frame *const *frames, unsigned count)
{
    const struct wire_context *wire = context;
    struct lane *lane = wire->core->options.lane;
    struct lane_outgoing outgoing[FLOW_BATCH_FRAMES];

    for (unsigned i = 0; i < count; i++) {
        outgoing[i] = (struct lane_outgoing){
            .head = frames[i]->head,
            .head_bytes = frames[i]->head_bytes,
            .payload = frames[i]->payload,
            .payload_bytes = frames[i]->payload_bytes,
        };
    }
    return lane->operations->send(lane, &wire->peer->where, outgoing, count);
}

static void wire_released(void *context, struct flow_frame *frame)
{
    const struct wire_context *wire = context;

    message_frame_released(&wire->core->messages, frame);
}

/** Declares `name`, the way out to `peer`, for one call. */
#define WIRE_TO(name, core_, peer_)                                                                \
    struct wire_context name##_context = {.core = (core_), .peer = (peer_)};                       \
    const struct flow_wire name = {                                                                \
        .send = wire_send, .released = wire_released, .context = &name##_context}

static void reserve_first_credit(struct core *core, struct core_peer *peer)
{
    if (!peer->credit_reserved) {
        peer->first_credit = message_initial_credit(&core->messages, &peer->message);
        peer->credit_reserved = true;
    }
}

static void fail_peer(struct core *core, struct core_peer *peer, int error)
{
    WIRE_TO(wire, core, peer);

    (void)connection_fail(&peer->connection, error);
    core->counters.peers_failed++;
    core->undelivered = core->undelivered || !message_is_flushed(&peer->message);
    if (peer->credit_reserved && !peer->message.ready) {
        message_return_credit(&core->messages, &peer->message, peer->first_credit);
    }
    message_peer_failed(&core->messages, &peer->message, peer->connection.error, &wire);
}

static void note_deadline(struct core *core, uint64_t deadline_ns)
{
    if (deadline_ns < core->deadline_ns) {
        core->deadline_ns = deadline_ns;
    }
}

/** Has the peer owed us an answer for longer than we wait? */
static bool is_dead(const struct core *core, const struct core_peer *peer, uint64_t now_ns)
{
    uint64_t since_ns = 0;

    if (peer->connection.state == CONNECTION_ASKING) {
        since_ns = peer->connection.asking_since_ns;
    } else if (peer->connection.state == CONNECTION_OPEN) {
        since_ns = peer->message.flow.waiting_since_ns;
    }
    return since_ns != 0 && now_ns - since_ns >= core->options.peer_timeout_ns;
}

static void service_connection(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    if (message_has_work(&peer->message)) {
        connection_ask(&peer->connection, now_ns);
    }
    if (connection_ask_due(&peer->connection, now_ns)) {
        reserve_first_credit(core, peer);
        control_send_connect(core, peer, FRAME_CONNECT, 0);
    }
    if (peer->connection.accept_owed) {
        peer->connection.accept_owed = false;
        control_send_connect(core, peer, FRAME_ACCEPT, peer->connection.peer_key);
    }
}

static void service_flow(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    WIRE_TO(wire, core, peer);
    struct flow *flow = &peer->message.flow;

    message_renew_credit(&core->messages, &peer->message);
    message_pump(&core->messages, &peer->message);
    flow_transmit(flow, now_ns, &wire);
    flow_watch(flow, message_depends_on(&peer->message), now_ns);
    unsigned due = flow_due(flow, now_ns);
    if ((due & FLOW_DUE_ACK) != 0) {
        control_send_ack(core, peer, flow_ack_flags(flow, now_ns));
    }
    if ((due & FLOW_DUE_PROBE) != 0) {
        control_send_probe(core, peer);
        flow_timeout(flow, now_ns);
    }
    if (flow->cursor != flow->next && sequence_before(flow->cursor, flow->limit)) {
        note_deadline(core, now_ns); /* the lane was busy: again at the next progress */
    }
    if (message_has_work(&peer->message) && flow_has_room(flow)) {
        note_deadline(core, now_ns + FLOW_RTO_MIN_NS); /* other peers have all the frames */
    }
    note_deadline(core, flow_deadline(flow));
}

void core_service(struct core *core, struct core_peer *peer, uint64_t now_ns)
{
    service_connection(core, peer, now_ns);
    note_deadline(core, connection_deadline(&peer->connection));
    if (peer->message.ready) {
        service_flow(core, peer, now_ns);
    }
}

/* ---- frames in ----------------------------------------------------------------------------- */

static void touch(struct core *core, struct core_peer *peer)
{
    if (!peer->touched) {
        peer->touched = true;
        core->touched[core->touched_count++] = peer->message.index;
    }
}

/** The connection has just opened by `frame` (CONNECT or ACCEPT). */
static void open_peer(struct core *core, struct core_peer *peer, const struct frame *frame)
{
    uint32_t own = core->options.lane->frame_bytes;
    uint32_t theirs = from_le16(frame->connect->frame_bytes);

    reserve_first_credit(core, peer);
    peer->message.key = peer->connection.peer_key;
    peer->message.frame_bytes = own < theirs ? own : theirs;
    message_peer_ready(&core->messages, &peer->message, peer->first_credit, frame->credit);
}

/** Is the sender of this CONNECT or ACCEPT the one whose address is in it? */
static bool body_is_honest(const struct frame *frame, const struct lane_address *from)
{
    const struct address_layout *layout =
        (const struct address_layout *)(const void *)frame->connect->address;

    return memcmp(layout->mac, from->bytes, sizeof layout->mac) == 0 &&
           from_le16(layout->endpoint) == frame->source &&
           from_le64(layout->incarnation) == from_le64(frame->connect->incarnation) &&
           from_le16(frame->connect->frame_bytes) > FRAME_BYTES_MIN;
}

static void receive_connect(struct core *core, const struct frame *frame,
                            const struct lane_address *from, uint64_t now_ns)
{
    uint64_t meant = from_le64(frame->connect->expected_incarnation);
    struct beowire_address address;
    struct core_peer *peer = NULL;

    if (!body_is_honest(frame, from)) {
        core->counters.dropped_source++;
        return;
    }
    if (meant != 0 && meant != core->incarnation) {
        control_send_reset(core, frame, from, FRAME_RESET_INCARNATION, now_ns);
        return;
    }
    memcpy(address.bytes, frame->connect->address, sizeof address.bytes);
    int status = core_peer_add(core, &address, &peer);
    if (status == -EINVAL) {
        core->counters.dropped_source++;
        return;
    }
    if (status != 0) {
        control_send_reset(core, frame, from, FRAME_RESET_FULL, now_ns);
        return;
    }
    if (connection_receive(&peer->connection, frame) == CONNECTION_OPENED) {
        open_peer(core, peer, frame);
    }
    if (peer->connection.state == CONNECTION_FAILED) {
        control_send_reset(core, frame, from, FRAME_RESET_UNKNOWN, now_ns);
    }
    touch(core, peer);
}

/** RESET carries no key of ours: it is believed if it echoes what only a receiver of our frames
 *  has seen. */
static void receive_reset(struct core *core, const struct frame *frame,
                          const struct lane_address *from)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        if (peer->message.destination == frame->source &&
            memcmp(&peer->where, from, sizeof *from) == 0 &&
            connection_receive(&peer->connection, frame) == CONNECTION_BROKEN) {
            fail_peer(core, peer, peer->connection.error);
            return;
        }
    }
    core->counters.dropped_key++;
}

static void receive_sequenced(struct core *core, struct core_peer *peer, const struct frame *frame,
                              const struct lane_address *from, uint64_t now_ns)
{
    struct message_peer *message = &peer->message;

    switch (flow_check(&message->flow, frame, now_ns)) {
    case FLOW_NEXT:
        if (message_frame(&core->messages, message, frame) != 0) {
            control_send_reset(core, frame, from, FRAME_RESET_PROTOCOL, now_ns);
            fail_peer(core, peer, -EPROTO);
            return;
        }
        flow_accept(&message->flow, frame, now_ns);
        message_frame_accepted(&core->messages, message);
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

/** A frame of an open connection. */
static void receive_open(struct core *core, struct core_peer *peer, const struct frame *frame,
                         const struct lane_address *from, uint64_t now_ns)
{
    WIRE_TO(wire, core, peer);

    if (!flow_acknowledged(&peer->message.flow, frame, now_ns, &wire)) {
        core->counters.dropped_acknowledgement++;
        return;
    }
    if (frame->type >= FRAME_SEQUENCED) {
        receive_sequenced(core, peer, frame, from, now_ns);
    } else if (frame->type == FRAME_PROBE) {
        flow_probed(&peer->message.flow, frame);
    } else if (frame->type == FRAME_CLOSE &&
               connection_receive(&peer->connection, frame) == CONNECTION_BROKEN) {
        fail_peer(core, peer, peer->connection.error);
    }
}

static void receive_from_peer(struct core *core, struct core_peer *peer, const struct frame *frame,
                              const struct lane_address *from, uint64_t now_ns)
{
    if (peer->message.destination != frame->source ||
        memcmp(&peer->where, from, sizeof *from) != 0) {
        core->counters.dropped_source++;
        return;
    }
    if (frame->type == FRAME_ACCEPT) {
        if (!body_is_honest(frame, from) ||
            from_le64(frame->connect->incarnation) != peer->incarnation) {
            core->counters.dropped_source++;
        } else if (connection_receive(&peer->connection, frame) == CONNECTION_OPENED) {
            open_peer(core, peer, frame);
        }
    } else if (peer->connection.state == CONNECTION_OPEN) {
        receive_open(core, peer, frame, from, now_ns);
    } else {
        core->counters.dropped_state++;
        if (peer->connection.state == CONNECTION_FAILED && frame->type != FRAME_CLOSE) {
            control_send_reset(core, frame, from, FRAME_RESET_UNKNOWN, now_ns);
        }
    }
    touch(core, peer);
}

static void receive_frame(struct core *core, const struct lane_incoming *incoming, uint64_t now_ns)
{
    struct frame frame;
    enum frame_verdict verdict = frame_decode(incoming->data, incoming->bytes, &frame);

    if (incoming->bytes > core->options.lane->frame_bytes) {
        verdict = FRAME_BAD_LENGTH; /* longer than we said, and than a chunk has room for */
    }
    if (verdict != FRAME_OK) {
        core->counters.dropped[verdict]++;
        return;
    }
    if (frame.type == FRAME_CONNECT) {
        receive_connect(core, &frame, &incoming->from, now_ns);
        return;
    }
    if (frame.type == FRAME_RESET) {
        receive_reset(core, &frame, &incoming->from);
        return;
    }
    uint32_t index = map_find(&core->by_key, frame.key);
    if (index == MAP_NONE) {
        core->counters.dropped_key++;
        if (frame.type != FRAME_CLOSE) {
            control_send_reset(core, &frame, &incoming->from, FRAME_RESET_UNKNOWN, now_ns);
        }
        return;
    }
    receive_from_peer(core, core->peers[index], &frame, &incoming->from, now_ns);
}

unsigned core_receive(struct core *core, uint64_t (*clock_ns)(void *), void *clock)
{
    struct lane_incoming incoming[ENDPOINT_RECEIVE_FRAMES];
    struct lane *lane = core->options.lane;
    unsigned count = lane->operations->receive(lane, incoming, ENDPOINT_RECEIVE_FRAMES);

    if (count == 0) {
        return 0;
    }
    uint64_t now_ns = clock_ns(clock);
    for (unsigned i = 0; i < count; i++) {
        receive_frame(core, &incoming[i], now_ns);
    }
    lane->operations->release(lane);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        struct core_peer *peer = core->peers[core->touched[i]];
        peer->touched = false;
        core_service(core, peer, now_ns);
    }
    core->touched_count = 0;
    core_timers(core, now_ns); /* those of other peers, under traffic that never pauses */
    return count;
}

/* ---- time ---------------------------------------------------------------------------------- */

void core_timers(struct core *core, uint64_t now_ns)
{
    if (now_ns < core->deadline_ns) {
        return;
    }
    core->deadline_ns = UINT64_MAX;
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        if (is_dead(core, peer, now_ns)) {
            fail_peer(core, peer, -ETIMEDOUT);
        } else {
            core_service(core, peer, now_ns);
        }
    }
}

bool core_is_flushed(const struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct core_peer *peer = core->peers[i];
        if (peer->connection.state == CONNECTION_FAILED) {
            continue;
        }
        if (!message_is_flushed(&peer->message)) {
            return false;
        }
    }
    return true;
}

void core_acknowledge(struct core *core, uint64_t now_ns)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        struct flow *flow = &peer->message.flow;
        if (peer->message.ready && (flow->unacknowledged > 0 || flow->acknowledge_now)) {
            control_send_ack(core, peer, flow_ack_flags(flow, now_ns));
        }
    }
}

void core_say_goodbye(struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i]->connection.state == CONNECTION_OPEN) {
            control_send_close(core, core->peers[i]);
        }
    }
}
