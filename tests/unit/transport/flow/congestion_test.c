/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/congestion.h"
#include "unit/test.h"

#include <stddef.h>

#define BASE_NS UINT64_C(20000)
#define SLACK_NS UINT64_C(50000)
#define FLOOR 32
#define CEILING 256

/** One path: what happens on it. */
struct path {
    struct congestion congestion;
    struct rtt rtt;
    uint64_t now_ns;
};

static struct path new_path(void)
{
    struct path path = {.now_ns = 1000000000};

    congestion_init(&path.congestion, CEILING, FLOOR, CEILING, SLACK_NS);
    rtt_sample(&path.rtt, path.now_ns, BASE_NS);
    return path;
}

/** A path that has lost something just now. */
static struct path new_lossy_path(void)
{
    struct path path = new_path();

    congestion_lost(&path.congestion, path.now_ns, &path.rtt);
    return path;
}

/** A whole window is acknowledged. */
static void pass_window(struct path *path, uint64_t rtt_ns)
{
    path->now_ns += rtt_ns;
    rtt_sample(&path->rtt, path->now_ns, rtt_ns);
    congestion_acknowledged(&path->congestion, path->now_ns, rtt_ns, &path->rtt,
                            path->congestion.window);
}

TEST(congestion_window__bypassed_without_a_queue)
{
    struct path path = new_path();

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, BASE_NS + SLACK_NS);
        assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
    }
    assert_int_equal(path.congestion.window, CEILING);
}

TEST(congestion_window__one_long_round_trip_is_not_a_queue)
{
    struct path path = new_path();

    congestion_lost(&path.congestion, path.now_ns, &path.rtt);
    pass_window(&path, 3 * BASE_NS + SLACK_NS);
    assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
    assert_true(path.congestion.window < CEILING); /* computed, not applied */
}

/** The other process may have no core: then a small window would only make it worse. */
TEST(congestion_window__bypassed_when_nothing_was_lost)
{
    struct path path = new_path();

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, 4000000);
        assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
    }
    assert_int_equal(path.congestion.window, FLOOR); /* computed, not applied */
}

TEST(congestion_window__bypassed_again_when_the_loss_is_long_ago)
{
    struct path path = new_lossy_path();

    while (path.now_ns < 1000000000 + CONGESTION_MEMORY_NS - 1000000) {
        pass_window(&path, 1000000);
    }
    assert_int_equal(congestion_window(&path.congestion), FLOOR);
    pass_window(&path, 1000000);
    pass_window(&path, 1000000);
    assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
}

TEST(congestion_window__applied_with_a_queue_and_down_to_the_floor)
{
    struct path path = new_lossy_path();
    uint64_t before = CEILING;

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, 1000000);
        assert_true(path.congestion.window <= before);
        assert_true(path.congestion.window >= before / 2);
        before = path.congestion.window;
    }
    assert_int_equal(congestion_window(&path.congestion), FLOOR);
}

TEST(congestion_window__grows_again_step_by_step)
{
    struct path path = new_lossy_path();

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, 1000000);
    }
    pass_window(&path, BASE_NS);
    assert_int_equal(path.congestion.window, FLOOR + FLOOR / 16);
    assert_int_equal(congestion_window(&path.congestion), FLOOR + FLOOR / 16); /* still applied */
    for (unsigned i = 0; i < 1000; i++) {
        pass_window(&path, BASE_NS);
    }
    assert_int_equal(path.congestion.window, CEILING);
    assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
}

TEST(congestion_acknowledged__part_of_a_window_earns_part_of_a_step)
{
    struct path path = new_lossy_path();

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, 1000000);
    }
    for (unsigned i = 0; i < FLOOR - 1; i++) {
        congestion_acknowledged(&path.congestion, path.now_ns, BASE_NS, &path.rtt, 1);
    }
    assert_int_equal(path.congestion.window, FLOOR);
    congestion_acknowledged(&path.congestion, path.now_ns, BASE_NS, &path.rtt, 1);
    assert_true(path.congestion.window > FLOOR);
}

TEST(congestion_acknowledged__smaller_once_in_a_round_trip)
{
    struct path path = new_lossy_path();

    for (unsigned i = 0; i < 20; i++) {
        rtt_sample(&path.rtt, path.now_ns, 1000000);
    }
    congestion_acknowledged(&path.congestion, path.now_ns, 1000000, &path.rtt, 1);
    uint64_t once = path.congestion.window;
    assert_int_equal(once, CEILING / 2);
    congestion_acknowledged(&path.congestion, path.now_ns + 1000, 1000000, &path.rtt, 1);
    assert_int_equal(path.congestion.window, once);
    congestion_acknowledged(&path.congestion, path.now_ns + 1000000, 1000000, &path.rtt, 1);
    assert_int_equal(path.congestion.window, once / 2);
}

TEST(congestion_acknowledged__a_little_over_the_target_cuts_little)
{
    struct path path = new_lossy_path();

    for (unsigned i = 0; i < 40; i++) {
        rtt_sample(&path.rtt, path.now_ns, 100000);
    }
    /* 0.8 * (100 - 70) / 100 of 256, in 1/1024 */
    congestion_acknowledged(&path.congestion, path.now_ns, 100000, &path.rtt, 1);
    assert_int_equal(path.congestion.window, 256 - 256 * (819 * 3 / 10) / 1024);
}

TEST(congestion_acknowledged__without_a_sample_nothing_moves)
{
    struct path path = new_path();

    for (unsigned i = 0; i < 20; i++) {
        pass_window(&path, 1000000);
    }
    struct congestion before = path.congestion;
    congestion_acknowledged(&path.congestion, path.now_ns + 9000000, 0, &path.rtt, 1000);
    assert_memory_equal(&path.congestion, &before, sizeof before);
}

TEST(congestion_target_ns__of_a_long_way_is_twice_its_base)
{
    struct path path = new_path();
    struct rtt rtt = {0};

    assert_int_equal(congestion_target_ns(&path.congestion, &path.rtt), BASE_NS + SLACK_NS);
    rtt_sample(&rtt, 0, 1000000);
    assert_int_equal(congestion_target_ns(&path.congestion, &rtt), 2000000);
}

TEST(congestion_lost__without_a_queue_is_the_wires_doing)
{
    struct path path = new_path();

    for (unsigned i = 0; i < 100; i++) {
        pass_window(&path, BASE_NS);
        congestion_lost(&path.congestion, path.now_ns, &path.rtt);
    }
    assert_int_equal(path.congestion.window, CEILING);
    assert_int_equal(congestion_window(&path.congestion), UINT64_MAX);
}

TEST(congestion_lost__with_a_queue_halves_once_in_a_round_trip)
{
    struct path path = new_lossy_path();

    for (unsigned i = 0; i < 20; i++) {
        rtt_sample(&path.rtt, path.now_ns, 1000000);
    }
    congestion_acknowledged(&path.congestion, path.now_ns, 1000000, &path.rtt, 1);
    uint64_t before = path.congestion.window;
    congestion_lost(&path.congestion, path.now_ns + 1000, &path.rtt);
    assert_int_equal(path.congestion.window, before);
    congestion_lost(&path.congestion, path.now_ns + 1000000, &path.rtt);
    congestion_lost(&path.congestion, path.now_ns + 1000001, &path.rtt);
    assert_int_equal(path.congestion.window, before / 2);
}

TEST(congestion__in_bytes_as_well)
{
    struct path path = new_path();
    const uint64_t gigabyte = UINT64_C(1) << 30;

    congestion_init(&path.congestion, gigabyte, 65536, gigabyte, SLACK_NS);
    congestion_lost(&path.congestion, path.now_ns, &path.rtt);
    for (unsigned i = 0; i < 50; i++) {
        pass_window(&path, 10000000);
    }
    assert_int_equal(congestion_window(&path.congestion), 65536);
    pass_window(&path, BASE_NS);
    assert_int_equal(congestion_window(&path.congestion), 65536 + 4096);
}
