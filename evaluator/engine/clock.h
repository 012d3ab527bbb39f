/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - the one clock of the engine: CLOCK_MONOTONIC, read through the vDSO (no system call
 * where the kernel's clock source allows it), and what reading it costs.
 */
#ifndef BEOWIRE_ENGINE_CLOCK_H
#define BEOWIRE_ENGINE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

struct clock_cost {
    double overhead_ns;     /**< median time of one read, from reads back to back */
    double overhead_p99_ns; /**< 99th percentile of single reads */
    double resolution_ns;   /**< as the kernel states it (clock_getres) */
};

/** Measures the clock; takes about a millisecond. */
struct clock_cost clock_measure(void);

#endif
