/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/hold.h"
#include "unit/test.h"

#include <stddef.h>

#define START_NS UINT64_C(1000000000)
#define LEAST 8

static struct hold hold;
static uint64_t now_ns;

static int setup(void **state)
{
    hold_init(&hold, LEAST);
    now_ns = START_NS;
    return 0;
}

/** The application does something else for so long, and then posts. @return may it wait? */
static bool post_after(uint64_t gap_ns)
{
    now_ns += gap_ns;
    bool may = hold_post(&hold, now_ns);
    now_ns += 1000; /* what it takes to send it */
    if (hold_may_run(&hold)) {
        hold_posted(&hold, false, now_ns);
    }
    return may;
}

static unsigned posts_let_go(uint64_t gap_ns, unsigned most)
{
    unsigned count = 0;

    while (count < most && !post_after(gap_ns)) {
        count++;
    }
    return count;
}

TEST_AROUND(hold_post__the_first_of_a_run_leave_as_they_come, setup, NULL)
{
    assert_int_equal(posts_let_go(100, 1000), LEAST);
}

TEST_AROUND(hold_post__between_pieces_of_work_each_leaves, setup, NULL)
{
    assert_int_equal(posts_let_go(HOLD_GAP_NS + 1, 1000), 1000);
}

TEST_AROUND(hold_post__after_a_gap_it_leaves_and_a_long_run_goes_on, setup, NULL)
{
    (void)posts_let_go(100, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        (void)post_after(100);
    }
    assert_false(post_after(10000));
    assert_true(post_after(100));
}

TEST_AROUND(hold_post__after_some_gaps_the_run_is_over, setup, NULL)
{
    for (unsigned i = 0; i < 1000; i++) {
        (void)post_after(100);
    }
    for (unsigned i = 0; i < 5; i++) {
        assert_false(post_after(20000));
    }
    assert_false(post_after(100));
}

/** What passes in our calls is not the application's. */
TEST_AROUND(hold_look__takes_no_time, setup, NULL)
{
    for (unsigned i = 0; i < 1000; i++) {
        bool may = post_after(500);
        assert_int_equal(may, i >= LEAST);
        now_ns += 500;
        if (hold_may_run(&hold)) {
            assert_false(hold_look(&hold, i % 2 == 0, now_ns));
        }
    }
}

TEST_AROUND(hold_look__some_in_vain_end_the_run, setup, NULL)
{
    (void)posts_let_go(100, 1000);
    for (unsigned i = 0; i < HOLD_POLLS; i++) {
        assert_false(hold_look(&hold, true, now_ns));
        assert_false(hold_look(&hold, false, now_ns)); /* these do not count */
    }
    assert_true(hold_look(&hold, true, now_ns));
}

TEST_AROUND(hold_look__after_work_ends_the_run, setup, NULL)
{
    (void)posts_let_go(100, 1000);
    now_ns += HOLD_GAP_NS + 1;
    assert_true(hold_look(&hold, false, now_ns));
}

TEST_AROUND(hold_look__is_asked_for_no_longer_when_the_run_is_over, setup, NULL)
{
    (void)posts_let_go(100, 1000);
    while (!hold_look(&hold, true, now_ns)) {
        assert_true(hold_may_run(&hold));
    }
    assert_false(hold_may_run(&hold));
}

/** Whoever finds no room tries again, as often as it takes, and is still in its run. */
TEST_AROUND(hold_look__for_room_does_not_end_the_run, setup, NULL)
{
    (void)posts_let_go(100, 1000);
    (void)hold_post(&hold, now_ns);
    hold_posted(&hold, true, now_ns);
    for (unsigned i = 0; i < 1000; i++) {
        now_ns += 500;
        assert_false(hold_look(&hold, true, now_ns));
    }
    assert_true(post_after(500));
}

TEST_AROUND(hold_is_over__in_time, setup, NULL)
{
    hold.since_ns = now_ns;
    assert_false(hold_is_over(&hold, now_ns + HOLD_NS));
    assert_true(hold_is_over(&hold, now_ns + HOLD_NS + 1));
}

/** As an application does that sends some, and computes. */
TEST_AROUND(hold_run_ended__late_so_that_longer_runs_leave_as_they_come, setup, NULL)
{
    const unsigned burst = 20;
    unsigned held = 0;

    for (unsigned burst_at = 0; burst_at < 10; burst_at++) {
        held = 0;
        for (unsigned i = 0; i < burst; i++) {
            held += post_after(i == 0 ? 200000 : 100);
        }
        if (held > 0) {
            hold_run_ended(&hold, true, now_ns + HOLD_LATE_NS + 1);
        }
    }
    assert_int_equal(held, 0);
}

TEST_AROUND(hold_run_ended__in_time_often_enough_it_is_trusted_again, setup, NULL)
{
    hold.run = LEAST;
    hold_run_ended(&hold, true, now_ns + HOLD_LATE_NS + 1);
    assert_int_equal(hold.run_min, 2 * LEAST);
    for (unsigned i = 0; i < HOLD_TRUST_RUNS; i++) {
        assert_int_equal(hold.run_min, 2 * LEAST);
        hold.posted_ns = now_ns;
        hold.run = LEAST;
        hold_run_ended(&hold, true, now_ns + 1);
    }
    assert_int_equal(hold.run_min, LEAST);
    for (unsigned i = 0; i < 10 * HOLD_TRUST_RUNS; i++) {
        hold.run = LEAST;
        hold_run_ended(&hold, true, now_ns + 1);
    }
    assert_int_equal(hold.run_min, LEAST);
}

TEST_AROUND(hold_run_ended__a_long_run_may_end_a_little_late, setup, NULL)
{
    hold.run = HOLD_RUN_MAX;
    hold_run_ended(&hold, true, now_ns + HOLD_LATE_NS + 1);
    assert_int_equal(hold.run_min, LEAST);
}

TEST_AROUND(hold_run_ended__late_is_no_harm_if_nothing_was_held, setup, NULL)
{
    hold.run = LEAST;
    hold_run_ended(&hold, false, now_ns + HOLD_LATE_NS + 1);
    assert_int_equal(hold.run_min, LEAST);
}

TEST_AROUND(hold_run_ended__late_ever_again_has_a_limit, setup, NULL)
{
    for (unsigned i = 0; i < 100; i++) {
        hold.run = HOLD_RUN_MAX - 1;
        hold_run_ended(&hold, true, now_ns + HOLD_LATE_NS + 1);
    }
    assert_int_equal(hold.run_min, HOLD_RUN_MAX);
    hold_init(&hold, LEAST);
    hold.run_min = HOLD_RUN_MAX;
    assert_int_equal(posts_let_go(100, 1000), HOLD_RUN_MAX);
}
