/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends send, then receive. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_PINGPING)

TEST_AROUND(pingping__every_exchange_is_a_sample, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        two_ends_run();
        two_ends_expect_whole(10, 10);
        assert_int_equal(responder.result.sent, 10);
        assert_int_equal(responder.result.received, 10);
        assert_int_equal(initiator.samples.samples, 10);
        assert_int_equal(responder.samples.samples, 0);
    }
}

TEST_AROUND(pingping__batches_are_divided, prepare, NULL)
{
    asked.count = 10;
    asked.batch = 4;
    asked.skip = 0;
    two_ends_run();
    two_ends_expect_whole(10, 10);
    assert_int_equal(initiator.samples.samples, 3);
}

/* The other end learns it from the last message, and nobody is left waiting. */
TEST_AROUND(pingping__both_leave_after_the_same_exchange, prepare, NULL)
{
    stop_at_once = true;
    asked.count = UINT64_C(1) << 40;
    for (asked.skip = 0; asked.skip <= 5; asked.skip += 5) {
        two_ends_run();
        assert_int_equal(initiator.error, 0);
        assert_int_equal(responder.error, 0);
        assert_true(initiator.result.stopped && responder.result.stopped);
        assert_true(initiator.result.in_step && responder.result.in_step);
        assert_true(initiator.result.received < 3);
    }
}
