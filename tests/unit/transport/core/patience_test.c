/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/patience.h"
#include "unit/test.h"

#include <stddef.h>

TEST(patience_disturbed__down_to_almost_nothing)
{
    struct patience patience;

    patience_open(&patience);
    patience_disturbed(&patience);
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MAX_NS / 4);
    assert_true(patience_is_crowded(&patience));
    for (int i = 0; i < 100; i++) {
        patience_disturbed(&patience);
    }
    assert_int_equal(patience.spin_ns, PATIENCE_SPIN_MIN_NS);
}

TEST(patience_limit__is_not_exceeded)
{
    struct patience patience;

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

TEST(patience_undisturbed__grows_back_and_no_further)
{
    struct patience patience;
    unsigned waits = 0;

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
