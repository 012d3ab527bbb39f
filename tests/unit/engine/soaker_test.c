/* SPDX-License-Identifier: BSD-3-Clause */
/* The soakers are those of the engine that was built. */
#include "soaker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "testing.h"

static struct soaker soaker;

static const char *program(void)
{
    const char *path = getenv("BEOWIRE_TEST_ENGINE");
    assert_non_null(path);
    return path;
}

static int clean(void **state)
{
    soaker_stop(&soaker);
    return 0;
}

#define CLEANED_TEST(name) TEST_AROUND(name, NULL, clean)

/* Pins this thread to one CPU, so that there is one soaker beside it. */
static cpu_set_t pin(void)
{
    cpu_set_t all;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return all;
}

CLEANED_TEST(start__one_a_cpu_of_the_lowest_priority)
{
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(soaker_start(&soaker, program()), 0);
    assert_int_equal(soaker.count, (size_t)CPU_COUNT(&all));
    for (size_t i = 0; i < soaker.count; i++) {
        cpu_set_t cpus;
        assert_int_equal(sched_getaffinity(soaker.pids[i], sizeof cpus, &cpus), 0);
        assert_int_equal(CPU_COUNT(&cpus), 1);
        while (sched_getscheduler(soaker.pids[i]) != SCHED_IDLE) {
            assert_int_equal(kill(soaker.pids[i], 0), 0); /* it steps back last of all */
        }
    }
}

/* While this thread sleeps time is left on its CPU; what it takes by computing is not. Others may
 * take of it, too, so the test waits for what must come in the end. */
CLEANED_TEST(left__what_nobody_takes)
{
    const cpu_set_t all = pin();
    assert_int_equal(soaker_start(&soaker, program()), 0);
    const uint64_t before_ns = soaker_left_ns(&soaker);
    while (soaker_left_ns(&soaker) - before_ns < 5 * NS_PER_MS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    const uint64_t begun_ns = clock_now_ns();
    const uint64_t left_ns = soaker_left_ns(&soaker);
    while (clock_now_ns() - begun_ns < 20 * NS_PER_MS) {
    }
    assert_true(soaker_left_ns(&soaker) - left_ns < clock_now_ns() - begun_ns);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

CLEANED_TEST(stop__nothing_stays)
{
    assert_int_equal(soaker_start(&soaker, program()), 0);
    const pid_t pid = soaker.pids[0];
    soaker_stop(&soaker);
    assert_int_equal(soaker.count, 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(soaker_left_ns(&soaker), 0);
    soaker_stop(&soaker);
}

CLEANED_TEST(start__no_such_program)
{
    assert_int_equal(soaker_start(&soaker, "/nonexistent/engine"), -ENOENT);
    assert_int_equal(soaker.count, 0);
}

CLEANED_TEST(soak__bad_words)
{
    assert_int_equal(soak_main(""), 2);
    assert_int_equal(soak_main("zero:0"), 2);
    assert_int_equal(soak_main("0"), 2);
}
