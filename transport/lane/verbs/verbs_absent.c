/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces verbs*.c if libibverbs has no headers. */
#include "lane/lane_type.h"
#include "lane/verbs/verbs.h"

#include <errno.h>

int verbs_lane_open(const struct verbs_lane_options *options, struct lane **lane)
{
    (void)options;
    (void)lane;
    return -ENOPKG;
}

static int verbs_open_for(struct lane_opening *opening, struct lane **lane)
{
    (void)opening;
    return verbs_lane_open(NULL, lane);
}

const struct lane_type verbs_lane_type = {.open = verbs_open_for, .on_request = true};
