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
static void read__counts_each_call(void **state)
{
    (void)state;
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

static void open__without_tracefs(void **state)
{
    (void)state;
    const struct probe_place place = {.proc = "/proc", .tracing = "/nonexistent"};
    memset(reasons, 0, sizeof reasons);
    assert_null(PROBE_SYSCALLS.open(&place, reasons));
    assert_non_null(strstr(reasons[0], "mount -t tracefs none /nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__counts_each_call),
        cmocka_unit_test(open__without_tracefs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
