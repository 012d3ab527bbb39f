/* SPDX-License-Identifier: BSD-3-Clause */
/* A ping-pong that walks through memory. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_COLD)

TEST_AROUND(cold__arrives_whole_and_says_how_far_it_walks, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        two_ends_run();
        two_ends_expect_whole(10, 10);
        assert_int_equal(initiator.samples.samples, 10);
        assert_true(initiator.result.walk_bytes > 0);
        assert_true(responder.result.walk_bytes > 0);
    }
}
