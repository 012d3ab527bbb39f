/* SPDX-License-Identifier: BSD-3-Clause */
/* A ping-pong from and to anywhere in a page. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_ALIGNMENT)

TEST_AROUND(alignment__arrives_whole_from_everywhere, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        two_ends_run();
        two_ends_expect_whole(10, 10);
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
    two_ends_expect_whole(MEASURE_SLACK_BYTES, MEASURE_SLACK_BYTES);
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
