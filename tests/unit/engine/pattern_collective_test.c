/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of both ends together. */
#include <errno.h>
#include <string.h>

#include "two_ends.h"

static const struct pattern *const PATTERNS[] = {&PATTERN_BARRIER, &PATTERN_BROADCAST,
                                                 &PATTERN_ALLREDUCE, &PATTERN_ALLTOALL};
#define COUNT (sizeof PATTERNS / sizeof PATTERNS[0])

static const uint64_t SIZES[] = {1, 7, 1000, TWO_ENDS_BYTES_MAX};

TEST(collective__each_batch_is_a_sample_and_has_one_more_before_it)
{
    for (size_t i = 0; i < COUNT * sizeof SIZES / sizeof SIZES[0]; i++) {
        two_ends_prepare(PATTERNS[i % COUNT]);
        asked.size = SIZES[i / COUNT];
        asked.batch = 4;
        asked.skip = 5;
        two_ends_run();
        assert_int_equal(initiator.error, 0);
        assert_int_equal(responder.error, 0);
        assert_int_equal(initiator.samples.samples, 3); /* of 4, 4 and 2 */
        assert_int_equal(initiator.operations, 5 + 2 + 10 + 3);
        assert_int_equal(responder.operations, initiator.operations);
        assert_int_equal(initiator.result.received, 10);
        assert_int_equal(responder.result.received, 10);
        assert_false(initiator.result.stopped || responder.result.stopped);
        assert_true(initiator.result.in_step && responder.result.in_step);
        assert_true(initiator.result.elapsed_ns > 0 && responder.result.elapsed_ns > 0);
    }
}

TEST(collective__stopped_between_two_batches_stays_in_step)
{
    for (size_t i = 0; i < COUNT; i++) {
        two_ends_prepare(PATTERNS[i]);
        stop_at_once = true;
        asked.skip = 0;
        asked.batch = 3;
        asked.count = UINT64_C(1) << 40;
        two_ends_run();
        assert_int_equal(initiator.error, 0);
        assert_int_equal(responder.error, 0);
        assert_true(initiator.result.stopped && initiator.result.in_step);
        assert_true(responder.result.stopped && responder.result.in_step);
        assert_int_equal(initiator.result.sent, 3);
    }
}

/* A message of the last batch, of either end. */
TEST(collective__a_wrong_result_is_named)
{
    for (size_t i = 1; i < COUNT; i++) {
        for (liar = DRIVER_INITIATOR; liar <= DRIVER_RESPONDER; liar++) {
            const enum driver_role who = liar;
            two_ends_prepare(PATTERNS[i]);
            liar = who;
            lie = LIE_FLIP;
            lie_byte = 999;
            asked.size = 1000;
            asked.skip = 0;
            asked.count = asked.batch = 1;
            /* After an answer; broadcasts come from either end by turns. */
            lie_at = PATTERNS[i] == &PATTERN_BROADCAST ? 1 : 2;
            two_ends_run();
            const struct end *found = who == DRIVER_INITIATOR ? &responder : &initiator;
            assert_int_equal(found->error, -EBADMSG);
            assert_non_null(strstr(found->result.fault, "999 of the result of "));
        }
    }
}
