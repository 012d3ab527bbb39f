/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <errno.h>
#include <string.h>

#include "testing.h"

/* Of one more than there are, each. */
enum { ERRORS = 200, SIGNALS = 70 };

static void error_name__as_glibc_has_it(void **state)
{
    (void)state;
    for (int error = 1; error < ERRORS; error++) {
        const char *expected = strerrorname_np(error);
        const char *name = error_name(error);
        assert_int_equal(name == NULL, expected == NULL);
        if (expected != NULL) {
            assert_string_equal(name, expected);
        }
    }
    assert_null(error_name(0));
    assert_null(error_name(-EPERM));
}

static void signal_name__as_glibc_has_it(void **state)
{
    (void)state;
    for (int number = 1; number < SIGNALS; number++) {
        const char *expected = sigabbrev_np(number);
        const char *name = signal_name(number);
        assert_int_equal(name == NULL, expected == NULL);
        if (expected != NULL) {
            assert_string_equal(name + strlen("SIG"), expected);
        }
    }
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_name__as_glibc_has_it),
        cmocka_unit_test(signal_name__as_glibc_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
