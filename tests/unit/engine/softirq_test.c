/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test makes a /proc of its own. */
#include "softirq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "testing.h"

static char proc[] = "/tmp/beowire-softirq-XXXXXX";
static struct softirq softirq;

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
    (void)state;
    (void)snprintf(proc, sizeof proc, "/tmp/beowire-softirq-XXXXXX");
    return mkdtemp(proc) == NULL ? -1 : 0;
}

static int clean(void **state)
{
    static const char *const FILES[] = {
        "stat", "14/comm", "14/schedstat", "22/comm", "22/schedstat", "30/comm", "14", "22", "30"};
    (void)state;
    softirq_close(&softirq);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", proc, FILES[i]);
        (void)remove(path);
    }
    return rmdir(proc);
}

static void threads__their_times_are_added(void **state)
{
    (void)state;
    write_file("stat", "cpu  5 0 5 100 3 0 783 205 0 0\ncpu0 1 2 3\n");
    write_file("14/comm", "ksoftirqd/0\n");
    write_file("14/schedstat", "133437912 529728998 3287\n");
    write_file("22/comm", "ksoftirqd/1\n");
    write_file("22/schedstat", "1000 0 1\n");
    write_file("30/comm", "kworker/0:1\n");
    softirq_open(&softirq, proc);
    assert_true(softirq_known(&softirq));
    assert_int_equal(softirq_ns(&softirq), 133438912);
    write_file("22/schedstat", "2500 0 1\n");
    assert_int_equal(softirq_ns(&softirq), 133440412);
}

/* The kernel keeps interrupts apart from processes: both columns count, and the threads do not. */
static void stat__where_the_kernel_counts_interrupts(void **state)
{
    (void)state;
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    write_file("stat", "cpu  5 0 5 100 3 7 20 205 0 0\n");
    write_file("14/comm", "ksoftirqd/0\n");
    write_file("14/schedstat", "133437912 529728998 3287\n");
    softirq_open(&softirq, proc);
    assert_true(softirq_known(&softirq));
    assert_int_equal(softirq_ns(&softirq), 27 * tick_ns);
}

static void unknown__without_threads_in_sight(void **state)
{
    (void)state;
    write_file("stat", "cpu  5 0 5 100 3 0 20 205 0 0\n");
    write_file("14/comm", "bash\n");
    softirq_open(&softirq, proc);
    assert_false(softirq_known(&softirq));
    assert_int_equal(softirq_ns(&softirq), 0);
}

static void unknown__with_a_stat_that_is_none(void **state)
{
    (void)state;
    write_file("stat", "intr 1 2 3\n");
    softirq_open(&softirq, proc);
    assert_false(softirq_known(&softirq));
}

static void unknown__without_proc(void **state)
{
    (void)state;
    softirq_open(&softirq, "/nonexistent");
    assert_false(softirq_known(&softirq));
}

#define PREPARED(test) cmocka_unit_test_setup_teardown(test, prepare, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREPARED(threads__their_times_are_added),
        PREPARED(stat__where_the_kernel_counts_interrupts),
        PREPARED(unknown__without_threads_in_sight),
        PREPARED(unknown__with_a_stat_that_is_none),
        PREPARED(unknown__without_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
