/* SPDX-License-Identifier: BSD-3-Clause */
/* One way, by the clock of both ends, which in a test is one. */
#include "two_ends.h"

#include <errno.h>

TWO_ENDS_OF(PATTERN_ONEWAY)

static void expect_whole(void)
{
    assert_int_equal(initiator.error, 0);
    assert_int_equal(responder.error, 0);
    assert_int_equal(initiator.result.received, 10);
    assert_int_equal(responder.result.received, 10);
    assert_false(responder.result.stopped);
    assert_int_equal(initiator.samples.samples, 10);
    assert_true(initiator.result.in_step && responder.result.in_step);
}

/* The truth is that the offset is nothing: it is between the bounds, and no way is longer than all
 * of the exchange. */
TEST_AROUND(oneway__bounds_hold_the_true_offset, prepare, NULL)
{
    static const uint64_t SIZES[] = {16, 1000, 65537};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        asked.size = SIZES[i];
        two_ends_run();
        expect_whole();
        const struct measure_clock *clock = &initiator.result.clock;
        assert_true(clock->known);
        assert_true(clock->low_ns <= 0 && clock->high_ns >= 0);
        assert_true(initiator.samples.max_ns <= initiator.result.elapsed_ns);
    }
}

/* A clock that is said to be ahead by an hour makes every message come before it was sent. */
TEST_AROUND(oneway__the_offset_is_taken_off, prepare, NULL)
{
    const uint64_t hour_ns = UINT64_C(3600000000000);
    asked.clock_offset_ns = hour_ns;
    two_ends_run();
    expect_whole();
    assert_int_equal(initiator.samples.max_ns, 0);
    asked.clock_offset_ns = (uint64_t)0 - hour_ns;
    two_ends_run();
    expect_whole();
    assert_true(initiator.samples.min_ns >= hour_ns);
}

TEST_AROUND(oneway__another_answer_ends_the_session, prepare, NULL)
{
    lie = LIE_REPLAY;
    liar = DRIVER_RESPONDER;
    lie_at = 6;
    two_ends_run();
    assert_int_equal(initiator.error, -EBADMSG);
}

TEST_AROUND(oneway__stopped_between_two_messages_stays_in_step, prepare, NULL)
{
    stop_at_once = true;
    asked.skip = 0;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped && initiator.result.in_step);
    assert_int_equal(initiator.result.sent, 1);
}
