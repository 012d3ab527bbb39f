/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "clock.h"
#include "probe.h"
#include "testing.h"

enum { USER, SYSTEM, VOLUNTARY, INVOLUNTARY };

static uint64_t before[PROBE_FIGURES_MAX];
static uint64_t after[PROBE_FIGURES_MAX];

TEST(read__computing_is_cpu_time)
{
    struct timespec used = {0};
    PROBE_USAGE.read(NULL, before);
    const uint64_t until_ns = before[USER] + before[SYSTEM] + 20 * NS_PER_MS;
    while ((uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec < until_ns) {
        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    }
    PROBE_USAGE.read(NULL, after);
    assert_true(after[USER] + after[SYSTEM] + 1000 >= until_ns);
}

TEST(read__waiting_is_a_voluntary_switch)
{
    PROBE_USAGE.read(NULL, before);
    for (int i = 0; i < 5; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    PROBE_USAGE.read(NULL, after);
    assert_true(after[VOLUNTARY] >= before[VOLUNTARY] + 5);
    assert_true(after[INVOLUNTARY] >= before[INVOLUNTARY]);
}
