/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void patience_open__as_long_as_a_wake_up_takes(void **state)
{
    struct patience patience;

    (void)state;
    patience_open(&patience);
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MAX_NS);
    assert_false(patience_is_crowded(&patience));
}

static void patience_disturbed__down_to_almost_nothing(void **state)
{
    struct patience patience;

    (void)state;
    patience_open(&patience);
    patience_disturbed(&patience);
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MAX_NS / 4);
    assert_true(patience_is_crowded(&patience));
    for (int i = 0; i < 100; i++) {
        patience_disturbed(&patience);
    }
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MIN_NS);
}

static void patience_limit__is_not_exceeded(void **state)
{
    struct patience patience;

    (void)state;
    patience_open(&patience);
    patience_limit(&patience, 8000);
    assert_int_equal(patience.spin_ns, 8000);
    patience_undisturbed(&patience);
    assert_int_equal(patience.spin_ns, 8000);
    assert_false(patience_is_crowded(&patience));
    patience_disturbed(&patience);
    assert_int_equal(patience.spin_ns, 2000);
    assert_true(patience_is_crowded(&patience));
}

static void patience_undisturbed__grows_back_and_no_further(void **state)
{
    struct patience patience;
    unsigned waits = 0;

    (void)state;
    patience_open(&patience);
    patience_disturbed(&patience);
    while (patience.spin_ns < PATIENCE_SPIN_MAX_NS) {
        patience_undisturbed(&patience);
        waits++;
    }
    assert_int_equal(waits, (PATIENCE_SPIN_MAX_NS - PATIENCE_SPIN_MAX_NS / 4) / PATIENCE_GROWTH_NS);
    patience_undisturbed(&patience);
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MAX_NS);
    assert_false(patience_is_crowded(&patience));
}

static void patience_is_gap__longer_than_any_look_takes(void **state)
{
    (void)state;
    assert_false(patience_is_gap(PATIENCE_GAP_NS - 1));
    assert_true(patience_is_gap(PATIENCE_GAP_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_open__as_long_as_a_wake_up_takes),
        cmocka_unit_test(patience_disturbed__down_to_almost_nothing),
        cmocka_unit_test(patience_limit__is_not_exceeded),
        cmocka_unit_test(patience_undisturbed__grows_back_and_no_further),
        cmocka_unit_test(patience_is_gap__longer_than_any_look_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
