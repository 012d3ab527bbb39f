/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/ticks.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define START_NS UINT64_C(5000000000)
#define START_COUNT UINT64_C(700000000000)

static uint64_t kernel_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Opened by a file that names this clock source. */
static struct ticks opened_with(const char *text)
{
    char path[] = "/tmp/ticks_test.XXXXXX";
    int descriptor = mkstemp(path);
    struct ticks ticks;

    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    ticks_open(&ticks, path);
    assert_int_equal(unlink(path), 0);
    return ticks;
}

/** Has learnt from two looks, 1 ms apart, what a counter of 2.5 GHz does. */
static struct ticks learnt(void)
{
    struct ticks ticks = {.usable = true};

    ticks_learn(&ticks, START_COUNT - 2500000, START_NS - MS);
    ticks_learn(&ticks, START_COUNT, START_NS);
    return ticks;
}

TEST(ticks_open__believes_the_counter_only_if_the_kernel_does)
{
#if defined(__x86_64__)
    assert_true(opened_with("tsc\n").usable);
#endif
    assert_false(opened_with("kvm-clock\n").usable);
    assert_false(opened_with("tscx\n").usable);
    assert_false(opened_with("").usable);
    struct ticks ticks;
    ticks_open(&ticks, "/nonexistent/current_clocksource");
    assert_false(ticks.usable);
}

TEST(ticks_tell__knows_nothing_before_two_looks)
{
    struct ticks ticks = {.usable = true};
    uint64_t now_ns = 1;

    assert_false(ticks_tell(&ticks, START_COUNT, &now_ns));
    ticks_learn(&ticks, START_COUNT, START_NS);
    assert_false(ticks_tell(&ticks, START_COUNT + 1, &now_ns));
    ticks_learn(&ticks, START_COUNT + 25, START_NS + 10); /* too near to say anything */
    assert_false(ticks_tell(&ticks, START_COUNT + 26, &now_ns));
}

TEST(ticks_tell__what_has_passed_since)
{
    struct ticks ticks = learnt();
    uint64_t now_ns = 0;

    assert_true(ticks_tell(&ticks, START_COUNT, &now_ns));
    assert_int_equal(now_ns, START_NS);
    assert_true(ticks_tell(&ticks, START_COUNT + 2500, &now_ns));
    assert_in_range(now_ns, START_NS + 999, START_NS + 1001);
    assert_true(ticks_tell(&ticks, START_COUNT + 2500000, &now_ns));
    assert_in_range(now_ns, START_NS + MS - 1, START_NS + MS + 1);
}

TEST(ticks_tell__not_beyond_the_interval)
{
    struct ticks ticks = learnt();
    uint64_t now_ns = 0;

    assert_false(ticks_tell(&ticks, START_COUNT + 2700000, &now_ns));
    assert_false(ticks_tell(&ticks, START_COUNT - 1, &now_ns)); /* backwards */
    assert_int_equal(now_ns, 0);
}

TEST(ticks_tell__never_goes_back)
{
    struct ticks ticks = learnt();
    uint64_t before_ns = 0;
    uint64_t now_ns = 0;

    assert_true(ticks_tell(&ticks, START_COUNT + 2500000, &before_ns));
    assert_true(ticks_tell(&ticks, START_COUNT + 2499000, &now_ns)); /* by another core's counter */
    assert_int_equal(now_ns, before_ns);
    ticks_learn(&ticks, START_COUNT + 2500000, START_NS + MS - 300); /* we were ahead */
    assert_true(ticks_tell(&ticks, START_COUNT + 2500001, &now_ns));
    assert_int_equal(now_ns, before_ns);
    assert_true(ticks_tell(&ticks, START_COUNT + 2502500, &now_ns));
    assert_in_range(now_ns, START_NS + MS + 698, START_NS + MS + 702);
}

TEST(ticks_learn__another_rate)
{
    struct ticks ticks = learnt();
    uint64_t now_ns = 0;

    ticks_learn(&ticks, START_COUNT + 3000000, START_NS + MS); /* 3 GHz */
    assert_true(ticks_tell(&ticks, START_COUNT + 3003000, &now_ns));
    assert_in_range(now_ns, START_NS + MS + 999, START_NS + MS + 1001);
}

TEST(ticks_learn__keeps_the_rate_where_a_look_says_nothing)
{
    struct ticks ticks = learnt();
    uint64_t now_ns = 0;

    ticks_learn(&ticks, START_COUNT + 9 * MS, START_NS + 5000 * MS); /* it was suspended */
    assert_true(ticks_tell(&ticks, START_COUNT + 9 * MS + 2500, &now_ns));
    assert_in_range(now_ns, START_NS + 5000 * MS + 999, START_NS + 5000 * MS + 1001);
}

/** A rate by which the interval is over too soon is wrong. */
TEST(ticks_learn__unlearns_what_has_it_look_too_soon)
{
    struct ticks ticks = learnt();
    uint64_t now_ns = 0;

    ticks_learn(&ticks, START_COUNT + 500000, START_NS + MS); /* too few by far: 2 ns a tick */
    assert_false(ticks_tell(&ticks, START_COUNT + 500000 + 600000, &now_ns));
    ticks_learn(&ticks, START_COUNT + 500000 + 600000, START_NS + MS + MS / 4);
    assert_false(ticks_tell(&ticks, START_COUNT + 500000 + 600001, &now_ns));
}

TEST(ticks_learn__believes_no_counter_that_stood_or_ran_away)
{
    const uint64_t counts[] = {1, 1000, UINT64_C(1) << 45, UINT64_MAX - 2500000};
    uint64_t now_ns = 0;

    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct ticks ticks = learnt();
        uint64_t count = START_COUNT + counts[i];
        ticks_learn(&ticks, count, START_NS + MS);
        assert_false(ticks_tell(&ticks, count + 1, &now_ns));
        /* And recovers. */
        ticks_learn(&ticks, count + 2500000, START_NS + 2 * MS);
        assert_true(ticks_tell(&ticks, count + 2502500, &now_ns));
        assert_in_range(now_ns, START_NS + 2 * MS + 999, START_NS + 2 * MS + 1001);
    }
}

TEST(ticks_learn__the_same_count_twice_divides_by_nothing)
{
    struct ticks ticks = learnt();

    ticks_learn(&ticks, START_COUNT, START_NS + MS);
    assert_int_not_equal(ticks.rate, 0);
}

/** Whatever the counter does, what is told is soon right again: no rate is believed for long. */
TEST(ticks_learn__no_rate_is_believed_for_long)
{
    for (uint64_t counted = 1; counted < UINT64_C(1) << 60; counted *= 3) {
        struct ticks ticks = learnt();
        ticks_learn(&ticks, START_COUNT + counted, START_NS + MS);
        assert_true(ticks.believable <= 25 * MS); /* ticks: 10 ms at 2.5 GHz */
    }
}

/** Beside the kernel's clock, with whatever this machine has. */
static void ticks_now__is_the_kernels_clock(const char *source)
{
    struct ticks ticks;
    uint64_t told_ns = 0;
    uint64_t end_ns = kernel_ns() + 50 * MS;

    ticks_open(&ticks, source);
    for (uint64_t before_ns = 0; before_ns < end_ns;) {
        before_ns = kernel_ns();
        uint64_t now_ns = ticks_now(&ticks);
        uint64_t after_ns = kernel_ns();
        assert_true(now_ns >= told_ns);
        /* 0.1 ms: a virtual machine's host may have held us up inside a look. */
        assert_in_range(now_ns, before_ns - MS / 10, after_ns + MS / 10);
        told_ns = now_ns;
    }
}

TEST(ticks_now__by_the_counter)
{
    ticks_now__is_the_kernels_clock(TICKS_SOURCE);
}

TEST(ticks_now__without_it)
{
    ticks_now__is_the_kernels_clock("/nonexistent/current_clocksource");
}
