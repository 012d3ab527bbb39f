/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "clock.h"
#include "probe.h"
#include "testing.h"

/* This thread computes for 20 ms on one of the CPUs, so at least that much is taken. */
TEST(read__what_is_computed_is_taken)
{
    static probe_reasons reasons;
    const struct probe_place place = {.program = getenv("BEOWIRE_TEST_ENGINE")};
    uint64_t before[PROBE_FIGURES_MAX] = {0};
    uint64_t after[PROBE_FIGURES_MAX] = {0};
    void *opened = PROBE_SOAKER.open(&place, reasons);
    assert_string_equal(reasons[0], "");
    assert_int_equal(PROBE_SOAKER.start(opened), 0);
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    const long begun_ms = used.tv_sec * 1000 + used.tv_nsec / 1000000;
    PROBE_SOAKER.read(opened, before);
    do {
        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < begun_ms + 20);
    PROBE_SOAKER.read(opened, after);
    (PROBE_SOAKER.stop)(opened); /* not the macro of cmocka 2 */
    PROBE_SOAKER.close(opened);
    assert_true(after[0] - before[0] >= 18 * NS_PER_MS);
}

TEST(start__no_such_program)
{
    static probe_reasons reasons;
    const struct probe_place place = {.program = "/nonexistent/engine"};
    void *opened = PROBE_SOAKER.open(&place, reasons);
    assert_true(PROBE_SOAKER.start(opened) < 0);
    PROBE_SOAKER.close(opened);
}
