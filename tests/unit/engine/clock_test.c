/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include "testing.h"

TEST(now__never_goes_back)
{
    uint64_t last = clock_now_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

TEST(measure__costs_that_can_be)
{
    struct clock_cost cost = clock_measure();
    assert_true(cost.overhead_ns > 0);
    assert_true(cost.overhead_p99_ns > 0);
    assert_true(cost.resolution_ns > 0);
}
