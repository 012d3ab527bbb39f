/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "probe.h"
#include "testing.h"
#include "work.h"

enum { CYCLES, INSTRUCTIONS, CACHE_MISSES };

/* Each counter either counts, or says why it cannot. */
TEST(read__what_there_is)
{
    static probe_reasons reasons;
    const struct probe_place place = {.proc = "/proc"};
    uint64_t before[PROBE_FIGURES_MAX] = {0};
    uint64_t after[PROBE_FIGURES_MAX] = {0};
    void *opened = PROBE_HARDWARE.open(&place, reasons);
    assert_non_null(opened);
    assert_int_equal(PROBE_HARDWARE.start(opened), 0);
    PROBE_HARDWARE.read(opened, before);
    work_do(1000000);
    PROBE_HARDWARE.read(opened, after);
    (PROBE_HARDWARE.stop)(opened); /* not the macro of cmocka 2 */
    for (int i = CYCLES; i <= INSTRUCTIONS; i++) {
        assert_int_equal(reasons[i][0] == '\0', after[i] - before[i] >= 1000000);
    }
    assert_true(after[CACHE_MISSES] >= before[CACHE_MISSES]);
    PROBE_HARDWARE.close(opened);
}
