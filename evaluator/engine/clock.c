/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    CLOCK_GROUPS = 1001,
    /* Times groups of reads: the median of groups resolves fractions of a nanosecond. */
    CLOCK_READS = 16,
};

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

struct clock_cost clock_measure(void)
{
    uint64_t groups[CLOCK_GROUPS];
    uint64_t singles[CLOCK_GROUPS];
    for (size_t group = 0; group < CLOCK_GROUPS; group++) {
        uint64_t first = clock_now_ns();
        uint64_t previous = first;
        uint64_t last = first;
        for (int read = 0; read < CLOCK_READS; read++) {
            previous = last;
            last = clock_now_ns();
        }
        groups[group] = last - first;
        singles[group] = last - previous;
    }
    qsort(groups, CLOCK_GROUPS, sizeof groups[0], compare_times);
    qsort(singles, CLOCK_GROUPS, sizeof singles[0], compare_times);

    struct timespec resolution = {0};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    const size_t middle = CLOCK_GROUPS / 2;
    const size_t high = (size_t)CLOCK_GROUPS * 99 / 100;
    return (struct clock_cost){
        .overhead_ns = (double)groups[middle] / (double)CLOCK_READS,
        .overhead_p99_ns = (double)singles[high],
        .resolution_ns = (double)resolution.tv_sec * 1e9 + (double)resolution.tv_nsec,
    };
}
