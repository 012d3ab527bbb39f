/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - one run: a cluster, a workload and faults, all of it decided by a seed.
 */
#ifndef BEOWIRE_SIMULATION_RUN_H
#define BEOWIRE_SIMULATION_RUN_H

#include "faults.h"
#include "remote_work.h"

/** Leave it to the seed. */
#define RUN_ANY UINT32_MAX

struct run_options {
    uint64_t seed;
    uint32_t nodes;    /**< or RUN_ANY */
    uint32_t messages; /**< or RUN_ANY */
    uint32_t kinds;    /**< bits of enum fault_kind, or RUN_ANY */
    uint32_t lost_ppm; /**< or RUN_ANY; likewise: */
    uint32_t doubled_ppm;
    uint32_t delayed_ppm;
    uint32_t corrupted_ppm;
    uint32_t undetected_ppm; /**< corrupted frames that arrive all the same; RUN_ANY: none */
    uint32_t unchecked;      /**< every so many-th node offers no checksums; 0: all do; RUN_ANY */
    FILE *trace;             /**< NULL: none */
};

#define RUN_OPTIONS_DEFAULT                                                                        \
    {                                                                                              \
        .seed = 1, .nodes = RUN_ANY, .messages = RUN_ANY, .kinds = RUN_ANY, .lost_ppm = RUN_ANY,   \
        .doubled_ppm = RUN_ANY, .delayed_ppm = RUN_ANY, .corrupted_ppm = RUN_ANY,                  \
        .undetected_ppm = RUN_ANY, .unchecked = RUN_ANY                                            \
    }

/** What messages did; for each a test wants to see that it has happened. */
struct run_kinds {
    uint64_t eager;
    uint64_t long_messages;
    uint64_t bundled;
    uint64_t held;     /**< times that what was posted was held back, ... */
    uint64_t computed; /**< times that an application computed, ... */
    uint64_t kept;     /**< ... and its keeper sent what was held back */
    uint64_t unexpected;
    uint64_t unasked_blocks;
    uint64_t pulls_repeated;
    uint64_t cut;           /**< segments and frames received over lanes that cut, ... */
    uint64_t placed;        /**< ... of which so many went straight to where they belong */
    uint64_t tacit;         /**< frames sent over such lanes behind the head of another */
    uint64_t evened;        /**< and over lanes that take trains, with zeros after them */
    uint64_t messages_read; /**< from their senders' memory, in one go */
    uint64_t blocks_read;   /**< the same, of messages whose senders kept somebody waiting */
    uint64_t replayed;      /**< CONNECTs and ACCEPTs of others, by a stranger */
    uint64_t altered;       /**< sealed frames of others, said again by it with a bit wrong */
    uint64_t unsealed;      /**< frames that were not taken for want of a right seal */
    uint64_t damaged;       /**< frames that were not taken for want of a right checksum */
    uint64_t told;          /**< times that a host said that a process has ended */
    uint64_t unread;        /**< times that failed */
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
    uint32_t chunks_peak;  /**< most frames that a node kept for messages without a receive ... */
    uint32_t chunks_limit; /**< ... and what its credit allows */
};

/** Runs it. A broken invariant ends the process (cluster.h). @return true: all is well. */
bool run(const struct run_options *options, struct run_result *result);

#endif /* BEOWIRE_SIMULATION_RUN_H */
