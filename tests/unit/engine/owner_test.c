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
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    return unlink(path);
}

TEST(fault__own_file)
{
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(owner_fault(path));
}

TEST(fault__what_others_can_write)
{
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

TEST(fault__file_of_somebody_else)
{
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

TEST(fault__nothing_there)
{
    assert_null(owner_fault("/nonexistent"));
}

int main(void)
{
    return run_listed_tests(make_file, remove_file);
}
