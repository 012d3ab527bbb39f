/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"
#include "testing.h"

static const struct probe_place HERE = {.proc = "/proc", .tracing = "/sys/kernel/tracing"};
static probe_reasons reasons;

/* Where they can be counted, they are counted to the last one; else it says what to do. */
TEST(read__counts_each_call)
{
    uint64_t before[PROBE_FIGURES_MAX] = {0};
    uint64_t after[PROBE_FIGURES_MAX] = {0};
    void *opened = PROBE_SYSCALLS.open(&HERE, reasons);
    if (reasons[0][0] != '\0') {
        assert_non_null(strstr(reasons[0], "run as root"));
    } else {
        assert_int_equal(PROBE_SYSCALLS.start(opened), 0);
        PROBE_SYSCALLS.read(opened, before);
        for (int i = 0; i < 1000; i++) {
            (void)syscall(SYS_getppid);
        }
        PROBE_SYSCALLS.read(opened, after);
        (PROBE_SYSCALLS.stop)(opened); /* not the macro of cmocka 2 */
        assert_int_equal(after[0] - before[0], 1000);
    }
    PROBE_SYSCALLS.close(opened);
}

TEST(open__without_tracefs)
{
    const struct probe_place place = {.proc = "/proc", .tracing = "/nonexistent"};
    memset(reasons, 0, sizeof reasons);
    assert_null(PROBE_SYSCALLS.open(&place, reasons));
    assert_non_null(strstr(reasons[0], "mount -t tracefs none /nonexistent"));
}
