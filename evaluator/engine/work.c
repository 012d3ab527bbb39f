/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include "clock.h"

#define CALIBRATION_STEPS 8192
#define CALIBRATIONS 8

void work_do(uint64_t steps)
{
    uint64_t state = steps | 1;
    for (uint64_t i = 0; i < steps; i++) {
        state = state * UINT64_C(6364136223846793005) + 1; /* each step waits for the one before */
    }
    __asm__ volatile("" : : "r"(state)); /* keeps the compiler from removing it */
}

/* The minimum of several, because interruptions only make them longer. */
struct work work_calibrate(void)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < CALIBRATIONS; i++) {
        const uint64_t start_ns = clock_now_ns();
        work_do(CALIBRATION_STEPS);
        const uint64_t took_ns = clock_now_ns() - start_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return (struct work){.step_ns = (double)(least_ns == 0 ? 1 : least_ns) / CALIBRATION_STEPS};
}

uint64_t work_steps(const struct work *work, uint64_t ns)
{
    return (uint64_t)((double)ns / work->step_ns);
}

uint64_t work_ns(const struct work *work, uint64_t steps)
{
    return (uint64_t)((double)steps * work->step_ns);
}
