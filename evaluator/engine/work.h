/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - computing, by amount and not by time: what takes the core meanwhile, such as interrupts,
 * makes it take longer, as it does to an application. It touches no memory.
 */
#ifndef BEOWIRE_ENGINE_WORK_H
#define BEOWIRE_ENGINE_WORK_H

#include <stdint.h>

struct work {
    double step_ns; /**< how long a step takes when nothing comes between */
};

/** Finds out how long a step takes: less than a millisecond. */
struct work work_calibrate(void);

/** Steps that take about so long. */
uint64_t work_steps(const struct work *work, uint64_t ns);

/** How long so many steps take when nothing comes between. */
uint64_t work_ns(const struct work *work, uint64_t steps);

/** Computes. */
void work_do(uint64_t steps);

#endif
