/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes to the wire. */
#include "sim_internal.h"

#include "frame/frame.h"
#include "lane/tso/tso_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct sim_lane *sim_of(struct lane *lane)
{
    return (struct sim_lane *)(void *)lane;
}

/** Locally administered: 02:00:00, the network, and the node's number. */
struct lane_address sim_address(uint32_t node, uint32_t rail)
{
    return (struct lane_address){{2, 0, 0, (uint8_t)rail, (uint8_t)(node >> 8), (uint8_t)node}};
}

/** Bytes of an address that identify the node; if memory is shared, the process follows. */
#define NODE_BYTES 6

uint32_t sim_node_of(const struct sim_wire *wire, const struct lane_address *address)
{
    uint32_t node = (uint32_t)address->bytes[4] << 8 | address->bytes[5];
    const struct lane_address of_node = sim_address(node, address->bytes[3]);

    if (node >= wire->options.nodes || memcmp(&of_node, address, NODE_BYTES) != 0) {
        return UINT32_MAX;
    }
    return node;
}

/** The address of a process if memory is shared; otherwise that of its node. */
static struct lane_address address_of(const struct lane *lane, uint32_t node, uint16_t process)
{
    struct lane_address address = sim_address(node, lane->rail);

    if (lane->shares_memory) {
        memcpy(address.bytes + NODE_BYTES, &process, sizeof process);
    }
    return address;
}

/** Has the process at this address ended? Without shared memory, an address belongs to whichever
 *  process is there. */
static bool has_ended(const struct lane *lane, const struct lane_address *address)
{
    const struct sim_wire *wire = ((const struct sim_lane *)(const void *)lane)->wire;
    uint32_t node = sim_node_of(wire, address);
    uint16_t process;

    memcpy(&process, address->bytes + NODE_BYTES, sizeof process);
    return lane->shares_memory &&
           (node == UINT32_MAX || wire->nodes[node].lanes[lane->rail] == NULL ||
            wire->nodes[node].processes[lane->rail] != process);
}

/** Sends one frame of the wire. */
static void send_frame(struct lane *lane, struct sim_event *event,
                       const struct lane_outgoing *outgoing)
{
    const struct sim_lane *sim = sim_of(lane);
    struct sim_wire *wire = sim->wire;

    event->bytes = outgoing->head_bytes + outgoing->payload_bytes;
    event->head = outgoing->head;
    if (lane->takes_trains && outgoing->shorter_bytes > 0) {
        event->bytes += outgoing->shorter_bytes;
        wire->counters.evened++;
    }
    assert(event->bytes <= lane->frame_bytes);
    /* The lane may write the headroom; this detects layers above that still use it. */
    memset(outgoing->head - LANE_HEADROOM, 0xA5, LANE_HEADROOM);
    sim_note(wire, SIM_SENT, event);
    lane->sent_bytes += event->bytes;
    lane->sent_frames++;
    if (event->to == UINT32_MAX) {
        sim_note(wire, SIM_UNREACHABLE, event);
    } else if (sim_is_cut(wire, sim->node, event->to, lane->rail)) {
        sim_note(wire, SIM_CUT, event);
    } else if (sim_is_too_long(wire, event)) {
        sim_note(wire, SIM_TOO_LONG, event);
    } else if (random_chance(&wire->random, wire->options.lost_ppm)) {
        sim_note(wire, SIM_LOST, event);
    } else {
        bool twice = random_chance(&wire->random, wire->options.doubled_ppm);
        sim_launch(wire, event, outgoing);
        if (twice) {
            sim_note(wire, SIM_DOUBLED, event);
            sim_launch(wire, event, outgoing);
        }
    }
}

/** Cuts data for a lane that cuts, as its card does. */
static void send_segments(struct lane *lane, struct sim_event *event,
                          const struct lane_outgoing *run)
{
    struct {
        uint8_t headroom[LANE_HEADROOM];
        struct frame_data head;
    } one;
    uint32_t step = run->segment_bytes;

    memcpy(&one.head, run->head, sizeof one.head);
    uint32_t first = frame_data_segment(&one.head);
    for (uint32_t at = 0; at < run->payload_bytes; at += step) {
        uint32_t left = run->payload_bytes - at;
        frame_data_set_segment(&one.head, first + at / step);
        send_frame(lane, event,
                   &(struct lane_outgoing){.head = (uint8_t *)&one.head,
                                           .head_bytes = sizeof one.head,
                                           .payload = run->payload + at,
                                           .payload_bytes = left < step ? left : step,
                                           .segment_bytes = step});
    }
}

/** Sends a tacit frame: the other end gets only what its place in the message tells. */
static void send_tacit(struct lane *lane, struct sim_event *event,
                       const struct lane_outgoing *frame)
{
    struct {
        uint8_t headroom[LANE_HEADROOM];
        struct tso_run_head head;
    } one;
    uint32_t copied = frame->head_bytes - (uint32_t)sizeof one.head;

    assert(copied == 0 || frame->payload_bytes == 0);
    memcpy(&one.head, frame->head, sizeof one.head);
    one.head.header.source = to_le16(0);
    one.head.header.acknowledgement = to_le32(0);
    one.head.header.credit = to_le16(0);
    event->tacit = true;
    sim_of(lane)->wire->counters.tacit++;
    send_frame(lane, event,
               &(struct lane_outgoing){
                   .head = (uint8_t *)&one.head,
                   .head_bytes = sizeof one.head,
                   .payload = copied > 0 ? frame->head + sizeof one.head : frame->payload,
                   .payload_bytes = copied > 0 ? copied : frame->payload_bytes,
               });
    event->tacit = false;
}

/** Sends the first of these frames over a lane that cuts, as many as go together. @return their
 *  number. */
static unsigned send_run(struct lane *lane, struct sim_event *event,
                         const struct lane_outgoing *frames, unsigned count)
{
    struct tso_run run;

    tso_run_load(&run, frames, count, TSO_RUN_FRAMES_MAX);
    for (unsigned i = 0; i < run.frames; i++) {
        if (run.kind == TSO_MESSAGE && (i > 0 || run.offset > 0)) {
            send_tacit(lane, event, &frames[i]);
        } else {
            send_frame(lane, event, &frames[i]);
        }
    }
    return run.frames;
}

static unsigned sim_send(struct lane *lane, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count)
{
    const struct sim_lane *sim = sim_of(lane);
    struct sim_wire *wire = sim->wire;
    uint32_t node = has_ended(lane, to) ? UINT32_MAX : sim_node_of(wire, to);
    unsigned taken = 0;

    lane->sent_calls++;
    while (taken < count) {
        const struct lane_outgoing *outgoing = &frames[taken];
        struct sim_event event = {
            .from = sim->node,
            .to = node,
            .rail = lane->rail,
            .bytes = outgoing->head_bytes + outgoing->payload_bytes,
            .head = outgoing->head,
        };
        assert(outgoing->segment_bytes == 0 || lane->cuts);
        if (random_chance(&wire->random, wire->options.refused_ppm)) {
            sim_note(wire, SIM_REFUSED, &event);
            break;
        }
        if (outgoing->segment_bytes > 0) {
            send_segments(lane, &event, outgoing);
            taken++;
        } else if (lane->cuts) {
            taken += send_run(lane, &event, outgoing, count - taken);
        } else {
            send_frame(lane, &event, outgoing);
            taken++;
        }
    }
    lane->refused_frames += count - taken;
    return taken;
}

/** Takes the oldest frame that has arrived. @return NULL: none. */
static struct sim_frame *take_arrived(struct sim_lane *sim)
{
    struct sim_frame *frame = sim->arrived;

    if (frame != NULL) {
        sim->arrived = frame->next;
        sim->waiting--;
        if (sim->arrived == NULL) {
            sim->arrived_end = &sim->arrived;
        }
    }
    return frame;
}

static struct sim_segment segment_of(const struct sim_frame *frame)
{
    return (struct sim_segment){
        .frame = frame->data,
        .bytes = frame->bytes,
        .segment_bytes = frame->segment_bytes,
        .from = sim_address(frame->from, frame->rail),
    };
}

/** Does the checksum of a lane that cuts show that the oldest frame was damaged? */
static bool is_damaged(const struct sim_lane *sim)
{
    return sim->lane.cuts && sim->lane.verify && sim->arrived->damaged;
}

/** Adds the oldest frame that has arrived to the run. @return false: none fits. */
static bool join_arrived(struct sim_lane *sim)
{
    struct sim_wire *wire = sim->wire;

    if (sim->arrived == NULL || sim->arrived->segment_bytes == 0 || is_damaged(sim) ||
        !random_chance(&wire->random, wire->options.joined_ppm)) {
        return false;
    }
    const struct sim_segment next = segment_of(sim->arrived);
    return sim_join_append(&sim->joiner, &next);
}

/** Returns the oldest frame that has arrived. */
static void hand_out(struct sim_lane *sim, struct lane_incoming *incoming)
{
    struct sim_frame *frame = take_arrived(sim);

    frame->next = sim->held;
    sim->held = frame;
    *incoming = (struct lane_incoming){
        .data = frame->data,
        .bytes = frame->bytes,
        .tacit = frame->tacit,
        .from = address_of(&sim->lane, frame->from, frame->process),
    };
    sim->lane.received_bytes += frame->bytes;
    sim->lane.received_frames++;
}

/** Receives over a lane that cuts. */
static unsigned receive_runs(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct sim_lane *sim = sim_of(lane);
    unsigned taken = 0;

    while (taken < count && sim->arrived != NULL) {
        if (is_damaged(sim)) {
            sim_join_damaged(&sim->joiner, sim->arrived->bytes);
            hand_out(sim, &frames[taken]);
            frames[taken++].damaged = true;
            continue;
        }
        if (sim->arrived->segment_bytes == 0) {
            hand_out(sim, &frames[taken++]);
            continue;
        }
        const struct sim_segment first = segment_of(sim->arrived);
        if (!sim_join_begin(&sim->joiner, &first)) {
            break;
        }
        do {
            struct sim_frame *frame = take_arrived(sim);
            lane->received_bytes += frame->bytes;
            sim_give_back(sim->wire, frame);
        } while (join_arrived(sim));
        bool placed;
        uint32_t segments = sim_join_end(&sim->joiner, &frames[taken], &placed);
        lane->received_frames += segments;
        lane->placed_frames += placed ? segments : 0;
        taken++;
    }
    return taken;
}

static unsigned sim_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct sim_lane *sim = sim_of(lane);
    unsigned taken = 0;

    if (lane->cuts) {
        return receive_runs(lane, frames, count);
    }
    while (taken < count && sim->arrived != NULL) {
        hand_out(sim, &frames[taken++]);
    }
    return taken;
}

static void sim_release(struct lane *lane)
{
    struct sim_lane *sim = sim_of(lane);

    sim_give_back_list(sim->wire, sim->held);
    sim->held = NULL;
    sim_join_release(&sim->joiner);
}

static void sim_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    sim_of(lane)->joiner.expectation = *expectation; /* used only by lanes that cut */
}

static void sim_withdraw(struct lane *lane, const struct lane_address *to)
{
    const struct sim_lane *sim = sim_of(lane);
    uint32_t node = sim_node_of(sim->wire, to);

    if (sim->withdrawn != NULL && node != UINT32_MAX) {
        memcpy(&sim->withdrawn[node], to->bytes + NODE_BYTES, sizeof *sim->withdrawn);
    }
}

/** Has the process there withdrawn its memory from us? */
static bool is_withdrawn(const struct sim_lane *sim, const struct lane_address *there)
{
    const struct sim_wire *wire = sim->wire;
    const struct sim_lane *other = wire->nodes[sim_node_of(wire, there)].lanes[sim->lane.rail];

    return other->withdrawn != NULL &&
           other->withdrawn[sim->node] == wire->nodes[sim->node].processes[sim->lane.rail];
}

/** Copies at once, like process_vm_readv(2). */
static int sim_read_memory(struct lane *lane, const struct lane_address *from, uint64_t address,
                           void *target, uint64_t bytes)
{
    struct sim_wire *wire = sim_of(lane)->wire;
    bool refused = random_chance(&wire->random, wire->options.unread_ppm);

    wire->counters.reads++;
    if (refused || has_ended(lane, from) || is_withdrawn(sim_of(lane), from)) {
        wire->counters.unread++;
        return refused ? -EPERM : -ECONNRESET;
    }
    memcpy(target, (const void *)(uintptr_t)address, (size_t)bytes);
    return 0;
}

/** Only processes that are still gone; a successor has another port. */
static bool sim_lost(struct lane *lane, struct lane_loss *loss)
{
    struct sim_lane *sim = sim_of(lane);

    while (sim->lost_count > 0) {
        unsigned last = --sim->lost_count;
        uint32_t node = sim->lost[last].node;
        const struct sim_node *there = &sim->wire->nodes[node];
        if (there->lanes[lane->rail] == NULL) {
            *loss = (struct lane_loss){
                .address = address_of(lane, node, there->processes[lane->rail]),
                .certain = lane->shares_memory,
                .quote_bytes = sim->lost[last].quote_bytes,
            };
            memcpy(loss->quote, sim->lost[last].quote, sizeof loss->quote);
            return true;
        }
    }
    return false;
}

/** A reachable host answers, whatever happens to its processes; with shared memory, each process
 *  answers for itself. */
static enum lane_host sim_ask_host(struct lane *lane, const struct lane_address *to, uint32_t mark,
                                   bool vouch)
{
    const struct sim_lane *sim = sim_of(lane);
    uint32_t node = sim_node_of(sim->wire, to);

    (void)mark;
    (void)vouch;
    return node == UINT32_MAX || has_ended(lane, to) ||
                   sim_is_cut(sim->wire, sim->node, node, lane->rail) ||
                   sim_is_cut(sim->wire, node, sim->node, lane->rail)
               ? LANE_HOST_ASKED
               : LANE_HOST_VOUCHES;
}

static int sim_status(struct lane *lane)
{
    (void)lane;
    return 0;
}

bool sim_has_arrived(const struct lane *lane)
{
    return ((const struct sim_lane *)(const void *)lane)->arrived != NULL;
}

static int sim_descriptor(const struct lane *lane)
{
    (void)lane;
    return -1;
}

/** The host of all processes that share memory. */
#define SHARED_HOST 1

static void sim_publish(const struct lane *lane, struct address_layout *address)
{
    const struct sim_lane *sim = (const struct sim_lane *)(const void *)lane;
    const struct lane_address local = sim_address(sim->node, lane->rail);

    if (lane->shares_memory) {
        address->host = to_le64(SHARED_HOST);
        address->process =
            to_le32(sim->node << 16 | sim->wire->nodes[sim->node].processes[lane->rail]);
        return;
    }
    memcpy(address->rail[lane->rail].mac, local.bytes, sizeof address->rail[lane->rail].mac);
}

static int sim_reach(struct lane *lane, const struct address_layout *address,
                     struct lane_address *to)
{
    static const uint8_t none[6];
    const uint8_t *mac = address->rail[lane->rail].mac;

    if (lane->shares_memory) {
        uint32_t process = from_le32(address->process);
        *to = address_of(lane, process >> 16, (uint16_t)process);
        return from_le64(address->host) == SHARED_HOST ? 0 : -EHOSTUNREACH;
    }
    if (lane->rail >= address->rails || memcmp(mac, none, sizeof none) == 0) {
        return -EHOSTUNREACH;
    }
    *to = (struct lane_address){0};
    memcpy(to->bytes, mac, sizeof none);
    return 0;
}

static void sim_close(struct lane *lane)
{
    struct sim_lane *sim = sim_of(lane);

    sim_give_back_list(sim->wire, sim->arrived);
    sim_give_back_list(sim->wire, sim->held);
    sim->wire->nodes[sim->node].lanes[lane->rail] = NULL;
    sim_join_close(&sim->joiner);
    free(sim->withdrawn);
    free(sim);
}

#define SIM_OPERATIONS                                                                             \
    .publish = sim_publish, .reach = sim_reach, .send = sim_send, .receive = sim_receive,          \
    .release = sim_release, .expect = sim_expect, .read_memory = sim_read_memory,                  \
    .withdraw = sim_withdraw, .status = sim_status, .descriptor = sim_descriptor,                  \
    .close = sim_close

static const struct lane_operations sim_operations = {SIM_OPERATIONS};

/** For lanes that are told when a process has ended. */
static const struct lane_operations sim_told_operations = {SIM_OPERATIONS, .lost = sim_lost,
                                                           .ask_host = sim_ask_host};

int sim_lane_open(struct sim_wire *wire, uint32_t node, uint32_t rail, struct lane **lane)
{
    if (node >= wire->options.nodes || rail >= wire->options.rails) {
        return -EINVAL;
    }
    if (wire->nodes[node].lanes[rail] != NULL) {
        return -EADDRINUSE;
    }
    struct sim_lane *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        return -ENOMEM;
    }
    sim->lane.cuts = (wire->options.cutting >> rail & 1) != 0;
    if (sim->lane.cuts && sim_join_open(&sim->joiner) != 0) {
        free(sim);
        return -ENOMEM;
    }
    bool shares = (wire->options.sharing >> rail & 1) != 0;
    sim->withdrawn = shares ? calloc(wire->options.nodes, sizeof *sim->withdrawn) : NULL;
    if (shares && sim->withdrawn == NULL) {
        free(sim); /* lanes with shared memory do not cut */
        return -ENOMEM;
    }
    sim->lane.operations = wire->options.told_ppm > 0 ? &sim_told_operations : &sim_operations;
    sim->lane.frame_bytes = wire->options.frame_bytes;
    sim->lane.mtu = wire->options.frame_bytes;
    sim->lane.kind = shares ? LANE_SHM : LANE_SIM;
    sim->lane.bulk = shares ? LANE_BULK_MEMORY : sim->lane.cuts ? LANE_BULK_CUT : LANE_BULK_LAST;
    sim->lane.of_host = shares;
    sim->lane.needs_checksum = !shares && !sim->lane.cuts;
    sim->lane.shares_memory = shares;
    wire->nodes[node].processes[rail]++;
    sim->lane.rail = (uint8_t)rail;
    sim->lane.batch_frames = 64;
    sim->lane.capacity_bytes = UINT64_MAX;
    sim->wire = wire;
    sim->node = node;
    sim->arrived_end = &sim->arrived;
    wire->nodes[node].lanes[rail] = sim;
    *lane = &sim->lane;
    return 0;
}
