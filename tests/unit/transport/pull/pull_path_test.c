/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull/pull_path.h"
#include "unit/test.h"

#include <stdlib.h>

#define CAPACITY 1000
#define START_NS UINT64_C(1000000)

/** A peer that is reached over lanes 0, 1 and 2, of which the last is not as good. */
struct fixture {
    struct message_layer layer;
    struct message_peer peer;
    struct pull_path paths[3];
    struct pull_block blocks[4];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    for (unsigned i = 0; i < 3; i++) {
        fixture->layer.lanes[i].capacity_bytes = CAPACITY;
    }
    fixture->peer.pull_paths = fixture->paths;
    fixture->peer.bulk_lanes = 3;
    fixture->peer.usable_lanes = 7;
    for (unsigned i = 0; i < 4; i++) {
        fixture->blocks[i] = (struct pull_block){.active = true, .missing = 1};
    }
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

#define PATH_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

static void ask(struct fixture *fixture, unsigned block, unsigned lane, uint64_t bytes,
                uint64_t now_ns)
{
    fixture->blocks[block].asked = fixture->blocks[block].missing;
    pull_path_ask(&fixture->layer, &fixture->peer, lane, &fixture->blocks[block], bytes, now_ns);
}

static unsigned choose(const struct fixture *fixture, uint64_t now_ns)
{
    return pull_path_choose(&fixture->layer, &fixture->peer, 100, now_ns, false, 0);
}

static unsigned choose_more(const struct fixture *fixture, uint64_t now_ns, uint32_t closed)
{
    return pull_path_choose(&fixture->layer, &fixture->peer, 100, now_ns, true, closed);
}

static void fall_silent(struct fixture *fixture, unsigned lane, unsigned times, uint64_t now_ns)
{
    for (unsigned i = 0; i < times; i++) {
        pull_path_silent(&fixture->layer, &fixture->peer, lane, now_ns);
    }
}

PATH_TEST(pull_path_silent__what_a_quiet_path_owes_takes_no_room)
{
    struct message_lane *lane = &fixture->layer.lanes[0];

    ask(fixture, 0, 0, 300, START_NS);
    ask(fixture, 1, 0, 200, START_NS);
    for (unsigned i = 1; i < PULL_PATIENCE_SILENCES; i++) {
        fall_silent(fixture, 0, 1, START_NS);
        assert_int_equal(lane->outstanding_bytes, 500);
    }
    fall_silent(fixture, 0, 1, START_NS);
    assert_true(pull_path_is_quiet(&fixture->peer.pull_paths[0]));
    assert_int_equal(lane->outstanding_bytes, 0);
    assert_int_equal(lane->blocks, 2);
    fall_silent(fixture, 0, 300, START_NS); /* nor is it given back twice */
    assert_int_equal(lane->outstanding_bytes, 0);
    /* What is asked for, or settled, meanwhile does not count either. */
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
    ask(fixture, 2, 0, 50, START_NS);
    assert_int_equal(lane->outstanding_bytes, 0);
    assert_true(pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS));
    assert_int_equal(lane->outstanding_bytes, 250);
    assert_false(pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS));
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[1]);
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[2]);
    assert_int_equal(lane->outstanding_bytes, 0);
    assert_int_equal(lane->blocks, 0);
}

PATH_TEST(pull_path_due__as_rfc_6298_within_bounds)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    ask(fixture, 0, 0, 100, START_NS);
    pull_path_time(path, START_NS, START_NS + 1000000);
    assert_int_equal(path->srtt_ns, 1000000);
    assert_int_equal(path->rttvar_ns, 500000);
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]), START_NS + 3000000);
    pull_path_time(path, START_NS, START_NS + 1800000);
    assert_int_equal(path->srtt_ns, 1100000);
    assert_int_equal(path->rttvar_ns, 575000);
    for (unsigned i = 0; i < 100; i++) {
        pull_path_time(path, START_NS, START_NS); /* at once */
    }
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]),
                     START_NS + PULL_TIMEOUT_MIN_NS);
    pull_path_time(path, 0, UINT64_C(1) << 60);
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]),
                     START_NS + PULL_TIMEOUT_MAX_NS);
}

/** One that has not been timed is as quick as the others, and none is expected to be quicker. */
PATH_TEST(pull_path_due__in_a_crowd_as_all_paths_together)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];
    const struct rtt all = {.smoothed_ns = 600000, .deviation_ns = 100000};

    ask(fixture, 0, 0, 500, START_NS);
    fixture->layer.pulls_crowd = true;
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]),
                     START_NS + PULL_TIMEOUT_FIRST_NS); /* nor have the others been */
    fixture->layer.pull_rtt = all;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]),
                         START_NS + 600000 + PULL_CROWD_DEVIATIONS * 100000);
        pull_path_time(path, START_NS, START_NS + 200000);
    }
    fixture->layer.pulls_crowd = false;
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]), START_NS + 500000);
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
}

/** What is left of a train is not late because the train has waited for long. */
PATH_TEST(pull_path_due__the_rest_of_what_has_begun_to_come_is_soon_missed)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];
    struct pull_block *block = &fixture->blocks[0];

    block->missing = 0xF;
    ask(fixture, 0, 0, 60000, START_NS);
    pull_path_time(path, START_NS, START_NS + 8000000);
    (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS + 777);
    path->heard_serial = block->serial;
    assert_int_equal(pull_path_due(&fixture->layer, path, block), START_NS + 777 + 24000000);
    block->missing = 0x8;
    assert_int_equal(pull_path_due(&fixture->layer, path, block),
                     START_NS + 777 + 24000000); /* no rate is known */
    path->rate.bytes_per_us = 120;               /* half a millisecond a block */
    assert_int_equal(pull_path_due(&fixture->layer, path, block),
                     START_NS + 777 + PULL_REST_BLOCKS * 500000);
    path->rate.bytes_per_us = 6000;
    assert_int_equal(pull_path_due(&fixture->layer, path, block),
                     START_NS + 777 + PULL_TIMEOUT_MIN_NS);
    path->rate.bytes_per_us = 1; /* not later than without it */
    assert_int_equal(pull_path_due(&fixture->layer, path, block), START_NS + 777 + 24000000);
    block->missing = 0xF;
    path->rate.bytes_per_us = 120;
    assert_int_equal(pull_path_due(&fixture->layer, path, block),
                     START_NS + 777 + 24000000); /* it has not begun */
}

PATH_TEST(pull_path_due__does_not_wait_for_what_was_asked_later)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    ask(fixture, 0, 0, 100, START_NS);
    ask(fixture, 1, 0, 100, START_NS);
    (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS + 777);
    path->heard_serial = fixture->blocks[1].serial;
    assert_int_equal(pull_path_due(&fixture->layer, path, &fixture->blocks[0]),
                     START_NS + PULL_TIMEOUT_FIRST_NS);
}

PATH_TEST(pull_path_choose__shares_by_rate)
{
    uint64_t asked[2] = {0};

    fixture->peer.pull_paths[0].rate.bytes_per_us = 1000;
    fixture->peer.pull_paths[1].rate.bytes_per_us = 3000;
    for (unsigned i = 0; i < 400; i++) {
        unsigned lane = choose(fixture, START_NS);
        assert_true(lane < 2);
        fixture->peer.pull_paths[lane].outstanding_bytes += 100;
        asked[lane]++;
    }
    assert_int_equal(asked[0], 100);
    assert_int_equal(asked[1], 300);
}

PATH_TEST(pull_path_choose__only_where_there_is_room)
{
    ask(fixture, 0, 0, CAPACITY - 99, START_NS);
    assert_int_equal(choose_more(fixture, START_NS, 0), 1);
    ask(fixture, 1, 1, CAPACITY - 100, START_NS);
    assert_int_equal(choose_more(fixture, START_NS, 0), 1);
    assert_int_equal(choose_more(fixture, START_NS, 2), LANES_MAX); /* others wait for it */
    ask(fixture, 2, 1, 100, START_NS);
    assert_int_equal(choose_more(fixture, START_NS, 0), LANES_MAX);
    assert_int_not_equal(choose(fixture, START_NS), LANES_MAX);
}

PATH_TEST(pull_path_choose__not_the_silent_one)
{
    ask(fixture, 0, 0, 100, START_NS);
    fall_silent(fixture, 0, 1, START_NS);
    fixture->peer.pull_paths[1].outstanding_bytes = UINT32_C(1) << 31;
    assert_int_equal(choose(fixture, START_NS), 1);
    /* When its time has come it is tried again, with one block. */
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
    uint64_t later_ns = fixture->peer.pull_paths[0].avoid_ns;
    assert_int_equal(choose(fixture, later_ns - 1), 1);
    assert_int_equal(choose_more(fixture, later_ns, 0), 0);
    ask(fixture, 0, 0, 100, later_ns);
    assert_int_equal(choose(fixture, later_ns), 1);
    (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, later_ns);
    assert_int_equal(choose(fixture, later_ns), 0);
}

PATH_TEST(pull_path_silent__tried_ever_less_often_if_it_never_worked)
{
    const struct pull_path *path = &fixture->peer.pull_paths[0];
    uint64_t pause_ns = 2 * (uint64_t)PULL_AVOID_NS;

    fall_silent(fixture, 0, PULL_PATIENCE_SILENCES - 1, START_NS);
    for (unsigned i = PULL_PATIENCE_SILENCES; i < PULL_AVOID_DOUBLINGS; i++) {
        fall_silent(fixture, 0, 1, START_NS);
        assert_int_equal(path->avoid_ns, START_NS + 2 * pause_ns);
        pause_ns *= 2;
    }
    fall_silent(fixture, 0, 20, START_NS);
    assert_int_equal(path->avoid_ns, START_NS + ((uint64_t)PULL_AVOID_NS << PULL_AVOID_DOUBLINGS));
    (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS);
    fall_silent(fixture, 0, 20, START_NS);
    assert_int_equal(path->avoid_ns, START_NS + PULL_AVOID_TIMEOUTS * PULL_TIMEOUT_MAX_NS);
}

/** A peer without a core is silent on all paths: that says little of one that has worked. */
PATH_TEST(pull_path_silent__tried_again_soon_if_it_has_worked)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    for (unsigned i = 0; i < 2; i++) {
        pull_path_time(path, START_NS, START_NS);
        (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS);
        fall_silent(fixture, 0, PULL_PATIENCE_SILENCES, START_NS);
        assert_in_range(path->avoid_ns, START_NS + 1, START_NS + PULL_TIMEOUT_FIRST_NS);
    }
}

/** What is tried on it is late by a timeout: that is a small part of the time, however long blocks
 *  take. */
PATH_TEST(pull_path_choose__a_path_that_worked_loses_all_data__few_blocks_are_late)
{
    uint64_t block_ns = 1000000;
    uint64_t now_ns = START_NS;
    uint64_t late_ns = 0;

    for (unsigned i = 0; i < 2; i++) {
        pull_path_time(&fixture->peer.pull_paths[i], now_ns, now_ns + block_ns);
        (void)pull_path_heard(&fixture->layer, &fixture->peer, i, now_ns);
    }
    fall_silent(fixture, 0, PULL_PATIENCE_SILENCES, now_ns);
    while (now_ns < START_NS + UINT64_C(10000000000)) {
        unsigned lane = choose(fixture, now_ns);
        ask(fixture, 0, lane, 100, now_ns);
        if (lane == 1) {
            now_ns += block_ns;
            (void)pull_path_heard(&fixture->layer, &fixture->peer, 1, now_ns);
        } else {
            uint64_t due_ns =
                pull_path_due(&fixture->layer, &fixture->peer.pull_paths[0], &fixture->blocks[0]);
            late_ns += due_ns - now_ns;
            now_ns = due_ns;
            pull_path_silent(&fixture->layer, &fixture->peer, 0, now_ns);
        }
        pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
    }
    assert_in_range(late_ns, 1, (now_ns - START_NS) / 4);
}

/** One that has never worked has perhaps been unlucky; and one that worked once need not again. */
PATH_TEST(pull_path_choose__all_are_quiet_for_long)
{
    uint64_t now_ns = START_NS;
    unsigned tried[2] = {0};

    fixture->peer.bulk_lanes = fixture->peer.usable_lanes = 3;
    (void)pull_path_heard(&fixture->layer, &fixture->peer, 0, START_NS);
    fall_silent(fixture, 0, PULL_PATIENCE_SILENCES, START_NS);
    fall_silent(fixture, 1, PULL_AVOID_DOUBLINGS, START_NS);
    ask(fixture, 0, 0, 100, START_NS);
    while (now_ns < START_NS + 20 * (uint64_t)PULL_AVOID_NS) {
        unsigned lane = choose(fixture, now_ns);
        tried[lane]++;
        now_ns += PULL_AVOID_NS;
        fall_silent(fixture, lane, 1, now_ns);
    }
    assert_true(tried[1] >= 2);
    assert_true(tried[0] > tried[1]);
}

#define LARGE 100000u
#define SHORT 1000u /**< a segment */

/** A switch's buffer is full, so others lose as well. */
PATH_TEST(pull_path_yield__less_is_requested_once_for_what_was_requested_before)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    fixture->layer.lanes[0].capacity_bytes = UINT64_C(100) * LARGE;
    fixture->peer.bulk_lanes = fixture->peer.usable_lanes = 1;
    for (unsigned i = 0; i < 4; i++) {
        ask(fixture, i, 0, LARGE, START_NS);
    }
    assert_int_equal(choose_more(fixture, START_NS, 0), 0);
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
    assert_int_equal(path->window_bytes, 4 * LARGE * PULL_YIELD_PERCENT / 100);
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[3], SHORT);
    assert_int_equal(path->window_bytes, 4 * LARGE * PULL_YIELD_PERCENT / 100);
    assert_int_equal(choose_more(fixture, START_NS, 0), LANES_MAX);
    for (unsigned i = 0; i < 3; i++) {
        pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[i]);
    }
    assert_int_equal(choose_more(fixture, START_NS, 0), 0);
    assert_int_equal(pull_path_bytes(&fixture->layer, &fixture->peer), UINT64_MAX);
    /* Whatever is lost, a piece may be requested. */
    for (unsigned i = 0; i < 20; i++) {
        ask(fixture, 0, 0, LARGE, START_NS);
        pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
        pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
    }
    assert_int_equal(path->window_bytes, PULL_YIELD_BYTES_MIN);
    assert_int_equal(pull_path_bytes(&fixture->layer, &fixture->peer), PULL_YIELD_BYTES_MIN / 2);
    assert_int_equal(choose_more(fixture, START_NS, 0), LANES_MAX);
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[3]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(choose_more(fixture, START_NS, 0), 0);
        ask(fixture, i, 0, PULL_YIELD_BYTES_MIN / 2, START_NS);
    }
    assert_int_equal(choose_more(fixture, START_NS, 0), LANES_MAX);
}

/** Otherwise nothing would come later that shows a loss. */
PATH_TEST(pull_path_yield__two_segments_fit)
{
    ask(fixture, 0, 0, LARGE, START_NS);
    for (unsigned i = 0; i < 20; i++) {
        pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], LARGE / 4);
        fixture->blocks[0].serial = ++fixture->peer.pull_paths[0].serial;
    }
    assert_int_equal(fixture->peer.pull_paths[0].window_bytes, LARGE / 2);
}

/** Many others are known, but none sends now. */
PATH_TEST(pull_path_bytes__of_a_limited_peer_after_losses)
{
    fixture->layer.far_peers = PULL_FREE_PEERS + 1;
    fixture->layer.pull_window_bytes = UINT64_C(100) * LARGE;
    ask(fixture, 0, 0, LARGE, START_NS);
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
    assert_int_equal(pull_path_bytes(&fixture->layer, &fixture->peer),
                     LARGE * PULL_YIELD_PERCENT / 100 / 2);
}

/** The last block of a message is lost, and little is under way: that says nothing of how much was
 *  too much. */
PATH_TEST(pull_path_yield__by_a_part_of_the_most_that_was_requested)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    for (unsigned i = 0; i < 4; i++) {
        ask(fixture, i, 0, LARGE, START_NS);
    }
    for (unsigned i = 0; i < 3; i++) {
        pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[i]);
    }
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[3], SHORT);
    assert_int_equal(path->window_bytes, 4 * LARGE * PULL_YIELD_PERCENT / 100);
}

PATH_TEST(pull_path_yield__not_in_a_crowd_nor_for_what_came_unasked)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];

    ask(fixture, 0, 0, LARGE, START_NS);
    fixture->blocks[0].unasked = true;
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
    fixture->blocks[0].unasked = false;
    fixture->layer.far_peers = PULL_FREE_PEERS + 1;
    fixture->layer.pulls_crowd = true;
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
    assert_int_equal(path->window_bytes, 0);
}

/** As much comes as is requested at the same time: about half a segment more each time. */
PATH_TEST(pull_path_recover__until_there_is_no_limit)
{
    struct pull_path *path = &fixture->peer.pull_paths[0];
    double came = 0;

    fixture->layer.lanes[0].capacity_bytes = 2 * LARGE;
    for (unsigned i = 0; i < 2; i++) {
        ask(fixture, i, 0, LARGE, START_NS);
    }
    pull_path_recover(&fixture->layer, path, &fixture->blocks[0], SHORT);
    assert_int_equal(path->window_bytes, 0); /* nothing was lost */
    pull_path_yield(&fixture->layer, &fixture->peer, &fixture->blocks[0], SHORT);
    double least = path->window_bytes;
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[0]);
    pull_path_settle(&fixture->layer, &fixture->peer, &fixture->blocks[1]);
    pull_path_recover(&fixture->layer, path, &fixture->blocks[0], SHORT);
    assert_true(path->window_bytes == least); /* it is not what limits */
    for (unsigned i = 0; i < 2; i++) {
        ask(fixture, i, 0, LARGE, START_NS);
    }
    while (path->window_bytes != 0) {
        pull_path_recover(&fixture->layer, path, &fixture->blocks[0], SHORT);
        came += LARGE;
    }
    /* The window grows by a constant / window for each byte. */
    double expected =
        (4.0 * LARGE * LARGE - least * least) / 2 / (SHORT * PULL_RECOVER_PERCENT / 100.0);
    assert_true(came > 0.95 * expected && came < 1.05 * expected);
}
