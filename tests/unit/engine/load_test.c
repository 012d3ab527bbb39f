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
#include "hog.h"
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
    load_end(&load);
    return 0;
}

#define CLEANED_TEST(name) TEST_AROUND(name, NULL, clean)

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

CLEANED_TEST(load__one_hog_a_cpu_at_the_nice_value)
{
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    expect_part(ask("load nice=19 seconds=60"),
                "\"event\":\"load\",\"kind\":\"hog\",\"nice\":19,\"hogs\":");
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

CLEANED_TEST(load__ends_when_asked)
{
    expect_part(ask("load nice=0 seconds=60"), "\"nice\":0");
    load_end(&load);
    assert_int_equal(threads(0), 0);
    expect_part(ask("load nice=5 seconds=60"), "\"nice\":5");
    assert_int_equal(threads(5), load.count);
}

/* Nobody asks them to: joining returns when their second is over. */
CLEANED_TEST(load__ends_by_itself)
{
    expect_part(ask("load nice=19 seconds=1"), "\"load\"");
    for (size_t i = 0; i < load.count; i++) {
        assert_int_equal(pthread_join(load.hogs[i].thread, NULL), 0);
    }
    load.count = 0;
}

CLEANED_TEST(load__twice)
{
    expect_part(ask("load nice=19 seconds=60"), "\"load\"");
    expect_part(ask("load nice=19 seconds=60"), "EBUSY");
}

CLEANED_TEST(load__refused)
{
    expect_part(ask("load"), "load needs seconds=");
    expect_part(ask("load nice=19"), "load needs seconds=");
    expect_part(ask("load nice=20 seconds=1"), "nice must be a number from 0 to 19");
    expect_part(ask("load nice=-1 seconds=1"), "nice must be a number");
    expect_part(ask("load nice=0 seconds=0"), "seconds must be a number from 1");
    expect_part(ask("load kind=pig seconds=1"), "kind must be hog, idle, duty or memory");
    expect_part(ask("load kind=duty seconds=1"), "load needs percent=");
    expect_part(ask("load kind=duty percent=101 seconds=1"), "percent must be a number from 1");
    expect_part(ask("load cpus=1023 seconds=1"), "cpus=1023: not CPUs that this process may use");
    expect_part(ask("load cpus=0, seconds=1"), "\"event\":\"load\""); /* a ',' too many is none */
    load_end(&load);
    expect_part(ask("load cpus=x seconds=1"), "cpus=x: not CPUs");
    assert_null(load.hogs);
}

CLEANED_TEST(load__on_named_cpus_of_the_lowest_priority)
{
    char line[64];
    (void)snprintf(line, sizeof line, "load kind=idle seconds=60 cpus=%d", sched_getcpu());
    expect_part(ask(line), "\"kind\":\"idle\",\"nice\":0,\"hogs\":1}");
    assert_int_equal(threads(0), 1);
}

static const char *tell(void (*what)(void))
{
    capture_start();
    what();
    return capture_end();
}

static void pause_it(void)
{
    load_pause_answer(&load, true);
}

static void resume_it(void)
{
    load_pause_answer(&load, false);
}

static void meter_it(void)
{
    load_meter_answer(&load);
}

CLEANED_TEST(pause__and_resume)
{
    expect_part(tell(pause_it), "this engine makes no load");
    expect_part(ask("load nice=19 seconds=60"), "\"load\"");
    expect_part(tell(pause_it), "{\"event\":\"paused\"}");
    const uint64_t work = atomic_load(&load.hogs[0].work);
    expect_part(tell(pause_it), "{\"event\":\"paused\"}");
    assert_int_equal(atomic_load(&load.hogs[0].work), work);
    expect_part(tell(resume_it), "{\"event\":\"resumed\"}");
    while (atomic_load(&load.hogs[0].work) == work) {
        sched_yield();
    }
}

CLEANED_TEST(meter__what_each_has_had)
{
    expect_part(tell(meter_it), "this engine makes no load");
    expect_part(ask("load kind=memory seconds=60"), "\"kind\":\"memory\"");
    while (atomic_load(&load.hogs[0].work) == 0) {
        sched_yield();
    }
    const char *text = tell(meter_it);
    expect_part(text, "{\"event\":\"meter\",\"at_ns\":");
    expect_part(text, "\"unit\":\"bytes\",\"hogs\":[{\"cpu\":");
    assert_null(strstr(text, "\"work\":0,"));
}
