/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <time.h>

#include "testing.h"

TEST(calibrate__a_step_takes_some_of_a_nanosecond_or_some)
{
    const struct work work = work_calibrate();
    assert_true(work.step_ns > 0.1 && work.step_ns < 1000);
}

TEST(steps__are_as_many_as_take_that_time)
{
    const struct work work = {.step_ns = 2.5};
    assert_int_equal(work_steps(&work, 1000), 400);
    assert_int_equal(work_ns(&work, 400), 1000);
    assert_int_equal(work_steps(&work, 1), 0);
    assert_int_equal(work_ns(&work, 0), 0);
}

/* By the process's own time: others may have the core. At least, for it may be slower now. */
TEST(do__takes_as_long_as_calibrated)
{
    const struct work work = work_calibrate();
    struct timespec before;
    struct timespec after;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
    work_do(work_steps(&work, 5000000));
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
    const int64_t took_ns =
        (after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec - before.tv_nsec;
    assert_true(took_ns > 2500000);
}
