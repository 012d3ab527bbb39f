/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stranger.h - somebody on the wire who is no endpoint and knows no secret: it forges frames, and
 * nothing comes of it.
 *
 * It has a place of its own, behind those of the nodes, and knows where they are and what their
 * incarnations are: anybody may. Its frames are of every type, with keys, proofs and contents that
 * it guesses, and say that they come from its own place or from a node's. In some runs it is on
 * the path, too: it hears each CONNECT and ACCEPT, and says some of them again, unchanged, when it
 * likes. Sealed frames it hears as well, and says them again as they were, or with a bit altered,
 * and that their receiver knew nothing of them (RESET). It comes in bursts, while there is work and
 * long after.
 *
 * What else it does is judge, by what goes over the wire and by who is whose peer:
 *
 *      no state        a node's peers are endpoints that there are or were, where they are
 *      no answer       to the stranger's place goes nothing but RESET, one for a frame that could
 *                      be somebody's whose connection was forgotten, and three times its own
 *                      bytes at most
 *      no flood        to a node from which nothing has come that has a key of the sender's goes
 *                      nothing but CONNECT, ACCEPT and RESET
 *
 * A broken rule ends the process (cluster_fail()). That honest work goes on is the oracle's
 * question: nobody is excused by a stranger.
 */
#ifndef BEOWIRE_SIMULATION_STRANGER_H
#define BEOWIRE_SIMULATION_STRANGER_H

#include "cluster.h"

/** Endpoints that a node has, one after the other, at most. */
#define STRANGER_GENERATIONS 16

/** Frames that it remembers. */
#define STRANGER_RECORDS 32

/** A frame of somebody else's. */
struct stranger_record {
    uint32_t from;
    uint32_t to;
    uint32_t rail;
    uint32_t bytes;
    uint8_t *data; /**< has room for any frame */
};

/** What it knows of a node. */
struct stranger_node {
    uint64_t incarnations[STRANGER_GENERATIONS];
    uint32_t generations;
};

struct stranger {
    struct cluster *cluster;
    struct random random;
    uint32_t place; /**< its number on the wire: the first behind the nodes */
    bool on_path;
    bool resets_allowed; /**< nobody is silent for so long that RESETs would be believed */
    uint32_t bursts_left;
    uint64_t pause_ns; /**< most pauses are no longer */
    uint64_t next_ns;  /**< when it does something next */
    struct stranger_node *nodes;
    bool *heard; /**< [at * nodes + from]: a frame with a key of `at` has come */
    struct stranger_record records[STRANGER_RECORDS];
    uint64_t recorded;
    uint64_t replayed;
    uint64_t altered;
    uint64_t said;       /**< frames of its own place that have arrived, but those to which the
                              answer is silence, ... */
    uint64_t said_bytes; /**< ... and bytes of all of its place */
    uint64_t resets;     /**< frames that were sent to its place, ... */
    uint64_t reset_bytes;
};

/** The cluster's wire has one place more than nodes; none of them is up. From now on the stranger
 *  observes the wire, and keeps the trace in the cluster's stead.
 *
 * @param duration_ns how long work is posted
 * @return who has to be closed before the cluster */
struct stranger *stranger_open(struct cluster *cluster, uint64_t duration_ns, uint64_t seed);

void stranger_close(struct stranger *stranger);

/** Does what is due, and judges. Has to be called after nodes have been started or ended, before
 *  time goes on. @return when something is due next; UINT64_MAX: never. */
uint64_t stranger_step(struct stranger *stranger);

/** Judges who is whose peer. */
void stranger_check(const struct stranger *stranger);

#endif /* BEOWIRE_SIMULATION_STRANGER_H */
