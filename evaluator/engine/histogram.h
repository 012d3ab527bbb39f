/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.h - counts of times in log-linear buckets: constant memory, one increment a sample.
 *
 * Each octave has 128 buckets, and values below 256 ns are exact, so a value is known to 1/128
 * (0.78 %) over the whole range of uint64_t. docs/ENGINE.md gives the same formulas; the idea is
 * that of HdrHistogram (Tene). Histograms can be added without loss.
 */
#ifndef BEOWIRE_ENGINE_HISTOGRAM_H
#define BEOWIRE_ENGINE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/** One more than the index of UINT64_MAX: (63 - 7) * 128 + 255. */
#define HISTOGRAM_BUCKETS ((63 - 7) * 128 + 256)

struct histogram {
    uint64_t samples;
    uint64_t min_ns; /**< UINT64_MAX without samples */
    uint64_t max_ns; /**< 0 without samples */
    uint64_t counts[HISTOGRAM_BUCKETS];
};

/** Bucket of a value. */
static inline size_t histogram_index(uint64_t value_ns)
{
    if (value_ns < 256) {
        return (size_t)value_ns;
    }
    unsigned octave = 63U - (unsigned)__builtin_clzll(value_ns);
    return (size_t)(octave - 7) * 128 + (size_t)(value_ns >> (octave - 7));
}

static inline void histogram_add(struct histogram *histogram, uint64_t value_ns)
{
    histogram->samples++;
    histogram->counts[histogram_index(value_ns)]++;
    if (value_ns < histogram->min_ns) {
        histogram->min_ns = value_ns;
    }
    if (value_ns > histogram->max_ns) {
        histogram->max_ns = value_ns;
    }
}

/** Empties it, and writes every bucket, so that the first samples cause no page fault. */
void histogram_clear(struct histogram *histogram);

/** Smallest value of a bucket. */
uint64_t histogram_lower(size_t index);

#endif
