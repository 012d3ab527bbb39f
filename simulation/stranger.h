/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stranger.h - an attacker on the wire, who is no endpoint and knows no secret. It forges frames,
 * which must have no effect.
 *
 * It has its own place behind those of the nodes, and knows the nodes' places and incarnations,
 * which are public. It sends frames of all types, with guessed keys, proofs and contents, from its
 * own place or a node's. In some runs it is also on the path: it records CONNECTs, ACCEPTs and
 * sealed frames. It repeats some of them later, unchanged or (sealed ones) with a bit altered, and
 * sends RESETs in the name of their receivers. It acts in bursts, during the work and long after.
 *
 * It also checks these rules, by the frames on the wire and the nodes' peers:
 *
 *      no state        a node's peers are present or past endpoints, at their places
 *      no answer       nothing but RESET is sent to the stranger's place: one for a frame that
 * could belong to a forgotten connection, and at most three times its own bytes no flood only
 * CONNECT, ACCEPT and RESET are sent to a node from which no frame with a key of the sender has
 * arrived
 *
 * A violation ends the process (cluster_fail()). The oracle checks that honest work proceeds; a
 * stranger excuses nothing.
 */
#ifndef BEOWIRE_SIMULATION_STRANGER_H
#define BEOWIRE_SIMULATION_STRANGER_H

#include "cluster.h"

/** The most endpoints of a node, one after the other. */
#define STRANGER_GENERATIONS 16

/** Frames that it records. */
#define STRANGER_RECORDS 32

/** A recorded frame. */
struct stranger_record {
    uint32_t from;
    uint32_t to;
    uint32_t rail;
    uint32_t bytes;
    uint8_t *data; /**< room for any frame */
};

/** What it knows of a node. */
struct stranger_node {
    uint64_t incarnations[STRANGER_GENERATIONS];
    uint32_t generations;
};

struct stranger {
    struct cluster *cluster;
    struct random random;
    uint32_t place; /**< its number on the wire, the first behind the nodes */
    bool on_path;
    bool resets_allowed; /**< no peer is silent for long enough that RESETs would be believed */
    uint32_t bursts_left;
    uint64_t pause_ns; /**< most pauses are at most this long */
    uint64_t next_ns;  /**< of its next action */
    struct stranger_node *nodes;
    bool *heard; /**< [at * nodes + from]: a frame with a key of `at` has arrived */
    struct stranger_record records[STRANGER_RECORDS];
    uint64_t recorded;
    uint64_t replayed;
    uint64_t altered;
    uint64_t said; /**< frames from its own place that have arrived, except those that are never
                      answered */
    uint64_t said_bytes; /**< bytes of all frames from its place */
    uint64_t resets;     /**< frames sent to its place */
    uint64_t reset_bytes;
};

/** The cluster's wire must have one place more than nodes; all nodes must be down. From now on the
 *  stranger observes the wire, and writes the trace instead of the cluster.
 *
 *  @param duration_ns how long work is posted
 *  @return the stranger, to be closed before the cluster */
struct stranger *stranger_open(struct cluster *cluster, uint64_t duration_ns, uint64_t seed);

void stranger_close(struct stranger *stranger);

/** Performs what is due, and checks its rules. Call it after nodes have been started or ended,
 *  before time advances. @return when the next is due; UINT64_MAX: never. */
uint64_t stranger_step(struct stranger *stranger);

/** Checks the peers of all nodes. */
void stranger_check(const struct stranger *stranger);

#endif /* BEOWIRE_SIMULATION_STRANGER_H */
