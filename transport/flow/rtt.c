/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtt.h"

void rtt_begin_period(struct rtt *rtt, uint64_t now_ns, uint64_t sample_ns)
{
    uint64_t last_ns = rtt->period_minimum_ns;

    rtt->minimum_ns = last_ns == 0 || sample_ns < last_ns ? sample_ns : last_ns;
    rtt->period_minimum_ns = sample_ns;
    rtt->period_began_ns = now_ns;
}
