/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/rtt.h"
#include "unit/test.h"

#include <stddef.h>

TEST(rtt_sample__first_is_taken_as_it_is)
{
    struct rtt rtt = {0};

    rtt_sample(&rtt, 5, 80000);
    assert_int_equal(rtt.smoothed_ns, 80000);
    assert_int_equal(rtt.deviation_ns, 40000);
    assert_int_equal(rtt.minimum_ns, 80000);
}

TEST(rtt_sample__later_ones_are_smoothed)
{
    struct rtt rtt = {0};

    rtt_sample(&rtt, 5, 80000);
    rtt_sample(&rtt, 6, 160000);
    assert_int_equal(rtt.smoothed_ns, (7 * 80000 + 160000) / 8);
    assert_int_equal(rtt.deviation_ns, (3 * 40000 + 80000) / 4);
    assert_int_equal(rtt.minimum_ns, 80000);
}

TEST(rtt_sample__none_is_not_zero)
{
    struct rtt rtt = {0};

    for (unsigned i = 0; i < 50; i++) {
        rtt_sample(&rtt, i, 0);
        assert_int_equal(rtt.smoothed_ns, 1);
        assert_int_equal(rtt.minimum_ns, 1);
    }
}

TEST(rtt_between__an_end_was_away)
{
    assert_int_equal(rtt_between(100, 100), 0);
    assert_int_equal(rtt_between(100, 20100), 20000);
    assert_int_equal(rtt_between(100, 100 + UINT64_C(60000000000)), FLOW_RTO_MAX_NS);
}

TEST(rtt_minimum__follows_a_longer_way_after_two_periods)
{
    struct rtt rtt = {0};

    rtt_sample(&rtt, 1, 20000);
    for (uint64_t now_ns = 2; now_ns < RTT_PERIOD_NS; now_ns += RTT_PERIOD_NS / 10) {
        rtt_sample(&rtt, now_ns, 50000);
        assert_int_equal(rtt.minimum_ns, 20000);
    }
    rtt_sample(&rtt, 1 + RTT_PERIOD_NS, 50000);
    assert_int_equal(rtt.minimum_ns, 20000); /* of the period before */
    rtt_sample(&rtt, 1 + 2 * RTT_PERIOD_NS, 60000);
    assert_int_equal(rtt.minimum_ns, 50000);
    rtt_sample(&rtt, 2 + 2 * RTT_PERIOD_NS, 40000); /* a shorter one holds at once */
    assert_int_equal(rtt.minimum_ns, 40000);
}
