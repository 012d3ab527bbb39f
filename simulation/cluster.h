/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h - endpoints on a simulated wire, moved on by virtual time, with the invariants of every
 * layer checked all the time. A broken rule ends the process with a message.
 *
 * Each node has a clock of its own: the wire's time and what it is ahead, which may only grow.
 * Times in this interface are the wire's.
 */
#ifndef BEOWIRE_SIMULATION_CLUSTER_H
#define BEOWIRE_SIMULATION_CLUSTER_H

#include "core/core.h"
#include "lane/random.h"
#include "lane/sim/sim.h"

#include <stdio.h>

#define CLUSTER_ENDPOINT 7 /**< every node's endpoint number */

struct node {
    struct core core;
    struct path_lanes lanes; /**< none: the node is down */
    uint64_t incarnation;    /**< of the endpoint that was started last */
    uint32_t generation;     /**< how many endpoints it has had */
    uint64_t clock_ahead_ns;
    uint64_t paused_until_ns;   /**< the process does not run before */
    uint64_t computes_until_ns; /**< the application does not call before, */
    uint64_t keeper_at_ns;      /**< but its keeper looks then, if before that */
    uint64_t held_since_ns;     /**< what it posted is held back since then; 0: nothing is */
    uint64_t held;              /**< so often something was, */
    uint64_t computed;          /**< so often it computed, */
    uint64_t kept;              /**< and so often its keeper sent what was held back */
    bool unchecked;             /**< it has done something since its invariants were checked */
};

struct cluster {
    uint64_t seed;
    struct sim_wire *wire;
    struct random random; /**< keys and incarnations */
    uint32_t node_count;
    uint32_t rails;       /**< networks, ... */
    uint32_t whole_rails; /**< ... the first so many of which have lanes that do not cut */
    uint32_t frame_bytes; /**< longest frame */
    struct node *nodes;
    struct core_options options; /**< for nodes that are started */
    uint32_t sealing;            /**< every so many-th of them wants seals; 0: none does */
    uint32_t unchecked;          /**< every so many-th offers no checksums; 0: all do */
    uint32_t computing;          /**< applications compute after one post of so many; 0: never */
    struct random work;          /**< when, and for how long */
    uint64_t steps;
    FILE *trace;          /**< NULL: none */
    uint64_t hash;        /**< of what cluster_note() was told */
    uint32_t chunks_peak; /**< most chunks that held frames of unmatched messages at a node */
};

/** Makes a wire with nodes that are all down. */
void cluster_open(struct cluster *cluster, const struct sim_options *wire);

/** Frees everything; nodes that are up just stop. */
void cluster_close(struct cluster *cluster);

/** A new secret of an endpoint. */
void cluster_secret(struct cluster *cluster, uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Does the node offer checksums? What was damaged on its way to another that does is found out. */
static inline bool cluster_checks(const struct cluster *cluster, uint32_t node)
{
    return cluster->unchecked == 0 || node % cluster->unchecked != 0;
}

/** Starts an endpoint on a node, with a new incarnation. */
void cluster_start(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint without a word, as a killed process ends. */
void cluster_crash(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint as beowire_close() with linger 0 does: it says goodbye. */
void cluster_leave(struct cluster *cluster, uint32_t node);

/** Is there a network whose lanes cut? */
bool cluster_cuts(const struct cluster *cluster);

/** Virtual time, and what the clock of a node shows. */
uint64_t cluster_now(const struct cluster *cluster);
uint64_t cluster_node_now(const struct cluster *cluster, uint32_t node);

static inline bool cluster_is_up(const struct cluster *cluster, uint32_t node)
{
    return cluster->nodes[node].lanes.count > 0;
}

/** Is the node up, and neither paused nor computing? */
bool cluster_runs(const struct cluster *cluster, uint32_t node);

/** The node's clock jumps forwards. */
void cluster_jump_clock(struct cluster *cluster, uint32_t node, uint64_t by_ns);

/** The node's process does nothing until then; its lanes take frames while they have room. */
void cluster_pause(struct cluster *cluster, uint32_t node, uint64_t until_ns);

/** Writes a line into the trace, if there is one: what somebody did, or what ended. */
void cluster_trace(const struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Makes cluster_hash() depend on this number as well. */
void cluster_note(struct cluster *cluster, uint64_t number);

/** Depends on all that was delivered, and noted. */
uint64_t cluster_hash(const struct cluster *cluster);

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

/** Lets a node send what there is to be sent to a peer: something may have been posted for it. */
void cluster_service(struct cluster *cluster, uint32_t at, struct core_peer *to);

/** As the public calls, at a node. */
int cluster_send(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context);
int cluster_send_confirmed(struct cluster *cluster, uint32_t from, struct core_peer *to,
                           uint64_t tag, uint32_t immediate, const void *data, uint64_t bytes,
                           void *context);
int cluster_inject(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes);
int cluster_receive(struct cluster *cluster, uint32_t at, struct core_peer *from, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context);
int cluster_receive_claimed(struct cluster *cluster, uint32_t at, beowire_message message,
                            void *data, uint64_t bytes, void *context);
int cluster_put(struct cluster *cluster, uint32_t from, struct core_peer *to,
                const struct beowire_remote *remote, const void *data, uint64_t bytes,
                unsigned flags, uint32_t immediate, void *context);
int cluster_get(struct cluster *cluster, uint32_t from, struct core_peer *to,
                const struct beowire_remote *remote, void *data, uint64_t bytes, void *context);
int cluster_atomic(struct cluster *cluster, uint32_t from, struct core_peer *to,
                   const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                   void *context);
bool cluster_take(struct cluster *cluster, uint32_t at, struct beowire_completion *completion);
int cluster_unregister(struct cluster *cluster, uint32_t at, uint64_t key);

/** Ends the process unless nothing is left in any node that is up: no operation, no message, no
 *  frame in use, all memory returned but the credit that peers hold. */
void cluster_check_empty(struct cluster *cluster);
void cluster_check_node_empty(struct cluster *cluster, uint32_t node);

/** Ends the process unless memory and credit of every node are in balance. */
void cluster_check(struct cluster *cluster);

/** Ends the process if the node holds back what should have left by now. */
void cluster_check_held(struct cluster *cluster, uint32_t node);

/** The same for nodes that have done something since they were checked. */
void cluster_check_some(struct cluster *cluster);

/** `report` is told what cluster_fail() is about to end the process for, and may end it itself. */
void cluster_on_failure(void (*report)(const char *what));

/** Prints what is wrong, and ends the process by abort(). */
_Noreturn void cluster_fail(const struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BEOWIRE_SIMULATION_CLUSTER_H */
