/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* How many waits are slept through from now on. */
static unsigned sleeps(struct waiting *waiting)
{
    unsigned count = 0;

    for (waiting_begin(waiting); waiting_spin_ns(waiting) == 0; waiting_begin(waiting)) {
        count++;
    }
    return count;
}

static void waiting__polls_as_long_as_nobody_else_wants_the_core(void **state)
{
    struct waiting waiting = {0};

    (void)state;
    assert_int_equal(sleeps(&waiting), 0);
    waiting_undisturbed(&waiting);
    assert_int_equal(waiting_spin_ns(&waiting), 100000);
}

static void waiting_disturbed__sleeps_at_once_and_tries_ever_more_seldom(void **state)
{
    struct waiting waiting = {0};
    unsigned before = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        waiting_begin(&waiting);
        waiting_disturbed(&waiting);
        assert_int_equal(waiting_spin_ns(&waiting), 0); /* what is left of this wait */
        const unsigned count = sleeps(&waiting);
        assert_true(count > before || count == 256);
        before = count;
    }
    assert_int_equal(before, 256);
}

static void waiting_undisturbed__begins_anew(void **state)
{
    struct waiting waiting = {0};

    (void)state;
    waiting_disturbed(&waiting);
    waiting_undisturbed(&waiting); /* it was slept: that tells nothing */
    (void)sleeps(&waiting);
    waiting_disturbed(&waiting);
    assert_int_equal(sleeps(&waiting), 8);
    waiting_undisturbed(&waiting);
    waiting_disturbed(&waiting);
    assert_int_equal(sleeps(&waiting), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting__polls_as_long_as_nobody_else_wants_the_core),
        cmocka_unit_test(waiting_disturbed__sleeps_at_once_and_tries_ever_more_seldom),
        cmocka_unit_test(waiting_undisturbed__begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
