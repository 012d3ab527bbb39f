/* SPDX-License-Identifier: BSD-3-Clause */
/* With a counter of the kernel's own, the time of a task: there is one on every machine, but
 * whether it may be read is another matter, and then this says so. */
#include "perf_counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "testing.h"

static struct perf_counter counter;

static void compute(void)
{
    struct timespec used = {0};
    struct timespec begun;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun), 0);
    while ((used.tv_sec - begun.tv_sec) * 1000 + (used.tv_nsec - begun.tv_nsec) / 1000000 < 5) {
        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    }
}

static void *compute_beside(void *argument)
{
    compute();
    return NULL;
}

static void open_or_skip(void)
{
    int error = perf_counter_open(&counter, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    if (error == -EACCES || error == -EPERM || error == -ENOSYS) {
        skip();
    }
    assert_int_equal(error, 0);
}

TEST(read__what_this_thread_does)
{
    open_or_skip();
    assert_int_equal(counter.count, 1);
    const uint64_t before = perf_counter_read(&counter);
    compute();
    assert_true(perf_counter_read(&counter) - before >= 4 * NS_PER_MS);
    perf_counter_close(&counter);
    assert_int_equal(counter.count, 0);
}

TEST(read__and_a_thread_that_comes_later)
{
    pthread_t thread;
    open_or_skip();
    const uint64_t before = perf_counter_read(&counter);
    assert_int_equal(pthread_create(&thread, NULL, compute_beside, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(perf_counter_read(&counter) - before >= 4 * NS_PER_MS);
    perf_counter_close(&counter);
}

TEST(open__no_such_counter)
{
    assert_true(perf_counter_open(&counter, PERF_TYPE_SOFTWARE, 12345) < 0);
    assert_int_equal(counter.count, 0);
    assert_int_equal(perf_counter_read(&counter), 0);
}

TEST(explain__what_to_do)
{
    char reason[160];
    perf_counter_explain(-EACCES, "/proc", reason, sizeof reason);
    assert_non_null(strstr(reason, "kernel.perf_event_paranoid is "));
    assert_non_null(strstr(reason, "run as root"));
    perf_counter_explain(ENOENT, "/proc", reason, sizeof reason);
    assert_non_null(strstr(reason, "no such counter"));
    perf_counter_explain(-ENOSYS, "/proc", reason, sizeof reason);
    assert_non_null(strstr(reason, "no perf events"));
    perf_counter_explain(-EMFILE, "/proc", reason, sizeof reason);
    assert_non_null(strstr(reason, "Too many open files"));
}
