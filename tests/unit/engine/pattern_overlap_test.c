/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer beside computing. */
#include "two_ends.h"

TWO_ENDS_OF(PATTERN_OVERLAP)

TEST_AROUND(overlap__every_exchange_is_a_sample, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        two_ends_run();
        two_ends_expect_whole(10, 10);
        assert_int_equal(responder.result.received, 10);
        assert_int_equal(initiator.samples.samples, 10);
        for (int way = 0; way < 2; way++) {
            assert_true(initiator.result.overlap.alone_ns[way] > 0);
            assert_int_equal(responder.result.overlap.alone_ns[way], 0);
        }
    }
}

/* With a whole transfer beside it, computing costs about the time of a transfer; of what comes of
 * that, a message is what is left: never all of the time that both took. */
TEST_AROUND(overlap__what_was_computed_is_not_the_messages, prepare, NULL)
{
    asked.size = TWO_ENDS_BYTES_MAX;
    asked.count = 20;
    two_ends_run();
    two_ends_expect_whole(20, 20);
    uint64_t alone = 0;
    uint64_t beside = 0;
    for (int way = 0; way < 2; way++) {
        alone += initiator.result.overlap.alone_ns[way];
        beside += initiator.result.overlap.beside_ns[way];
    }
    /* Each exchange is both, and as much computing again as it took alone. */
    assert_true(beside > 0);
    assert_true(initiator.result.elapsed_ns / 20 > alone);
    assert_true(initiator.result.elapsed_ns / 20 > beside);
}

TEST_AROUND(overlap__stopped_between_two_exchanges_stays_in_step, prepare, NULL)
{
    stop_at_once = true;
    asked.skip = 0;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_int_equal(initiator.error, 0);
    assert_true(initiator.result.stopped && initiator.result.in_step);
    assert_in_range(initiator.result.received, 1, 1000);
}
