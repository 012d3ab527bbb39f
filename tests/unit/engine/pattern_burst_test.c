/* SPDX-License-Identifier: BSD-3-Clause */
/* Bursts into receives that were posted before. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_BURST)

TEST_AROUND(burst__arrives_whole, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        for (asked.skip = 0; asked.skip <= 4; asked.skip += 4) {
            two_ends_run();
            two_ends_expect_whole(10, 0);
            assert_int_equal(responder.result.received, 10);
            assert_int_equal(responder.most_posted, 10);
            assert_int_equal(initiator.most_posted, 0);
        }
    }
}

TEST_AROUND(burst__has_64_messages_at_most, prepare, NULL)
{
    asked.skip = 70;
    asked.count = 200;
    two_ends_run();
    two_ends_expect_whole(200, 0);
    assert_int_equal(responder.most_posted, 64);
}

TEST_AROUND(burst__cut_short_is_out_of_step, prepare, NULL)
{
    stop_at_once = true;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped);
    assert_false(initiator.result.in_step);
}
