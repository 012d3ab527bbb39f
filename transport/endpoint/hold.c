/* SPDX-License-Identifier: BSD-3-Clause */
#include "hold.h"

void hold_run_ended(struct hold *hold, uint64_t now_ns)
{
    if (!hold_is_within(hold_last_ns(hold), now_ns, HOLD_LATE_NS)) {
        uint32_t longer = hold->run > hold->run_min ? hold->run : hold->run_min;
        hold->run_min = longer < HOLD_RUN_MAX / 2 ? 2 * longer : HOLD_RUN_MAX;
        hold->in_time = 0;
    } else if (++hold->in_time >= HOLD_TRUST_RUNS) {
        hold->run_min = hold->run_min / 2 > HOLD_RUN_MIN ? hold->run_min / 2 : HOLD_RUN_MIN;
        hold->in_time = 0;
    }
}
