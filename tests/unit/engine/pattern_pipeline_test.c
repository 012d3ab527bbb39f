/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between pieces of work. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_PIPELINE)

TEST_AROUND(pipeline__each_sweep_is_a_sample, prepare, NULL)
{
    asked.batch = 4;
    TWO_ENDS_EACH_SIZE
    {
        for (asked.skip = 0; asked.skip <= 5; asked.skip += 5) {
            two_ends_run();
            two_ends_expect_whole(10, 10);
            assert_int_equal(responder.result.received, 10);
            assert_int_equal(initiator.samples.samples, 3); /* of 4, 4 and 2 */
        }
    }
}

/* 40 messages have 40 pieces of 20 us before them: that much has passed, and is in no sample. */
TEST_AROUND(pipeline__work_is_in_the_time_and_not_in_the_cost, prepare, NULL)
{
    asked.count = 40;
    asked.batch = 20;
    asked.size = 8;
    two_ends_run();
    two_ends_expect_whole(40, 40);
    assert_true(initiator.result.elapsed_ns > UINT64_C(40) * 10000);
    assert_true(initiator.samples.min_ns < initiator.result.elapsed_ns / 40);
}

TEST_AROUND(pipeline__stopped_between_two_sweeps_stays_in_step, prepare, NULL)
{
    stop_at_once = true;
    asked.skip = 0;
    asked.count = UINT64_C(1) << 40;
    asked.batch = 3;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped && initiator.result.in_step);
    assert_int_equal(initiator.result.sent, 3);
}
