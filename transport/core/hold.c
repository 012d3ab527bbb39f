/* SPDX-License-Identifier: BSD-3-Clause */
#include "hold.h"

void hold_run_ended(struct hold *hold, bool held, uint64_t now_ns)
{
    uint32_t run = hold->run;

    if (run < hold->run_least) {
        return; /* there was no run */
    }
    if (!hold_is_within(hold->posted_ns, now_ns, HOLD_LATE_NS)) {
        if (!held || run >= HOLD_RUN_MAX) {
            return; /* no message was late, or not by much for so long a run */
        }
        uint32_t longer = run > hold->run_min ? run : hold->run_min;
        hold->run_min = longer < HOLD_RUN_MAX / 2 ? 2 * longer : HOLD_RUN_MAX;
        hold->in_time = 0;
    } else if (++hold->in_time >= HOLD_TRUST_RUNS) {
        hold->run_min = hold->run_min / 2 > hold->run_least ? hold->run_min / 2 : hold->run_least;
        hold->in_time = 0;
    }
}
