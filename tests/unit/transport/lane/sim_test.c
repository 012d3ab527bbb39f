/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/sim/sim.h"

#include "sim_wires.h"
#include "unit/test.h"

#include <errno.h>
#include <string.h>

TEST(sim_wire_open__bad_options)
{
    struct sim_wire *wire = NULL;
    struct sim_options options = SIM_OPTIONS_DEFAULT;

    options.nodes = 0;
    assert_int_equal(sim_wire_open(&options, &wire), -EINVAL);
    options = (struct sim_options)SIM_OPTIONS_DEFAULT;
    options.frame_bytes = 65536;
    assert_int_equal(sim_wire_open(&options, &wire), -EINVAL);
    options = (struct sim_options)SIM_OPTIONS_DEFAULT;
    options.frames = 0;
    assert_int_equal(sim_wire_open(&options, &wire), -EINVAL);
    options = (struct sim_options)SIM_OPTIONS_DEFAULT;
    options.cutting = 1u << options.rails;
    assert_int_equal(sim_wire_open(&options, &wire), -EINVAL);
}

TEST(sim_wire__delivers_in_order_when_due)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(&options, lanes);
    uint64_t due_ns = options.start_ns + options.delay_ns;

    assert_int_equal(sim_wire_next(wire), UINT64_MAX);
    for (uint8_t i = 0; i < 100; i++) {
        assert_int_equal(send_frame(lanes[0], lanes[1], i), 1);
    }
    assert_int_equal(sim_wire_next(wire), due_ns);
    sim_wire_advance(wire, due_ns - 1);
    assert_int_equal(receive_frame(lanes[1]), -1);
    assert_false(sim_has_arrived(lanes[1]));
    sim_wire_advance(wire, due_ns);
    assert_true(sim_has_arrived(lanes[1]));
    for (uint8_t i = 0; i < 100; i++) {
        assert_int_equal(receive_frame(lanes[1]), i);
    }
    assert_int_equal(receive_frame(lanes[1]), -1);
    assert_int_equal(receive_frame(lanes[0]), -1);
    assert_int_equal(sim_wire_now(wire), due_ns);
    close_wire(wire, lanes, 2);
}

/** Sends 2000 frames. @return how many arrived. */
static unsigned deliver_many(const struct sim_options *options, struct sim_counters *counters,
                             uint64_t *hash)
{
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(options, lanes);
    unsigned arrived = 0;

    for (unsigned i = 0; i < 2000; i++) {
        (void)send_frame(lanes[0], lanes[1], (uint8_t)i);
    }
    sim_wire_advance(wire, options->start_ns + UINT64_C(60000000000));
    while (receive_frame(lanes[1]) >= 0) {
        arrived++;
    }
    *counters = *sim_wire_counters(wire);
    *hash = sim_wire_trace_hash(wire);
    assert_int_equal(arrived, counters->delivered);
    close_wire(wire, lanes, 2);
    return arrived;
}

TEST(sim_wire__corrupted_frames_are_dropped)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct sim_counters counters;
    uint64_t hash;
    unsigned arrived;

    options.corrupted_ppm = 100000;
    arrived = deliver_many(&options, &counters, &hash);
    assert_int_equal(arrived, 2000 - counters.corrupted);
    assert_in_range(counters.corrupted, 120, 280);
}

TEST(sim_wire__corrupted_frames_differ_in_one_byte)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct lane_incoming incoming;

    options.corrupted_ppm = 1000000;
    options.deliver_corrupted = true;
    struct sim_wire *wire = open_wire(&options, lanes);
    for (unsigned i = 0; i < 100; i++) {
        (void)send_frame(lanes[0], lanes[1], 7);
        sim_wire_advance(wire, sim_wire_next(wire));
        assert_int_equal(lanes[1]->operations->receive(lanes[1], &incoming, 1), 1);
        unsigned different = 0;
        for (uint32_t at = 0; at < incoming.bytes; at++) {
            different += incoming.data[at] != 7;
        }
        assert_int_equal(different, 1);
        lanes[1]->operations->release(lanes[1]);
    }
    close_wire(wire, lanes, 2);
}

TEST(sim_wire__same_seed_same_deliveries)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct sim_counters counters;
    uint64_t first;
    uint64_t again;
    uint64_t other;

    options.lost_ppm = options.doubled_ppm = options.delayed_ppm = 100000;
    options.jitter_ns = 1000000;
    (void)deliver_many(&options, &counters, &first);
    (void)deliver_many(&options, &counters, &again);
    assert_int_equal(first, again);
    options.seed++;
    (void)deliver_many(&options, &counters, &other);
    assert_int_not_equal(first, other);
}

TEST(sim_wire__more_frames_than_it_holds)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct sim_counters counters;
    uint64_t hash;
    unsigned arrived;

    options.frames = 100;
    arrived = deliver_many(&options, &counters, &hash);
    assert_int_equal(arrived, 100);
    assert_int_equal(counters.overflowed, 1900);
}

TEST(sim_wire__rate_is_kept_at_the_port_of_the_receiver)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[3];

    options.nodes = 3;
    options.bytes_per_s = (HEAD_BYTES + 3) * UINT64_C(1000000); /* a frame takes a microsecond */
    struct sim_wire *wire = open_wire(&options, lanes);
    uint64_t due_ns = options.start_ns + options.delay_ns;
    for (uint8_t i = 0; i < 10; i++) {
        assert_int_equal(send_frame(lanes[i % 2], lanes[2], i), 1);
    }
    assert_int_equal(send_frame(lanes[2], lanes[0], 99), 1); /* another port */
    for (uint8_t i = 0; i < 10; i++) {
        sim_wire_advance(wire, due_ns + (i + 1) * 1000u - 1);
        assert_int_equal(receive_frame(lanes[2]), -1);
        sim_wire_advance(wire, due_ns + (i + 1) * 1000u);
        assert_int_equal(receive_frame(lanes[2]), i);
        if (i == 0) {
            assert_int_equal(receive_frame(lanes[0]), 99);
        }
    }
    close_wire(wire, lanes, 3);
}

TEST(sim_wire__full_queue_of_a_port)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];

    options.bytes_per_s = (HEAD_BYTES + 3) * UINT64_C(1000000);
    options.queue_bytes = 4 * (HEAD_BYTES + 3);
    struct sim_wire *wire = open_wire(&options, lanes);
    for (uint8_t i = 0; i < 10; i++) {
        assert_int_equal(send_frame(lanes[0], lanes[1], i), 1);
    }
    assert_int_equal(sim_wire_counters(wire)->overflowed, 5); /* one on the wire, four behind it */
    sim_wire_advance(wire, options.start_ns + 2000000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(receive_frame(lanes[1]), i);
    }
    assert_int_equal(receive_frame(lanes[1]), -1);
    close_wire(wire, lanes, 2);
}

TEST(sim_wire_mangle__only_what_the_node_sends_and_gets)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[3];
    struct lane_incoming incoming;

    options.nodes = 3;
    struct sim_wire *wire = open_wire(&options, lanes);
    sim_wire_mangle(wire, 2, 1000000);
    for (unsigned i = 0; i < 9; i++) {
        struct lane *from = lanes[i % 3];
        struct lane *to = lanes[(i % 3 + 1 + i / 3 % 2) % 3];
        bool mangled = from == lanes[2] || to == lanes[2];
        unsigned different = 0;
        (void)send_frame(from, to, 7);
        sim_wire_advance(wire, sim_wire_next(wire));
        assert_int_equal(to->operations->receive(to, &incoming, 1), 1);
        for (uint32_t at = 0; at < incoming.bytes; at++) {
            different += incoming.data[at] != 7;
        }
        assert_int_equal(different, mangled);
        to->operations->release(to);
    }
    assert_int_equal(sim_wire_counters(wire)->mangled, 6);
    close_wire(wire, lanes, 3);
}

/** It says it comes from a node that has no lane, and whose cable is pulled. */
TEST(sim_wire_forge__from_whomever_it_says)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(&options, lanes);
    const uint8_t frame[] = {1, 2, 3};
    struct lane_incoming incoming;

    lanes[0]->operations->close(lanes[0]);
    lanes[0] = NULL;
    sim_wire_unplug(wire, 0, 0, true);
    sim_wire_forge(wire, &(struct sim_event){.to = 1, .bytes = sizeof frame, .head = frame});
    sim_wire_advance(wire, sim_wire_next(wire));
    assert_int_equal(lanes[1]->operations->receive(lanes[1], &incoming, 1), 1);
    const struct lane_address from = sim_address(0, 0);
    assert_memory_equal(&incoming.from, &from, sizeof from);
    assert_int_equal(incoming.bytes, sizeof frame);
    assert_memory_equal(incoming.data, frame, sizeof frame);
    lanes[1]->operations->release(lanes[1]);
    sim_wire_unplug(wire, 1, 0, true);
    sim_wire_forge(wire, &(struct sim_event){.to = 1, .bytes = sizeof frame, .head = frame});
    assert_int_equal(sim_wire_next(wire), UINT64_MAX);
    sim_wire_unplug(wire, 1, 0, false);
    sim_wire_narrow(wire, 0, 1, 0, sizeof frame - 1);
    sim_wire_forge(wire, &(struct sim_event){.to = 1, .bytes = sizeof frame, .head = frame});
    assert_int_equal(sim_wire_next(wire), UINT64_MAX);
    assert_int_equal(sim_wire_counters(wire)->forged, 3);
    assert_int_equal(sim_wire_counters(wire)->sent, 0);
    close_wire(wire, lanes, 2);
}

TEST(sim_wire__more_frames_than_a_lane_has_room_for)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];

    options.ring_frames = 4;
    struct sim_wire *wire = open_wire(&options, lanes);
    for (unsigned round = 0; round < 2; round++) {
        for (uint8_t i = 0; i < 6; i++) {
            assert_int_equal(send_frame(lanes[0], lanes[1], i), 1);
        }
        sim_wire_advance(wire, sim_wire_now(wire) + options.delay_ns);
        for (uint8_t i = 0; i < 4; i++) {
            assert_int_equal(receive_frame(lanes[1]), i);
        }
        assert_int_equal(receive_frame(lanes[1]), -1);
    }
    assert_int_equal(sim_wire_counters(wire)->overflowed, 4);
    close_wire(wire, lanes, 2);
}

struct observed {
    unsigned events[SIM_EVENTS];
    uint64_t last_ns;
};

static void observe(void *context, const struct sim_event *event)
{
    struct observed *observed = context;

    observed->events[event->kind]++;
    observed->last_ns = event->now_ns;
    assert_int_equal(event->bytes, HEAD_BYTES + 3);
    assert_int_equal(event->head[0], 7);
    assert_int_equal(event->from + event->to, 1);
}

TEST(sim_wire_observe__each_event)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct observed observed = {{0}, 0};

    options.doubled_ppm = 1000000;
    options.refused_ppm = 500000;
    struct sim_wire *wire = open_wire(&options, lanes);
    sim_wire_observe(wire, observe, &observed);
    for (unsigned i = 0; i < 100; i++) {
        (void)send_frame(lanes[i % 2], lanes[1 - i % 2], 7);
    }
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    const struct sim_counters *counters = sim_wire_counters(wire);
    assert_int_equal(observed.events[SIM_SENT], counters->sent);
    assert_int_equal(observed.events[SIM_REFUSED], 100 - counters->sent);
    assert_int_equal(observed.events[SIM_DOUBLED], counters->sent);
    assert_int_equal(observed.events[SIM_DELIVERED], 2 * counters->sent);
    sim_wire_observe(wire, NULL, NULL);
    (void)send_frame(lanes[0], lanes[1], 7);
    assert_int_equal(observed.events[SIM_SENT] + observed.events[SIM_REFUSED], 100);
    close_wire(wire, lanes, 2);
}

TEST(sim_wire_narrow__loses_longer_frames_in_one_direction)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(&options, lanes);

    sim_wire_narrow(wire, 0, 1, 0, HEAD_BYTES + 3);
    assert_int_equal(send_frame(lanes[0], lanes[1], 1), 1);
    sim_wire_narrow(wire, 0, 1, 0, HEAD_BYTES + 2);
    assert_int_equal(send_frame(lanes[0], lanes[1], 2), 1);
    assert_int_equal(send_frame(lanes[1], lanes[0], 3), 1);
    sim_wire_narrow(wire, 0, 1, 0, SIM_ANY_LENGTH);
    assert_int_equal(send_frame(lanes[0], lanes[1], 4), 1);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    assert_int_equal(receive_frame(lanes[1]), 1);
    assert_int_equal(receive_frame(lanes[1]), 4);
    assert_int_equal(receive_frame(lanes[0]), 3);
    assert_int_equal(sim_wire_counters(wire)->too_long, 1);
    close_wire(wire, lanes, 2);
}

TEST(sim_wire_vanish__with_what_was_on_the_way)
{
    struct sim_options options = SIM_OPTIONS_DEFAULT;
    struct lane *lanes[2];
    struct sim_wire *wire = open_wire(&options, lanes);

    assert_int_equal(send_frame(lanes[0], lanes[1], 1), 1);
    sim_wire_vanish(wire, 1);
    assert_int_equal(send_frame(lanes[1], lanes[0], 2), 1);
    sim_wire_advance(wire, options.start_ns + options.delay_ns);
    assert_int_equal(receive_frame(lanes[1]), -1);
    assert_int_equal(receive_frame(lanes[0]), -1);
    assert_int_equal(sim_wire_counters(wire)->cut, 2);
    close_wire(wire, lanes, 2);
}

TEST(random_next__is_the_published_generator)
{
    /* From the authors' C code with the state {1, 2, 3, 4}. */
    struct random random = {{1, 2, 3, 4}};
    const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};

    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(random_next(&random), expected[i]);
    }
}
