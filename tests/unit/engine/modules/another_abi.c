/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver that was built against another version of driver.h. */
#include "driver.h"

static const struct driver DRIVER = {.abi = DRIVER_ABI + 1, .name = "future", .summary = "later"};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&DRIVER, NULL};
    return TABLE;
}
