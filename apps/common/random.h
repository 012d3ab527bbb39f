/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h - the random numbers of the NAS benchmarks: x(k+1) = a x(k) mod 2^46.
 *
 * The specification (RNR-94-007, section 2.3) has halves of numbers multiplied in floating point;
 * 64-bit integers give the same numbers, bit by bit, in one multiplication.
 */
#ifndef BEOWIRE_APPS_RANDOM_H
#define BEOWIRE_APPS_RANDOM_H

#include <stdint.h>

#define RANDOM_MASK ((UINT64_C(1) << 46) - 1)
/** 5^13, the factor of all of them. */
#define RANDOM_FACTOR UINT64_C(1220703125)

/** The next number, from 0 to 1. */
static inline double random_next(uint64_t *state)
{
    *state = *state * RANDOM_FACTOR & RANDOM_MASK;
    return (double)(int64_t)*state * 0x1p-46;
}

/** The state after so many numbers. */
static inline uint64_t random_skip(uint64_t state, uint64_t numbers)
{
    for (uint64_t factor = RANDOM_FACTOR; numbers > 0; numbers >>= 1) {
        if (numbers & 1) {
            state = state * factor & RANDOM_MASK;
        }
        factor = factor * factor & RANDOM_MASK;
    }
    return state;
}

#endif /* BEOWIRE_APPS_RANDOM_H */
