/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void waiting__polls_a_while_at_first(void **state)
{
    const struct waiting waiting = {0};

    (void)state;
    assert_false(waiting_is_over(&waiting, 0));
    assert_false(waiting_is_over(&waiting, 99999));
    assert_true(waiting_is_over(&waiting, 100000));
}

static void waiting_came__polling_in_vain_twice_is_enough(void **state)
{
    struct waiting waiting = {0};

    (void)state;
    waiting_came(&waiting, 500000, true);
    waiting_came(&waiting, 20000, false);
    waiting_came(&waiting, 500000, true);
    assert_false(waiting_is_over(&waiting, 0));
    waiting_came(&waiting, 500000, true);
    assert_true(waiting_is_over(&waiting, 0));
}

static void waiting_came__what_comes_soon_is_polled_for_again(void **state)
{
    struct waiting waiting = {0};

    (void)state;
    waiting_disturbed(&waiting);
    assert_true(waiting_is_over(&waiting, 0));
    for (int i = 0; i < 15; i++) {
        waiting_came(&waiting, 10000, true);
    }
    waiting_came(&waiting, 110000, true);
    for (int i = 0; i < 15; i++) {
        waiting_came(&waiting, 10000, true);
    }
    assert_true(waiting_is_over(&waiting, 0));
    waiting_came(&waiting, 10000, true);
    assert_false(waiting_is_over(&waiting, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting__polls_a_while_at_first),
        cmocka_unit_test(waiting_came__polling_in_vain_twice_is_enough),
        cmocka_unit_test(waiting_came__what_comes_soon_is_polled_for_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
