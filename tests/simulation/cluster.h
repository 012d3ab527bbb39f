/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h - endpoints on a simulated wire, moved on by virtual time, with the invariants of every
 * layer checked all the time. For tests: a broken rule ends the process with a message.
 */
#ifndef BEOWIRE_TESTS_SIMULATION_CLUSTER_H
#define BEOWIRE_TESTS_SIMULATION_CLUSTER_H

#include "endpoint/core.h"
#include "lane/random.h"
#include "lane/sim.h"

#define CLUSTER_ENDPOINT 7 /**< every node's endpoint number */

struct node {
    struct core core;
    struct path_lanes lanes; /**< none: the node is down */
};

struct cluster {
    struct sim_wire *wire;
    struct random random; /**< keys and incarnations */
    uint32_t node_count;
    uint32_t rails;
    struct node *nodes;
    struct core_options options; /**< for nodes that are started */
    uint64_t steps;
};

/** Makes a wire with nodes that are all down. */
void cluster_open(struct cluster *cluster, const struct sim_options *wire);

/** Frees everything; nodes that are up just stop. */
void cluster_close(struct cluster *cluster);

/** Starts an endpoint on a node, with a new incarnation. */
void cluster_start(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint without a word, as a killed process ends. */
void cluster_crash(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint as beowire_close() with linger 0 does: it says goodbye. */
void cluster_leave(struct cluster *cluster, uint32_t node);

uint64_t cluster_now(const struct cluster *cluster);

/** Lets every endpoint take what arrived and run its timers, checks the invariants, and moves on to
 *  the next thing that happens, or to `until_ns` if that is earlier.
 *  @return false: nothing would happen before `until_ns`. */
bool cluster_step(struct cluster *cluster, uint64_t until_ns);

/** Steps until `until_ns`. */
void cluster_run(struct cluster *cluster, uint64_t until_ns);

/** How node `from` knows node `to`, which is up. */
struct core_peer *cluster_peer(struct cluster *cluster, uint32_t from, uint32_t to);

/** The node that a peer is, or was. */
uint32_t cluster_node_of(const struct cluster *cluster, const struct core *core, uint32_t peer);

/** As the public calls, at a node. */
int cluster_send(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context);
int cluster_inject(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes);
int cluster_receive(struct cluster *cluster, uint32_t at, struct core_peer *from, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context);

/** Ends the test unless nothing is left in any node that is up: no operation, no message, no frame
 *  in use, all memory returned but the credit that peers hold. */
void cluster_check_empty(const struct cluster *cluster);

/** Ends the test unless memory and credit of every node are in balance. */
void cluster_check(const struct cluster *cluster);

/** Prints what is wrong, and the seed, and ends the process. */
_Noreturn void cluster_fail(const struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BEOWIRE_TESTS_SIMULATION_CLUSTER_H */
