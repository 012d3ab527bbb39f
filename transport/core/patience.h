/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patience.h - how long to spin for a frame before sleeping in the kernel.
 *
 * Spinning avoids the cost of a wake-up, and harms nobody while a core is free. If others want the
 * core, a spinning thread may lose it for milliseconds just when its frame comes, while a sleeping
 * one gets it at once, because schedulers prefer threads that have slept. So the bound adapts: a
 * thread that lost the core while it spun (the clock jumped) spins a quarter as long next time,
 * down to almost nothing. Each undisturbed wait increases the bound a little.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_PATIENCE_H
#define BEOWIRE_CORE_PATIENCE_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct patience {
    uint64_t spin_ns; /**< the present bound */
    uint64_t max_ns;  /**< its maximum */
};

static inline void patience_open(struct patience *patience)
{
    patience->spin_ns = PATIENCE_SPIN_MAX_NS;
    patience->max_ns = PATIENCE_SPIN_MAX_NS;
}

/** Sets the maximum: about the measured cost of a wake-up. */
static inline void patience_limit(struct patience *patience, uint64_t max_ns)
{
    patience->spin_ns = max_ns;
    patience->max_ns = max_ns;
}

/** Does this step of the clock between two polls mean that the core was lost? */
static inline bool patience_is_gap(uint64_t step_ns)
{
    return step_ns >= PATIENCE_GAP_NS;
}

/** The core was lost while we spun. */
void patience_disturbed(struct patience *patience);

/** A wait has ended, or gone to sleep, after undisturbed spinning. */
void patience_undisturbed(struct patience *patience);

/** Do others probably want this core? */
static inline bool patience_is_crowded(const struct patience *patience)
{
    return patience->spin_ns < patience->max_ns / 2;
}

#endif /* BEOWIRE_CORE_PATIENCE_H */
