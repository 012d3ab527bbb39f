/* SPDX-License-Identifier: BSD-3-Clause */
/* One sender of an incast. */
#include "two_ends.h"

#include "clock.h"

TWO_ENDS_OF(PATTERN_INCAST)

static void expect_whole(uint64_t messages)
{
    assert_int_equal(initiator.error, 0);
    assert_int_equal(responder.error, 0);
    assert_int_equal(initiator.result.sent, messages);
    assert_int_equal(responder.result.received, messages);
    assert_int_equal(initiator.samples.samples, messages);
    assert_true(initiator.result.in_step && responder.result.in_step);
}

TEST_AROUND(incast__begins_when_it_is_told_and_keeps_its_times, prepare, NULL)
{
    asked.start_ns = clock_now_ns() + 3 * NS_PER_MS;
    asked.interval_ns = 300000;
    asked.skip = 2;
    two_ends_run();
    expect_whole(10);
    assert_true(initiator.result.started_ns >= asked.start_ns + asked.interval_ns);
    assert_true(initiator.result.started_ns + initiator.result.elapsed_ns >=
                asked.start_ns + (asked.skip + 9) * asked.interval_ns);
    assert_int_equal(initiator.result.finished, 10);
    for (uint64_t i = 0; i < 10; i++) {
        assert_true(initiator.result.finished_ns[i] <= initiator.samples.max_ns);
    }
}

/* All were due long ago: that is in what they took. */
TEST_AROUND(incast__what_is_late_counts_from_when_it_was_due, prepare, NULL)
{
    const uint64_t late_ns = UINT64_C(40000000);
    asked.start_ns = clock_now_ns() - late_ns;
    asked.interval_ns = 1;
    asked.skip = 0;
    two_ends_run();
    expect_whole(10);
    assert_true(initiator.samples.min_ns >= late_ns - 10);
    assert_int_equal(initiator.result.late, 10);
}

TEST_AROUND(incast__no_more_are_reported_one_by_one_than_there_is_room_for, prepare, NULL)
{
    asked.count = MEASURE_FINISHED_MAX + 5;
    two_ends_run();
    expect_whole(MEASURE_FINISHED_MAX + 5);
    assert_int_equal(initiator.result.finished, MEASURE_FINISHED_MAX);
}

TEST_AROUND(incast__stopped_between_two_messages_stays_in_step, prepare, NULL)
{
    stop_at_once = true;
    asked.skip = 0;
    asked.interval_ns = NS_PER_MS;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped && initiator.result.in_step);
    assert_true(initiator.result.sent <= 11); /* it looks each 10 ms */
}
