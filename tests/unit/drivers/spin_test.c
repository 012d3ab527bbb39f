/* SPDX-License-Identifier: BSD-3-Clause */
/* Spinning in a time that passes only when the test says so: each look at the clock takes it on. */
#include "spin.h"

#include <stdbool.h>

#include "../engine/testing.h"

static uint64_t now_ns;
static uint64_t step_ns;
static unsigned questions;
static unsigned stop_at_question;

int __wrap_clock_gettime(clockid_t id, struct timespec *time);

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
    now_ns += step_ns;
    time->tv_sec = (time_t)(now_ns / 1000000000);
    time->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

static bool stopped(void *context)
{
    return ++questions == stop_at_question;
}

static const struct driver_host HOST = {.stopped = stopped};

static int reset(void **state)
{
    now_ns = 1000000000;
    step_ns = 100000; /* 0.1 ms a look */
    questions = 0;
    stop_at_question = 0;
    return 0;
}

/* Turns until it ends, and how it ends. */
static int spin_out(struct spin *spin, uint64_t *turns)
{
    int error = 0;
    *turns = 0;
    while (error == 0) {
        error = spin_turn(spin);
        (*turns)++;
    }
    return error;
}

TEST_AROUND(turn__short_wait_reads_no_clock, reset, NULL)
{
    struct spin spin = spin_start(&HOST, 1);
    uint64_t before = now_ns;
    for (int i = 1; i < SPIN_TURNS; i++) {
        assert_int_equal(spin_turn(&spin), 0);
    }
    assert_int_equal(now_ns, before);
    assert_int_equal(questions, 0);
}

TEST_AROUND(turn__asks_every_millisecond, reset, NULL)
{
    uint64_t turns;
    struct spin spin = spin_start(&HOST, SPIN_FOREVER);
    stop_at_question = 3;
    assert_int_equal(spin_out(&spin, &turns), -ECANCELED);
    /* The first look only starts the clock; then ten looks a question. */
    assert_int_equal(turns, SPIN_TURNS * (1 + 3 * 10));
}

TEST_AROUND(turn__gives_up_after_the_limit, reset, NULL)
{
    uint64_t turns;
    struct spin spin = spin_start(&HOST, 5000000);
    assert_int_equal(spin_out(&spin, &turns), -ETIMEDOUT);
    assert_int_equal(turns, SPIN_TURNS * (1 + 5 * 10));
}

TEST_AROUND(progress__starts_the_limit_again, reset, NULL)
{
    uint64_t turns;
    struct spin spin = spin_start(&HOST, 5000000);
    for (int i = 0; i < SPIN_TURNS * 41; i++) {
        assert_int_equal(spin_turn(&spin), 0);
    }
    spin_progress(&spin);
    assert_int_equal(spin_out(&spin, &turns), -ETIMEDOUT);
    assert_true(turns >= UINT64_C(50) * SPIN_TURNS);
}

TEST_AROUND(turn__stop_comes_before_the_limit, reset, NULL)
{
    uint64_t turns;
    struct spin spin = spin_start(&HOST, 1000000);
    stop_at_question = 1;
    assert_int_equal(spin_out(&spin, &turns), -ECANCELED);
}
