/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/number.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define ETHERTYPE 0x88B5

static void number_reserve__any_that_is_free(void **state)
{
    uint16_t first = 0;
    uint16_t second = 0;
    int holders[2];

    (void)state;
    assert_int_equal(number_reserve(ETHERTYPE, &first, &holders[0]), 0);
    assert_int_equal(number_reserve(ETHERTYPE, &second, &holders[1]), 0);
    assert_int_not_equal(first, 0);
    assert_int_not_equal(second, 0);
    assert_int_not_equal(first, second);
    close(holders[0]);
    close(holders[1]);
}

static void number_reserve__taken_until_the_holder_is_closed(void **state)
{
    uint16_t number = 0;
    int first;
    int second = -1;

    (void)state;
    assert_int_equal(number_reserve(ETHERTYPE, &number, &first), 0);
    assert_int_equal(number_reserve(ETHERTYPE, &number, &second), -EADDRINUSE);
    assert_int_equal(second, -1);
    assert_int_equal(number_reserve(ETHERTYPE + 1, &number, &second), 0); /* other frames */
    close(second);
    close(first);
    assert_int_equal(number_reserve(ETHERTYPE, &number, &first), 0);
    close(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_reserve__any_that_is_free),
        cmocka_unit_test(number_reserve__taken_until_the_holder_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
