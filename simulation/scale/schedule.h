/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule.h - what happens next: a binary heap of sources, each with one time. Of equal times the
 * one that was set first comes first, so a seed gives the same run.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_SCHEDULE_H
#define BEOWIRE_SIMULATION_SCALE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule_entry {
    uint64_t at_ns;
    uint64_t serial;
    uint32_t source;
};

struct schedule {
    struct schedule_entry *heap; /**< parent of i is (i - 1) / 2 */
    uint32_t *place;             /**< by source: index in the heap plus 1; 0: has no time */
    uint32_t count;
    uint64_t serial;
};

/** Sources have numbers below `sources`. Ends the process if there is no memory. */
void schedule_open(struct schedule *schedule, uint32_t sources);
void schedule_close(struct schedule *schedule);

/** Sets the time of a source, whatever it was; UINT64_MAX: none. */
void schedule_set(struct schedule *schedule, uint32_t source, uint64_t at_ns);

/** Sets it unless the source has an earlier one. */
void schedule_by(struct schedule *schedule, uint32_t source, uint64_t at_ns);

/** Takes the earliest. @return false: no source has a time. */
bool schedule_take(struct schedule *schedule, uint32_t *source, uint64_t *at_ns);

#endif /* BEOWIRE_SIMULATION_SCALE_SCHEDULE_H */
