/* SPDX-License-Identifier: BSD-3-Clause */
/* The scale mode: what its switches do, and small runs with bounds. */
#include "simulation/scale/scale.h"
#include "simulation/scale/sizes.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#define GIGABIT UINT64_C(1000000000)
#define FULL_FRAME 1500

/* ---- switches ------------------------------------------------------------------------------ */

struct rig {
    struct schedule schedule;
    struct network network;
    uint64_t delivered;
    uint64_t last_ns;
    uint32_t awaited;      /**< a node, */
    uint64_t before_first; /**< and what was delivered before its first frame */
    bool came;
};

static void deliver(void *context, struct network_frame *frame, uint64_t now_ns)
{
    struct rig *rig = context;

    if (frame->to == rig->awaited && !rig->came) {
        rig->before_first = rig->delivered;
        rig->came = true;
    }
    rig->delivered++;
    rig->last_ns = now_ns;
    network_give_back(&rig->network, frame);
}

static void has_room(void *context, uint32_t node, uint64_t now_ns)
{
}

static const struct network_options one_switch = {
    .nodes = 4,
    .bits_per_s = GIGABIT,
    .spine_bits_per_s = GIGABIT,
    .delay_ns = 1000,
    .buffer_bytes = 1500000,
    .card_bytes = 50000,
    .frame_bytes = FULL_FRAME,
};

static void rig_open(struct rig *rig, const struct network_options *options)
{
    *rig = (struct rig){0};
    schedule_open(&rig->schedule, network_sources(options));
    network_open(&rig->network, options, &rig->schedule, 0);
    rig->network.deliver = deliver;
    rig->network.room = has_room;
    rig->network.context = rig;
}

static void rig_send(struct rig *rig, uint32_t from, uint32_t to, uint32_t bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct network_frame *frame = network_take(&rig->network);
        frame->from = from;
        frame->to = to;
        frame->bytes = bytes;
        frame->of_tcp = false;
        frame->direct = false;
        network_send(&rig->network, frame, 0);
    }
}

static void rig_run(struct rig *rig)
{
    uint32_t source = 0;
    uint64_t now_ns = 0;

    while (schedule_take(&rig->schedule, &source, &now_ns)) {
        network_due(&rig->network, source, now_ns);
    }
}

static void rig_close(struct rig *rig)
{
    network_close(&rig->network);
    schedule_close(&rig->schedule);
}

TEST(network__a_link_is_as_quick_as_its_rate)
{
    struct network_options options = one_switch;
    struct rig rig;

    options.bits_per_s = 3 * GIGABIT; /* a frame takes no whole number of nanoseconds */
    rig_open(&rig, &options);
    rig_send(&rig, 0, 1, FULL_FRAME, 1000);
    rig_run(&rig);
    assert_int_equal(rig.delivered, 1000);
    /* The last one is stored once more, at the switch. */
    uint64_t exact_ns = 1001 * UINT64_C(1538) * 8 / 3 + 2 * options.delay_ns;
    assert_in_range(rig.last_ns, exact_ns - 1, exact_ns + 1);
    rig_close(&rig);
}

TEST(network__short_frames_take_as_long_as_ethernet_s_shortest)
{
    struct rig rig;

    rig_open(&rig, &one_switch);
    rig_send(&rig, 0, 1, 1, 1);
    rig_run(&rig);
    assert_int_equal(rig.last_ns, 2 * 84 * 8 + 2 * one_switch.delay_ns);
    rig_close(&rig);
}

TEST(network__frames_are_delivered_or_dropped)
{
    struct rig rig;
    struct network_options options = one_switch;

    options.buffer_bytes = 20 * 1538;
    options.leaf_nodes = 2;
    options.spines = 1;
    rig_open(&rig, &options);
    for (uint32_t from = 0; from < 4; from++) {
        rig_send(&rig, from, (from + 1) % 4, FULL_FRAME, 100);
        rig_send(&rig, from, 0, 300, 100);
    }
    rig_run(&rig);
    const struct network_counters *counters = &rig.network.counters;
    assert_int_equal(counters->sent, 800);
    assert_true(counters->dropped > 0);
    assert_int_equal(counters->delivered + counters->dropped, 800);
    assert_int_equal(rig.delivered, counters->delivered);
    for (uint32_t i = 0; i < rig.network.switch_count; i++) {
        assert_int_equal(rig.network.switches[i].used, 0);
        assert_in_range(rig.network.switches[i].most, 1, options.buffer_bytes);
    }
    rig_close(&rig);
}

/** Two nodes send to a third at the same time: half of what comes stays in the buffer. */
TEST(network__drops_exactly_what_the_buffer_has_no_room_for)
{
    struct rig rig;
    struct network_options options = one_switch;

    for (unsigned frames = 8; frames <= 12; frames++) {
        options.buffer_bytes = 10 * 1538;
        rig_open(&rig, &options);
        rig_send(&rig, 0, 2, FULL_FRAME, frames);
        rig_send(&rig, 1, 2, FULL_FRAME, frames);
        rig_run(&rig);
        /* Of each pair but the first, one frame takes the place of the one that has just left. */
        assert_int_equal(rig.network.counters.dropped, frames > 9 ? frames - 9 : 0);
        assert_int_equal(rig.network.switches[0].most, (frames < 9 ? frames + 1 : 10) * 1538);
        rig_close(&rig);
    }
}

TEST(network__a_queue_is_no_longer_than_alpha_allows)
{
    struct rig rig;
    struct network_options options = one_switch;

    options.buffer_bytes = 100 * 1538;
    options.alpha_percent = 100;
    rig_open(&rig, &options);
    for (uint32_t from = 1; from < 4; from++) {
        rig_send(&rig, from, 0, FULL_FRAME, 200);
    }
    rig_run(&rig);
    assert_true(rig.network.counters.dropped > 0);
    assert_int_equal(network_port(&rig.network, 0)->most, 50 * 1538); /* as long as what is free */
    rig_close(&rig);
}

TEST(network__all_nodes_reach_one_another_over_spines)
{
    struct rig rig;
    struct network_options options = one_switch;

    options.nodes = 7;
    options.leaf_nodes = 3;
    options.spines = 2;
    rig_open(&rig, &options);
    for (uint32_t i = 0; i < 49; i++) {
        rig_send(&rig, i / 7, i % 7, 100, 1);
    }
    rig_run(&rig);
    assert_int_equal(rig.delivered, 49);
    rig_close(&rig);
}

/* ---- the schedule, and lengths -------------------------------------------------------------- */

TEST(schedule_take__by_time_then_in_the_order_of_setting)
{
    struct schedule schedule;
    uint32_t source = 0;
    uint64_t at_ns = 0;
    const uint32_t expected[] = {4, 2, 0, 3};

    schedule_open(&schedule, 5);
    schedule_set(&schedule, 0, 50);
    schedule_set(&schedule, 1, 20);
    schedule_set(&schedule, 2, 40);
    schedule_set(&schedule, 3, 50);
    schedule_set(&schedule, 4, 60);
    schedule_by(&schedule, 4, 10);
    schedule_by(&schedule, 2, 70); /* it has an earlier time */
    schedule_set(&schedule, 1, UINT64_MAX);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(schedule_take(&schedule, &source, &at_ns));
        assert_int_equal(source, expected[i]);
    }
    assert_false(schedule_take(&schedule, &source, &at_ns));
    schedule_close(&schedule);
}

static double bytes_of(void *context, uint64_t bytes)
{
    return (double)bytes;
}

/** The means that the tables of HomaSimulation have. */
TEST(sizes_draw__as_published)
{
    const double means[SIZES_COUNT] = {187.5, 440.8, 2927.4, 127796.6, 2547267.9};
    struct random random;

    random_seed(&random, 1);
    for (unsigned i = 0; i < SIZES_COUNT; i++) {
        double sum = 0;
        double mean = sizes_mean(i, bytes_of, NULL);
        assert_true(mean > 0.96 * means[i] && mean < 1.04 * means[i]);
        for (unsigned j = 0; j < 100000; j++) {
            uint64_t bytes = sizes_draw(i, &random);
            assert_in_range(bytes, 1, sizes_longest(i));
            sum += (double)bytes / 100000;
        }
        assert_true(sum > 0.85 * mean && sum < 1.15 * mean);
    }
}

/** A frame that is sent directly does not wait behind those in the node's queue. */
TEST(network__direct_frames_pass_those_that_wait)
{
    struct network_options options = one_switch;
    struct rig rig;

    options.card_bytes = 2 * 1538;
    rig_open(&rig, &options);
    rig_send(&rig, 0, 1, FULL_FRAME, 100);
    assert_int_equal(rig.network.links[0].queue.frames, 2);
    struct network_frame *frame = network_take(&rig.network);
    frame->from = 0;
    frame->to = 2;
    frame->bytes = 100;
    frame->of_tcp = false;
    frame->direct = true;
    network_send(&rig.network, frame, 0);
    rig.awaited = 2;
    rig_run(&rig);
    assert_int_equal(rig.delivered, 101);
    assert_in_range(rig.before_first, 1, 2); /* those in the card */
    rig_close(&rig);
}

/* ---- whole runs ---------------------------------------------------------------------------- */

static struct scale_options run_of(enum traffic_kind kind, uint32_t nodes, uint64_t bytes)
{
    return (struct scale_options){
        .seed = 1,
        .nodes = nodes,
        .limit_ns = UINT64_C(10000000000),
        .network = {.bits_per_s = 10 * GIGABIT,
                    .spine_bits_per_s = 40 * GIGABIT,
                    .spines = 1,
                    .delay_ns = 1000,
                    .buffer_bytes = 1500000,
                    .alpha_percent = 100,
                    .card_bytes = 50000,
                    .frame_bytes = FULL_FRAME},
        .host = {.frame_ns = 100, .receive_bytes = 2 << 20, .frame_bytes = FULL_FRAME},
        .traffic = {.kind = kind,
                    .nodes = nodes,
                    .messages = 1000,
                    .rounds = 1,
                    .outstanding = 32,
                    .load_percent = 50,
                    .bytes = bytes,
                    .bits_per_s = 10 * GIGABIT,
                    .segment_bytes = 1448,
                    .head_bytes = 52},
    };
}

TEST(scale_run__an_idle_network_is_hardly_slower_than_possible)
{
    struct scale_options options = run_of(TRAFFIC_INCAST, 2, 8);
    struct scale_result result;

    assert_true(scale_run(&options, &result));
    assert_true(result.tenths[9].median >= 0.95 && result.tenths[9].median < 1.1);
}

TEST(scale_run__the_same_seed_gives_the_same_run)
{
    struct scale_options options = run_of(TRAFFIC_SIZES, 8, 0);
    struct scale_result results[3];

    options.traffic.distribution = 2;
    options.tcp = 1;
    for (unsigned i = 0; i < 3; i++) {
        options.seed = i == 2 ? 2 : 1;
        assert_true(scale_run(&options, &results[i]));
    }
    assert_true(results[0].hash == results[1].hash);
    assert_int_equal(results[0].events, results[1].events);
    assert_true(results[0].hash != results[2].hash);
}

/** What comes unasked, and what is requested at the same time, has room in the switch. */
TEST(scale_run__many_to_one)
{
    const struct {
        uint32_t nodes;
        uint32_t gigabits;
        uint32_t frame_bytes;
    } cases[] = {{8, 10, FULL_FRAME},   {9, 10, FULL_FRAME}, {32, 10, FULL_FRAME},
                 {144, 10, FULL_FRAME}, {16, 1, FULL_FRAME}, {16, 10, 9000}};
    struct scale_result result;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scale_options options = run_of(TRAFFIC_INCAST, cases[i].nodes, 65536);
        options.network.bits_per_s = cases[i].gigabits * GIGABIT;
        options.network.frame_bytes = options.host.frame_bytes = cases[i].frame_bytes;
        options.traffic.segment_bytes = cases[i].frame_bytes - options.traffic.head_bytes;
        assert_true(scale_run(&options, &result));
        assert_true(8.0 * (double)result.bytes > 0.85 * cases[i].gigabits * (double)result.time_ns);
        assert_int_equal(result.dropped, 0);
        assert_in_range(result.again, 0, result.frames / 1000);
        assert_in_range(result.buffer_most, 1, options.network.buffer_bytes);
    }
}

/** Up to PULL_FREE_PEERS peers data comes unasked, from more in small pieces of each in turn. */
TEST(scale_run__all_to_all)
{
    const uint32_t nodes[] = {8, 9, 16};
    struct scale_result result;

    for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct scale_options options = run_of(TRAFFIC_ALL, nodes[i], 65536);
        assert_true(scale_run(&options, &result));
        assert_true((double)result.best_ns > 0.8 * (double)result.time_ns);
        assert_int_equal(result.dropped, 0);
        assert_int_equal(result.dropped_host, 0);
    }
}

TEST(scale_run__allreduce)
{
    for (uint32_t nodes = 2; nodes <= 9; nodes++) {
        struct scale_options ring = run_of(TRAFFIC_RING, nodes, 100000);
        struct scale_options tree = run_of(TRAFFIC_TREE, nodes, 100000);
        struct scale_result result;
        assert_true(scale_run(&ring, &result));
        assert_int_equal(result.messages, 2 * (nodes - 1) * nodes);
        assert_true(scale_run(&tree, &result));
        assert_int_equal(result.messages, 2 * (nodes - 1));
    }
}

/** Long messages of few senders: what is requested does not have room, so it is soon reduced. */
TEST(scale_run__long_messages_of_few_senders_to_one)
{
    struct scale_options options = run_of(TRAFFIC_INCAST, 5, 1000000);
    struct scale_result result;

    options.traffic.rounds = 20;
    assert_true(scale_run(&options, &result));
    assert_true(result.dropped > 0);
    assert_in_range(result.again, 1, result.frames / 40);
    assert_true((double)result.best_ns > 0.9 * (double)result.time_ns);
}

/** Neither takes much of the other's share of the port. */
TEST(scale_run__beside_tcp)
{
    const struct {
        uint32_t senders;
        uint32_t tcp;
        double least;
    } cases[] = {{4, 4, 0.75}, {1, 1, 0.75}, {4, 1, 0.75}, {1, 4, 0.5}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scale_options options = run_of(TRAFFIC_INCAST, cases[i].senders + 1, 10000000);
        struct scale_result result;
        options.tcp = cases[i].tcp;
        options.traffic.rounds = 10;
        assert_true(scale_run(&options, &result));
        assert_true(result.tcp_share > cases[i].least && result.own_share > cases[i].least);
    }
}
