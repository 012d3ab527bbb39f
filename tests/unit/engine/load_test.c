/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "testing.h"

static struct load load;

static const char *ask(const char *line)
{
    struct command *command = command_of(line);
    capture_start();
    load_answer(&load, command);
    return capture_end();
}

static int clean(void **state)
{
    (void)state;
    load_end(&load);
    return 0;
}

/* The other threads of this process: how many, and with which nice value. */
static size_t threads(int nice)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        long tid = strtol(entry->d_name, NULL, 10);
        if (tid > 0 && tid != getpid()) {
            assert_int_equal(getpriority(PRIO_PROCESS, (id_t)tid), nice);
            cpu_set_t cpus;
            assert_int_equal(sched_getaffinity((pid_t)tid, sizeof cpus, &cpus), 0);
            assert_int_equal(CPU_COUNT(&cpus), 1);
            count++;
        }
    }
    (void)closedir(directory);
    return count;
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static void load__one_hog_a_cpu_at_the_nice_value(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    expect_part(ask("load nice=19 seconds=60"), "\"event\":\"load\",\"nice\":19,\"hogs\":");
    assert_true(load.count >= (size_t)CPU_COUNT(&before));
    assert_int_equal(threads(19), load.count);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    /* They compute: the process uses CPU while this thread does next to nothing. */
    uint64_t start_ns = cpu_ns();
    while (cpu_ns() - start_ns < 20 * NS_PER_MS) {
        sched_yield();
    }
}

static void load__ends_when_asked(void **state)
{
    (void)state;
    expect_part(ask("load nice=0 seconds=60"), "\"nice\":0");
    load_end(&load);
    assert_int_equal(threads(0), 0);
    expect_part(ask("load nice=5 seconds=60"), "\"nice\":5");
    assert_int_equal(threads(5), load.count);
}

/* Nobody asks them to: joining returns when their second is over. */
static void load__ends_by_itself(void **state)
{
    (void)state;
    expect_part(ask("load nice=19 seconds=1"), "\"load\"");
    for (size_t i = 0; i < load.count; i++) {
        assert_int_equal(pthread_join(load.hogs[i], NULL), 0);
    }
    load.count = 0;
}

static void load__twice(void **state)
{
    (void)state;
    expect_part(ask("load nice=19 seconds=60"), "\"load\"");
    expect_part(ask("load nice=19 seconds=60"), "EBUSY");
}

static void load__refused(void **state)
{
    (void)state;
    expect_part(ask("load"), "load needs nice=");
    expect_part(ask("load nice=19"), "load needs seconds=");
    expect_part(ask("load nice=20 seconds=1"), "nice must be a number from 0 to 19");
    expect_part(ask("load nice=-1 seconds=1"), "nice must be a number");
    expect_part(ask("load nice=0 seconds=0"), "seconds must be a number from 1");
    assert_null(load.hogs);
}

#define CLEANED(test) cmocka_unit_test_teardown(test, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEANED(load__one_hog_a_cpu_at_the_nice_value),
        CLEANED(load__ends_when_asked),
        CLEANED(load__ends_by_itself),
        CLEANED(load__twice),
        CLEANED(load__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
