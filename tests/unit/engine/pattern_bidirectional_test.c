/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream each way at the same time. */
#include "two_ends.h"

#include <errno.h>

TWO_ENDS_OF(PATTERN_BIDIRECTIONAL)

TEST_AROUND(bidirectional__both_ways_whole, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        for (asked.skip = 0; asked.skip <= 4; asked.skip += 4) {
            two_ends_run();
            two_ends_expect_whole(10, 10);
            assert_int_equal(responder.result.sent, 10);
            assert_int_equal(responder.result.received, 10);
            assert_int_equal(initiator.samples.samples, 0);
        }
    }
}

TEST_AROUND(bidirectional__many_under_way_at_once, prepare, NULL)
{
    asked.count = 1000;
    two_ends_run();
    two_ends_expect_whole(1000, 1000);
    assert_int_equal(initiator.most_posted, 64);
    assert_int_equal(responder.most_posted, 64);
}

TEST_AROUND(bidirectional__cut_short_is_out_of_step, prepare, NULL)
{
    stop_at_once = true;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped);
    assert_false(initiator.result.in_step);
    assert_true(responder.error == -ECONNRESET || responder.error == -EPIPE);
}
