/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test makes a /proc of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "probe.h"
#include "testing.h"

static char proc[] = "/tmp/beowire-softirq-XXXXXX";
static void *opened;
static probe_reasons reasons;
static uint64_t values[PROBE_FIGURES_MAX];

enum { IRQ, SOFTIRQ };

static void write_file(const char *name, const char *content)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", proc, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
}

static int prepare(void **state)
{
    (void)snprintf(proc, sizeof proc, "/tmp/beowire-softirq-XXXXXX");
    memset(reasons, 0, sizeof reasons);
    memset(values, 0, sizeof values);
    return mkdtemp(proc) == NULL ? -1 : 0;
}

static int clean(void **state)
{
    static const char *const FILES[] = {
        "stat", "14/comm", "14/schedstat", "22/comm", "22/schedstat", "30/comm", "14", "22", "30"};
    PROBE_SOFTIRQ.close(opened);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", proc, FILES[i]);
        (void)remove(path);
    }
    return rmdir(proc);
}

#define PREPARED_TEST(name) TEST_AROUND(name, prepare, clean)

static void open_at(const char *path)
{
    const struct probe_place place = {.proc = path};
    opened = PROBE_SOFTIRQ.open(&place, reasons);
}

PREPARED_TEST(threads__their_times_are_added)
{
    write_file("stat", "cpu  5 0 5 100 3 0 783 205 0 0\ncpu0 1 2 3\n");
    write_file("14/comm", "ksoftirqd/0\n");
    write_file("14/schedstat", "133437912 529728998 3287\n");
    write_file("22/comm", "ksoftirqd/1\n");
    write_file("22/schedstat", "1000 0 1\n");
    write_file("30/comm", "kworker/0:1\n");
    open_at(proc);
    assert_non_null(strstr(reasons[IRQ], "no IRQ_TIME_ACCOUNTING"));
    assert_string_equal(reasons[SOFTIRQ], "");
    PROBE_SOFTIRQ.read(opened, values);
    assert_int_equal(values[SOFTIRQ], 133438912);
    write_file("22/schedstat", "2500 0 1\n");
    PROBE_SOFTIRQ.read(opened, values);
    assert_int_equal(values[SOFTIRQ], 133440412);
}

/* The kernel keeps interrupts apart from processes: both columns count, and the threads do not. */
PREPARED_TEST(stat__where_the_kernel_counts_interrupts)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    write_file("stat", "cpu  5 0 5 100 3 7 20 205 0 0\n");
    write_file("14/comm", "ksoftirqd/0\n");
    write_file("14/schedstat", "133437912 529728998 3287\n");
    open_at(proc);
    assert_string_equal(reasons[IRQ], "");
    assert_string_equal(reasons[SOFTIRQ], "");
    PROBE_SOFTIRQ.read(opened, values);
    assert_int_equal(values[IRQ], 7 * tick_ns);
    assert_int_equal(values[SOFTIRQ], 20 * tick_ns);
}

static void expect_unknown(const char *path)
{
    open_at(path);
    assert_string_not_equal(reasons[IRQ], "");
    assert_non_null(strstr(reasons[SOFTIRQ], "not visible"));
}

PREPARED_TEST(unknown__without_threads_in_sight)
{
    write_file("stat", "cpu  5 0 5 100 3 0 20 205 0 0\n");
    write_file("14/comm", "bash\n");
    expect_unknown(proc);
}

PREPARED_TEST(unknown__with_a_stat_that_is_none)
{
    write_file("stat", "intr 1 2 3\n");
    expect_unknown(proc);
}

PREPARED_TEST(unknown__without_proc)
{
    expect_unknown("/nonexistent");
}
