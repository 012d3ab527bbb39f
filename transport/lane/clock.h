/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - the clock of what waits or has a time limit, where no time is handed over. */
#ifndef BEOWIRE_LANE_CLOCK_H
#define BEOWIRE_LANE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)

/** CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

#endif /* BEOWIRE_LANE_CLOCK_H */
