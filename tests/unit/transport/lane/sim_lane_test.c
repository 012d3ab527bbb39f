/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/sim/sim.h"

#include "frame/address_layout.h"
#include "frame/frame.h"
#include "sim_wires.h"
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#define SEGMENT_BYTES 100
#define RUN_BYTES 350
#define KEY 77
#define MESSAGE 5
#define FIRST 12 /* segment of the message */

/** Two nodes whose lanes cut. */
static struct sim_wire *open_cutting(struct sim_options *options, uint32_t joined_ppm,
                                     struct lane **lanes)
{
    options->cutting = 1;
    options->joined_ppm = joined_ppm;
    options->frame_bytes = SEGMENT_BYTES + sizeof(struct frame_data);
    return open_wire(options, lanes);
}

/** The bytes of the run: none like its neighbours. */
static const uint8_t *payload(void)
{
    static uint8_t bytes[RUN_BYTES];

    for (unsigned i = 0; i < RUN_BYTES; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    return bytes;
}

/** Sends four segments, the last of them a short one. */
static void send_run(struct lane *from, const struct lane *to)
{
    struct {
        uint8_t headroom[LANE_HEADROOM];
        struct frame_data head;
    } room = {.head = frame_encode_data(1, KEY, MESSAGE)};
    const struct lane_address address = mac_of(to);

    frame_data_set_segment(&room.head, FIRST);
    assert_int_equal(from->operations->send(from, &address,
                                            &(struct lane_outgoing){
                                                .head = (uint8_t *)&room.head,
                                                .head_bytes = sizeof room.head,
                                                .payload = payload(),
                                                .payload_bytes = RUN_BYTES,
                                                .segment_bytes = SEGMENT_BYTES,
                                            },
                                            1),
                     1);
}

static void expect_run(struct lane *lane, const struct lane *from, uint64_t first, uint8_t *target)
{
    const struct lane_expectation expectation = {
        .target = target,
        .frames = 4,
        .head_bytes = sizeof(struct frame_data),
        .payload_bytes = SEGMENT_BYTES,
        .bytes = RUN_BYTES,
        .key = KEY,
        .message = MESSAGE,
        .offset = first * SEGMENT_BYTES,
        .from = mac_of(from),
    };
    lane->operations->expect(lane, &expectation);
}

TEST(sim_lane_open__one_lane_a_node)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct lane *third = NULL;
    struct sim_wire *wire = open_wire(&options, lanes);

    assert_int_equal(sim_lane_open(wire, 2, 0, &third), -EINVAL);
    assert_int_equal(sim_lane_open(wire, 1, 0, &third), -EADDRINUSE);
    assert_int_equal(sim_node_of(wire, &(struct lane_address){{2, 0, 0, 0, 0, 1}}), 1);
    assert_int_equal(sim_node_of(wire, &(struct lane_address){{9}}), UINT32_MAX);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__closed_and_opened_again)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(&options, lanes);

    assert_int_equal(send_frame(lanes[0], lanes[1], 1), 1);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    assert_int_equal(send_frame(lanes[0], lanes[1], 2), 1);
    lanes[1]->operations->close(lanes[1]); /* with a frame in it */
    sim_wire_advance(wire, options.start_ns + 2 * options.delay_ns);
    assert_int_equal(sim_wire_counters(wire)->unreachable, 1);
    assert_int_equal(sim_lane_open(wire, 1, 0, &lanes[1]), 0);
    assert_int_equal(receive_frame(lanes[1]), -1);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__cuts_into_segments)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_cutting(&options, 0, lanes);
    struct lane_incoming incoming[8];
    struct frame frame;

    assert_true(lanes[0]->cuts);
    send_run(lanes[0], lanes[1]);
    assert_int_equal(lanes[0]->sent_frames, 4);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    assert_int_equal(lanes[1]->operations->receive(lanes[1], incoming, 8), 4);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t bytes = i < 3 ? SEGMENT_BYTES : RUN_BYTES - 3 * SEGMENT_BYTES;
        assert_int_equal(frame_decode(incoming[i].data, incoming[i].bytes, &frame), FRAME_OK);
        assert_int_equal(frame_data_segment(frame.data), FIRST + i);
        assert_int_equal(frame.key, KEY);
        assert_int_equal(frame.payload_bytes, bytes);
        assert_int_equal(incoming[i].segment_bytes, SEGMENT_BYTES);
        assert_memory_equal(incoming[i].payload, payload() + (size_t)i * SEGMENT_BYTES, bytes);
    }
    lanes[1]->operations->release(lanes[1]);
    assert_int_equal(lanes[1]->received_frames, 4);
    assert_int_equal(lanes[1]->received_bytes, lanes[0]->sent_bytes);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__each_segment_may_be_lost)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];

    options.lost_ppm = 300000;
    struct sim_wire *wire = open_cutting(&options, 1000000, lanes);
    for (unsigned i = 0; i < 100; i++) {
        send_run(lanes[0], lanes[1]);
    }
    assert_int_equal(sim_wire_counters(wire)->sent, 400);
    assert_in_range(sim_wire_counters(wire)->lost, 60, 180);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__joins_what_follows)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_cutting(&options, 1000000, lanes);
    struct lane_incoming incoming[2];

    send_run(lanes[0], lanes[1]);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    assert_int_equal(lanes[1]->operations->receive(lanes[1], incoming, 2), 1);
    assert_int_equal(incoming[0].bytes, sizeof(struct frame_data) + RUN_BYTES);
    assert_memory_equal(incoming[0].payload, payload(), RUN_BYTES);
    lanes[1]->operations->release(lanes[1]);
    assert_int_equal(lanes[1]->received_frames, 4);
    assert_int_equal(lanes[1]->placed_frames, 0);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__puts_it_where_it_is_expected)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_cutting(&options, 500000, lanes);
    struct lane_incoming incoming[4];
    uint8_t target[RUN_BYTES] = {0};

    send_run(lanes[0], lanes[1]);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    expect_run(lanes[1], lanes[0], FIRST, target);
    assert_true(lanes[1]->operations->receive(lanes[1], incoming, 4) > 0);
    assert_ptr_equal(incoming[0].payload, target);
    assert_memory_equal(target, payload(), RUN_BYTES);
    lanes[1]->operations->release(lanes[1]);
    assert_int_equal(lanes[1]->placed_frames, 4);
    close_wire(wire, lanes, 2);
}

/** Hosts write before they know what has come. */
TEST(sim_lane__spoils_the_place_of_what_did_not_come)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_cutting(&options, 1000000, lanes);
    struct lane_incoming incoming[1];
    uint8_t target[RUN_BYTES] = {0};

    send_run(lanes[0], lanes[1]);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    expect_run(lanes[1], lanes[0], FIRST + 1, target);
    assert_int_equal(lanes[1]->operations->receive(lanes[1], incoming, 1), 1);
    assert_memory_equal(incoming[0].payload, payload(), RUN_BYTES);
    for (unsigned i = 0; i < RUN_BYTES; i++) {
        assert_int_not_equal(target[i], 0);
    }
    lanes[1]->operations->release(lanes[1]);
    close_wire(wire, lanes, 2);
}

TEST(sim_lane__more_runs_than_it_has_room_for)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_cutting(&options, 1000000, lanes);
    struct lane_incoming incoming[16];
    unsigned runs = 0;

    for (unsigned i = 0; i < 10; i++) {
        send_run(lanes[0], lanes[1]);
    }
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    while (sim_has_arrived(lanes[1])) {
        unsigned taken = lanes[1]->operations->receive(lanes[1], incoming, 16);
        assert_in_range(taken, 1, 10);
        for (unsigned i = 0; i < taken; i++) {
            assert_memory_equal(incoming[i].payload, payload(), RUN_BYTES);
        }
        lanes[1]->operations->release(lanes[1]);
        runs += taken;
    }
    assert_int_equal(runs, 10);
    close_wire(wire, lanes, 2);
}

/* ---- memory -------------------------------------------------------------------------------- */

/** Where a lane is reached, as its node tells others. */
static struct lane_address published(struct lane *by, const struct lane *lane)
{
    struct address_layout layout = {0};
    struct lane_address to;

    lane->operations->publish(lane, &layout);
    assert_int_equal(by->operations->reach(by, &layout, &to), 0);
    return to;
}

static int read_of(struct lane *by, const struct lane_address *from, uint8_t *target)
{
    return by->operations->read_memory(by, from, (uint64_t)(uintptr_t)payload(), target, RUN_BYTES);
}

/** A wire whose two nodes share memory, and the other's as the first reaches it. */
struct sharing {
    struct sim_wire *wire;
    struct lane *lanes[2];
    struct lane_address from;
};

static struct sharing share(uint32_t unread_ppm)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct sharing sharing;

    options.sharing = 1;
    options.unread_ppm = unread_ppm;
    sharing.wire = open_wire(&options, sharing.lanes);
    sharing.from = published(sharing.lanes[0], sharing.lanes[1]);
    return sharing;
}

TEST(sim_lane__reads_the_memory_of_others)
{
    struct sharing sharing = share(0);
    struct lane *reader = sharing.lanes[0];
    uint8_t target[RUN_BYTES] = {0};

    assert_int_equal(reader->kind, LANE_SHM);
    assert_int_equal(sim_node_of(sharing.wire, &sharing.from), 1);
    assert_int_equal(read_of(reader, &sharing.from, target), 0);
    assert_memory_equal(target, payload(), RUN_BYTES);
    const struct sim_counters *counters = sim_wire_counters(sharing.wire);
    assert_int_equal(counters->reads, 1);
    assert_int_equal(counters->unread, 0);
    close_wire(sharing.wire, sharing.lanes, 2);
}

TEST(sim_lane__reads_nothing_of_a_process_that_has_ended)
{
    struct sharing sharing = share(0);
    struct lane **lanes = sharing.lanes;
    uint8_t target[RUN_BYTES] = {0};

    lanes[1]->operations->close(lanes[1]);
    assert_int_equal(read_of(lanes[0], &sharing.from, target), -ECONNRESET);
    /* Nor of the one that has taken its place. */
    assert_int_equal(sim_lane_open(sharing.wire, 1, 0, &lanes[1]), 0);
    assert_int_equal(read_of(lanes[0], &sharing.from, target), -ECONNRESET);
    assert_int_equal(target[1], 0);
    assert_int_equal(sim_wire_counters(sharing.wire)->unread, 2);
    const struct lane_address again = published(lanes[0], lanes[1]);
    assert_int_equal(read_of(lanes[0], &again, target), 0);
    close_wire(sharing.wire, lanes, 2);
}

TEST(sim_lane__reading_that_is_not_allowed)
{
    struct sharing sharing = share(1000000);
    uint8_t target[RUN_BYTES] = {0};

    assert_int_equal(read_of(sharing.lanes[0], &sharing.from, target), -EPERM);
    assert_int_equal(target[1], 0);
    close_wire(sharing.wire, sharing.lanes, 2);
}

TEST(sim_wire_open__sharing_lanes_do_not_cut)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct sim_wire *wire = NULL;

    options.sharing = 1;
    options.cutting = 1;
    assert_int_equal(sim_wire_open(&options, &wire), -EINVAL);
}

/* ---- the end of processes ------------------------------------------------------------------- */

/** Opens a wire on which senders are told, closes the lane of a node to which two frames are on the
 * way, and lets them arrive. */
static struct sim_wire *send_to_nobody(struct lane *lanes[2], bool cut_back)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;

    options.told_ppm = 1000000;
    struct sim_wire *wire = open_wire(&options, lanes);
    assert_int_equal(send_frame(lanes[0], lanes[1], 1), 1);
    assert_int_equal(send_frame(lanes[0], lanes[1], 2), 1);
    lanes[1]->operations->close(lanes[1]);
    sim_wire_cut(wire, 1, 0, cut_back);
    sim_wire_advance(wire, sim_wire_now(wire) + 1000000);
    return wire;
}

TEST(sim_lane__tells_once_that_a_process_has_ended)
{
    struct lane *lanes[2];
    struct sim_wire *wire = send_to_nobody(lanes, false);
    const struct lane_address expected = sim_address(1, 0);
    struct lane_loss lost;

    assert_int_equal(sim_wire_counters(wire)->told, 1);
    assert_true(sim_wire_was_told(wire, 0, 1));
    assert_false(sim_wire_was_told(wire, 1, 0));
    assert_true(lanes[0]->operations->lost(lanes[0], &lost));
    assert_memory_equal(&lost.address, &expected, sizeof lost.address);
    assert_false(lanes[0]->operations->lost(lanes[0], &lost));
    close_wire(wire, lanes, 1);
}

TEST(sim_lane__tells_nothing_that_does_not_get_through)
{
    struct lane *lanes[2];
    struct sim_wire *wire = send_to_nobody(lanes, true);
    struct lane_loss lost;

    assert_int_equal(sim_wire_counters(wire)->told, 0);
    assert_false(sim_wire_was_told(wire, 0, 1));
    assert_false(lanes[0]->operations->lost(lanes[0], &lost));
    close_wire(wire, lanes, 1);
}

TEST(sim_lane__tells_nothing_of_whoever_has_taken_the_place)
{
    struct lane *lanes[2];
    struct sim_wire *wire = send_to_nobody(lanes, false);
    struct lane_loss lost;

    assert_int_equal(sim_lane_open(wire, 1, 0, &lanes[1]), 0);
    assert_false(lanes[0]->operations->lost(lanes[0], &lost));
    close_wire(wire, lanes, 2);
}

/** A host that can be reached answers, whatever becomes of the process; and it would be told of. */
TEST(sim_lane__asks_the_host)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    const struct lane_address to = sim_address(1, 0);
    struct lane *lanes[2];

    options.told_ppm = 1000000;
    struct sim_wire *wire = open_wire(&options, lanes);
    const struct lane_operations *operations = lanes[0]->operations;
    assert_int_equal(operations->ask_host(lanes[0], &to, 1, false), LANE_HOST_VOUCHES);
    sim_wire_cut(wire, 1, 0, true);
    assert_int_equal(operations->ask_host(lanes[0], &to, 1, true), LANE_HOST_ASKED);
    sim_wire_cut(wire, 1, 0, false);
    sim_wire_cut(wire, 0, 1, true);
    assert_int_equal(operations->ask_host(lanes[0], &to, 1, true), LANE_HOST_ASKED);
    sim_wire_cut(wire, 0, 1, false);
    lanes[1]->operations->close(lanes[1]);
    assert_int_equal(operations->ask_host(lanes[0], &to, 1, true), LANE_HOST_VOUCHES);
    sim_wire_vanish(wire, 1);
    assert_int_equal(operations->ask_host(lanes[0], &to, 1, true), LANE_HOST_ASKED);
    close_wire(wire, lanes, 1);
}
