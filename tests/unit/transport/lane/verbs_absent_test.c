/* SPDX-License-Identifier: BSD-3-Clause */
#include "beowire.h"
#include "lane/lane_type.h"
#include "lane/verbs/verbs.h"
#include "unit/test.h"

#include <errno.h>
#include <string.h>

/** It is not opened, says what to do, and nobody who has not asked for it hears of it. */
TEST(verbs_lane_open__built_without)
{
    struct lane_opening opening = {.rails = 1};
    struct lane *lane = NULL;

    assert_int_equal(verbs_lane_type.open(&opening, &lane), -ENOPKG);
    assert_null(lane);
    assert_true(verbs_lane_type.on_request);
    assert_non_null(strstr(beowire_error(-ENOPKG), "libibverbs-dev"));
}
