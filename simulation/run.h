/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - one run: a cluster, a workload and faults, all decided by a seed.
 */
#ifndef BEOWIRE_SIMULATION_RUN_H
#define BEOWIRE_SIMULATION_RUN_H

#include "faults.h"
#include "remote_work.h"

/** The seed decides. */
#define RUN_ANY UINT32_MAX

struct run_options {
    uint64_t seed;
    uint32_t nodes;    /**< or RUN_ANY */
    uint32_t messages; /**< or RUN_ANY */
    uint32_t kinds;    /**< bits of enum fault_kind, or RUN_ANY */
    uint32_t lost_ppm; /**< or RUN_ANY; also the next four */
    uint32_t doubled_ppm;
    uint32_t delayed_ppm;
    uint32_t corrupted_ppm;
    uint32_t undetected_ppm; /**< corrupted frames that arrive undetected; RUN_ANY: none */
    uint32_t unchecked;      /**< every n-th node offers no checksums; 0: all do; RUN_ANY */
    FILE *trace;             /**< NULL: none */
};

#define RUN_OPTIONS_DEFAULT                                                                        \
    {                                                                                              \
        .seed = 1, .nodes = RUN_ANY, .messages = RUN_ANY, .kinds = RUN_ANY, .lost_ppm = RUN_ANY,   \
        .doubled_ppm = RUN_ANY, .delayed_ppm = RUN_ANY, .corrupted_ppm = RUN_ANY,                  \
        .undetected_ppm = RUN_ANY, .unchecked = RUN_ANY                                            \
    }

/** What happened to messages; tests require that each has happened. */
struct run_kinds {
    uint64_t eager;
    uint64_t long_messages;
    uint64_t bundled;
    uint64_t held;     /**< times that posted messages were held */
    uint64_t computed; /**< times that an application computed */
    uint64_t kept;     /**< times that its keeper sent held messages */
    uint64_t unexpected;
    uint64_t unasked_blocks;
    uint64_t pulls_repeated;
    uint64_t cut;           /**< segments and frames received over lanes that cut */
    uint64_t placed;        /**< those of them received directly into their buffer */
    uint64_t tacit;         /**< tacit frames sent over such lanes */
    uint64_t evened;        /**< frames padded to equal length on lanes that take trains */
    uint64_t messages_read; /**< read at once from the sender's memory */
    uint64_t
        blocks_read; /**< read from the sender's memory, of messages whose senders delayed others */
    uint64_t replayed; /**< CONNECTs and ACCEPTs of nodes, repeated by a stranger */
    uint64_t altered;  /**< sealed frames repeated by a stranger with a wrong bit */
    uint64_t unsealed; /**< frames dropped because of a missing or wrong seal */
    uint64_t damaged;  /**< frames dropped because of a wrong checksum */
    uint64_t told;     /**< reports of a host that a process has ended */
    uint64_t unread;   /**< failed reads of the sender's memory */
    uint64_t path_changes;
    uint64_t peers_failed;
};

struct run_result {
    uint32_t nodes;
    uint32_t messages;
    struct workload_counters counters;
    struct remote_counters remote;
    struct workload_verdict verdict;
    struct run_kinds kinds;
    uint64_t faults[FAULT_KINDS];
    uint64_t frames;
    uint64_t retransmitted;
    uint64_t virtual_ns;
    uint64_t hash;
    uint32_t chunks_peak;  /**< most frames that a node kept for unmatched messages */
    uint32_t chunks_limit; /**< the limit by its credit */
};

/** Executes a run. A violated invariant ends the process (cluster.h). @return true: no errors. */
bool run(const struct run_options *options, struct run_result *result);

#endif /* BEOWIRE_SIMULATION_RUN_H */
