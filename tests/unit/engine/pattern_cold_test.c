/* SPDX-License-Identifier: BSD-3-Clause */
/* A ping-pong that walks through memory. */
#include "two_ends.h"

static int prepare(void **state)
{
    (void)state;
    two_ends_prepare(&PATTERN_COLD);
    return 0;
}

static void expect_whole(uint64_t sent, uint64_t received)
{
    assert_int_equal(initiator.error, 0);
    assert_int_equal(responder.error, 0);
    assert_int_equal(initiator.result.sent, sent);
    assert_int_equal(initiator.result.received, received);
    assert_false(initiator.result.stopped || responder.result.stopped);
    assert_true(initiator.result.in_step && responder.result.in_step);
    assert_true(initiator.result.elapsed_ns > 0);
}

/* Sizes that fit nowhere between, and those that do not fit into what a socket holds. */
static const uint64_t SIZES[] = {1, 7, 1000, 65537, TWO_ENDS_BYTES_MAX};

TEST_AROUND(cold__arrives_whole_and_says_how_far_it_walks, prepare, NULL)
{
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        asked.size = SIZES[i];
        two_ends_run();
        expect_whole(10, 10);
        assert_int_equal(initiator.samples.samples, 10);
        assert_true(initiator.result.walk_bytes > 0);
        assert_true(responder.result.walk_bytes > 0);
    }
}
