/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test makes a /proc/stat of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"
#include "testing.h"

static char proc[64];
static void *opened;
static probe_reasons reasons;
static uint64_t values[PROBE_FIGURES_MAX];

enum { INTERRUPTS, SOFTIRQS };

static void path_of(char path[128])
{
    (void)snprintf(path, 128, "%s/stat", proc);
}

static void write_stat(const char *content)
{
    char path[128];
    path_of(path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int prepare(void **state)
{
    (void)snprintf(proc, sizeof proc, "/tmp/beowire-interrupts-XXXXXX");
    memset(reasons, 0, sizeof reasons);
    return mkdtemp(proc) == NULL ? -1 : 0;
}

static int clean(void **state)
{
    char path[128];
    path_of(path);
    PROBE_INTERRUPTS.close(opened);
    (void)unlink(path);
    return rmdir(proc);
}

#define PREPARED_TEST(name) TEST_AROUND(name, prepare, clean)

static void open_it(void)
{
    const struct probe_place place = {.proc = proc};
    opened = PROBE_INTERRUPTS.open(&place, reasons);
}

PREPARED_TEST(read__the_sums_of_both_lines)
{
    write_stat("cpu  1 2 3\ncpu0 1 2 3\nintr 34485210 0 7 9\nctxt 5\nsoftirq 253309824 1 2\n");
    open_it();
    assert_string_equal(reasons[INTERRUPTS], "");
    assert_string_equal(reasons[SOFTIRQS], "");
    PROBE_INTERRUPTS.read(opened, values);
    assert_int_equal(values[INTERRUPTS], 34485210);
    assert_int_equal(values[SOFTIRQS], 253309824);
    write_stat("cpu  1 2 3\ncpu0 1 2 3\nintr 34485222 0 7 9\nctxt 5\nsoftirq 253309825 1 2\n");
    PROBE_INTERRUPTS.read(opened, values);
    assert_int_equal(values[INTERRUPTS], 34485222);
    assert_int_equal(values[SOFTIRQS], 253309825);
}

PREPARED_TEST(open__one_line_is_missing)
{
    write_stat("cpu  1 2 3\nintr 12 0\n");
    open_it();
    assert_string_equal(reasons[INTERRUPTS], "");
    assert_non_null(strstr(reasons[SOFTIRQS], "/stat has no line 'softirq'"));
}

PREPARED_TEST(open__no_file)
{
    open_it();
    assert_non_null(strstr(reasons[INTERRUPTS], "/stat has no line 'intr'"));
}
