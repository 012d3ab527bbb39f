/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include "testing.h"

static void now__never_goes_back(void **state)
{
    (void)state;
    uint64_t last = clock_now_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void measure__costs_that_can_be(void **state)
{
    (void)state;
    struct clock_cost cost = clock_measure();
    assert_true(cost.overhead_ns > 0);
    assert_true(cost.overhead_p99_ns > 0);
    assert_true(cost.resolution_ns > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now__never_goes_back),
        cmocka_unit_test(measure__costs_that_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
