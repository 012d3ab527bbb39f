/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patience.h - how long to spin for a frame before sleeping in the kernel.
 *
 * Spinning saves the price of a wake-up, and costs nobody anything as long as there is a core to
 * spare. Where others want the core, a spinner is taken off it for milliseconds just when its frame
 * comes, while a sleeper is put on it at once when its frame comes: schedulers favour those who
 * have slept. So the bound follows what is seen: whoever was taken off the core while it spun (the
 * clock jumped) spins a quarter as long next time, down to almost nothing; each wait that was left
 * in peace lets the bound grow back a little.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_PATIENCE_H
#define BEOWIRE_CORE_PATIENCE_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct patience {
    uint64_t spin_ns; /**< the bound */
    uint64_t max_ns;  /**< which it does not exceed */
};

static inline void patience_open(struct patience *patience)
{
    patience->spin_ns = PATIENCE_SPIN_MAX_NS;
    patience->max_ns = PATIENCE_SPIN_MAX_NS;
}

/** Spins at most so long from now on: a wake-up was measured to cost about this. */
static inline void patience_limit(struct patience *patience, uint64_t max_ns)
{
    patience->spin_ns = max_ns;
    patience->max_ns = max_ns;
}

/** Does a step of the clock by so much, between two looks for a frame, mean that the core was taken
 *  away? */
static inline bool patience_is_gap(uint64_t step_ns)
{
    return step_ns >= PATIENCE_GAP_NS;
}

/** The core was taken away while we spun. */
void patience_disturbed(struct patience *patience);

/** A wait has ended, or has gone to sleep, and nothing disturbed its spinning. */
void patience_undisturbed(struct patience *patience);

/** Is there reason to think that others want this core? */
static inline bool patience_is_crowded(const struct patience *patience)
{
    return patience->spin_ns < patience->max_ns / 2;
}

#endif /* BEOWIRE_CORE_PATIENCE_H */
