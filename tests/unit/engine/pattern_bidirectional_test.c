/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream each way at the same time. */
#include "two_ends.h"

#include <errno.h>

static int prepare(void **state)
{
    (void)state;
    two_ends_prepare(&PATTERN_BIDIRECTIONAL);
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

TEST_AROUND(bidirectional__both_ways_whole, prepare, NULL)
{
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        asked.size = SIZES[i];
        for (asked.skip = 0; asked.skip <= 4; asked.skip += 4) {
            two_ends_run();
            expect_whole(10, 10);
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
    expect_whole(1000, 1000);
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
