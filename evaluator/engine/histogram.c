/* SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"

#include <string.h>

void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
    histogram->min_ns = UINT64_MAX;
}

uint64_t histogram_lower(size_t index)
{
    if (index < 256) {
        return index;
    }
    return (uint64_t)(128 + index % 128) << (index / 128 - 1);
}
