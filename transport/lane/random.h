/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h - a small, seeded generator for simulation and tests; never for keys.
 *
 * xoshiro256** (David Blackman and Sebastiano Vigna, "Scrambled Linear Pseudorandom Number
 * Generators", ACM TOMS 47(4), 2021), its state filled by splitmix64 (Steele, Lea and Flood,
 * OOPSLA 2014), as its authors recommend. The same seed gives the same numbers everywhere.
 */
#ifndef BEOWIRE_LANE_RANDOM_H
#define BEOWIRE_LANE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

static inline uint64_t random_rotate(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

static inline void random_seed(struct random *random, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9E3779B97F4A7C15);
        uint64_t mixed = seed;
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
        random->state[i] = mixed ^ mixed >> 31;
    }
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t *state = random->state;
    uint64_t result = random_rotate(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;

    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = random_rotate(state[3], 45);
    return result;
}

/** 0 .. limit - 1 (0 for limit 0). The bias is below limit / 2^32. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
    uint64_t high = random_next(random) >> 32;

    if (limit <= UINT32_MAX) {
        return high * limit >> 32;
    }
    return random_next(random) % limit;
}

/** True in `ppm` of a million cases. */
static inline bool random_chance(struct random *random, uint32_t ppm)
{
    return ppm > 0 && random_below(random, 1000000) < ppm;
}

#endif /* BEOWIRE_LANE_RANDOM_H */
