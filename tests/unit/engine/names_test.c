/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <errno.h>
#include <string.h>

#include "testing.h"

/* Of one more than there are, each. */
enum { ERRORS = 200, SIGNALS = 70 };

TEST(error_name__as_glibc_has_it)
{
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

TEST(signal_name__as_glibc_has_it)
{
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
