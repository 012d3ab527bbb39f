/* SPDX-License-Identifier: BSD-3-Clause */
#include "owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

static char path[] = "/tmp/beowire-owner-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void fault__own_file(void **state)
{
    (void)state;
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(owner_fault(path));
}

static void fault__what_others_can_write(void **state)
{
    (void)state;
    assert_int_equal(chmod(path, 0646), 0);
    assert_non_null(strstr(owner_fault(path), "others may write"));
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0664), 0);
        assert_int_equal(chown(path, 0, 50), 0);
        assert_non_null(strstr(owner_fault(path), "others may write"));
        assert_int_equal(chown(path, 0, 0), 0); /* a group of the user's own */
        assert_null(owner_fault(path));
    }
}

static void fault__file_of_somebody_else(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chown(path, 1, 1), 0);
    const char *fault = owner_fault(path);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_non_null(fault);
    assert_non_null(strstr(fault, "another user"));
}

static void fault__nothing_there(void **state)
{
    (void)state;
    assert_null(owner_fault("/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__own_file),
        cmocka_unit_test(fault__what_others_can_write),
        cmocka_unit_test(fault__file_of_somebody_else),
        cmocka_unit_test(fault__nothing_there),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
