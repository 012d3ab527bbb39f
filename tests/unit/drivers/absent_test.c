/* SPDX-License-Identifier: BSD-3-Clause */
/* What takes the place of a driver whose library was missing at build time. */
#include <errno.h>
#include <string.h>

#include "../engine/testing.h"
#include "driver.h"

TEST(probe__says_what_is_missing)
{
    const struct driver *driver = beowire_driver_table()[0];
    const struct driver_options options = {0};
    char reason[DRIVER_REASON_BYTES] = "";
    assert_string_equal(driver->name, "fi-tcp");
    assert_int_equal(driver->probe(&options, reason, sizeof reason), -ENOSYS);
    assert_non_null(strstr(reason, "libfabric-dev"));
    assert_null(strchr(reason, '\n'));
}

TEST(open__fails_with_the_same_reason)
{
    const struct driver *driver = beowire_driver_table()[0];
    const struct driver_options options = {0};
    char error[DRIVER_REASON_BYTES] = "";
    void *session = NULL;
    assert_int_equal(driver->open(&options, &session, error, sizeof error), -ENOSYS);
    assert_non_null(strstr(error, "libfabric-dev"));
    assert_null(session);
}

TEST(table__is_whole_and_has_one_driver)
{
    const struct driver *const *table = beowire_driver_table();
    assert_int_equal(table[0]->abi, DRIVER_ABI);
    assert_non_null(table[0]->address);
    assert_non_null(table[0]->connect);
    assert_non_null(table[0]->send);
    assert_non_null(table[0]->receive);
    assert_non_null(table[0]->close);
    assert_null(table[1]);
}
