/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario.h - what a seed decides: the wire, the work, and the faults.
 *
 *      all      any combination of faults
 *      wire     only those of frames (loss, duplicate, delay, reorder, corrupt)
 *      NAME     this one (faults.h), on a wire that may have those of frames
 */
#ifndef BEOWIRE_SIMULATION_SCENARIO_H
#define BEOWIRE_SIMULATION_SCENARIO_H

#include "run.h"

struct scenario {
    struct sim_options wire;
    struct workload_options work;
    struct remote_options remote;
    uint32_t kinds; /**< bits of enum fault_kind */
    uint64_t peer_timeout_ns;
    bool go_back_n;
    uint32_t unchecked;           /**< every n-th node offers no checksums; 0: all do */
    uint32_t sealing;             /**< every n-th node wants sealed frames; 0: none */
    struct message_limits limits; /**< of all endpoints */
    bool bundle;
    uint32_t computing; /**< a node computes after one post in n; 0: never */
};

/** The faults of a named scenario; RUN_ANY for "all". @return false: unknown name. */
bool scenario_find(const char *name, uint32_t *kinds);

/** Are there faults that make nodes silent for long? */
bool scenario_has_silence(const struct scenario *scenario);

/** Decides everything that the options leave to the seed. */
void scenario_plan(struct scenario *scenario, const struct run_options *options);

#endif /* BEOWIRE_SIMULATION_SCENARIO_H */
