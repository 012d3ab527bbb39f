/* SPDX-License-Identifier: BSD-3-Clause */
/* A ping-pong from and to anywhere in a page. */
#include "two_ends.h"

static int prepare(void **state)
{
    (void)state;
    two_ends_prepare(&PATTERN_ALIGNMENT);
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

TEST_AROUND(alignment__arrives_whole_from_everywhere, prepare, NULL)
{
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        asked.size = SIZES[i];
        two_ends_run();
        expect_whole(10, 10);
        assert_int_equal(initiator.samples.samples, 10);
    }
}

/* The walk visits each byte of a page, at both ends, and stays within the buffer. */
TEST_AROUND(alignment__each_place_of_a_page, prepare, NULL)
{
    asked.size = 1;
    asked.skip = 0;
    asked.count = MEASURE_SLACK_BYTES;
    two_ends_run();
    expect_whole(MEASURE_SLACK_BYTES, MEASURE_SLACK_BYTES);
    for (size_t i = 0; i < MEASURE_SLACK_BYTES; i++) {
        responder.request.incoming[i] = initiator.request.incoming[i] = 0;
        initiator.request.outgoing[i] = 0xA5;
    }
    responder.request.incoming[MEASURE_SLACK_BYTES] = 0;
    two_ends_run();
    size_t written = 0;
    for (size_t i = 0; i < MEASURE_SLACK_BYTES; i++) {
        written += responder.request.incoming[i] != 0 ? 1 : 0;
    }
    assert_true(written >= MEASURE_SLACK_BYTES - 1); /* the stamp may be a zero */
    assert_int_equal(responder.request.incoming[MEASURE_SLACK_BYTES], 0);
}
