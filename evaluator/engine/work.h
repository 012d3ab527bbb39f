/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - computes a given amount of work, not for a given time. So it takes longer if interrupts
 * or other threads use the core, as an application does. It uses no memory.
 */
#ifndef BEOWIRE_ENGINE_WORK_H
#define BEOWIRE_ENGINE_WORK_H

#include <stdint.h>

struct work {
    double step_ns; /**< duration of an uninterrupted step */
};

/** Measures the duration of a step, in less than a millisecond. */
struct work work_calibrate(void);

/** Number of steps that take about this long. */
uint64_t work_steps(const struct work *work, uint64_t ns);

/** Duration of this many uninterrupted steps. */
uint64_t work_ns(const struct work *work, uint64_t steps);

void work_do(uint64_t steps);

#endif
