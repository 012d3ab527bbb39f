/* SPDX-License-Identifier: BSD-3-Clause */
#include "beowire.h"
#include "lane/lane_type.h"
#include "lane/verbs/verbs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/** It is not opened, says what to do, and nobody who has not asked for it hears of it. */
static void verbs_lane_open__built_without(void **state)
{
    struct lane_opening opening = {.rails = 1};
    struct lane *lane = NULL;

    (void)state;
    assert_int_equal(verbs_lane_type.open(&opening, &lane), -ENOPKG);
    assert_null(lane);
    assert_true(verbs_lane_type.on_request);
    assert_non_null(strstr(beowire_error(-ENOPKG), "libibverbs-dev"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_lane_open__built_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
