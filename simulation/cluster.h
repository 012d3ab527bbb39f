/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h - endpoints on a simulated wire in virtual time. The invariants of all layers are
 * checked throughout; a violation ends the process with a message.
 *
 * Each node has its own clock: the wire's time plus an offset, which may only grow. Times in this
 * interface are the wire's.
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
    uint64_t incarnation;    /**< of its latest endpoint */
    uint32_t generation;     /**< number of endpoints so far */
    uint64_t clock_ahead_ns;
    uint64_t paused_until_ns;   /**< until when its process is stopped */
    uint64_t computes_until_ns; /**< until when the application computes and makes no calls */
    uint64_t keeper_at_ns;      /**< when its keeper makes progress meanwhile */
    uint64_t held_since_ns;     /**< since when posted messages are held; 0: none are */
    uint64_t held;              /**< times that any were held */
    uint64_t computed;          /**< times that the application computed */
    uint64_t kept;              /**< times that the keeper sent held messages */
    bool unchecked;             /**< active since its invariants were last checked */
};

struct cluster {
    uint64_t seed;
    struct sim_wire *wire;
    struct random random; /**< keys and incarnations */
    uint32_t node_count;
    uint32_t rails;       /**< networks */
    uint32_t whole_rails; /**< the first ones, whose lanes do not cut */
    uint32_t frame_bytes; /**< longest frame */
    struct node *nodes;
    struct core_options options; /**< for nodes that are started */
    uint32_t sealing;            /**< every n-th of them wants seals; 0: none */
    uint32_t unchecked;          /**< every n-th offers no checksums; 0: all do */
    uint32_t computing;          /**< applications compute after one post in n; 0: never */
    struct random work;          /**< when and for how long they compute */
    uint64_t steps;
    FILE *trace;          /**< NULL: none */
    uint64_t hash;        /**< of the numbers of cluster_note() */
    uint32_t chunks_peak; /**< most chunks of unmatched messages at a node */
};

/** Makes a wire with nodes, all down. */
void cluster_open(struct cluster *cluster, const struct sim_options *wire);

/** Frees everything; nodes that are up just stop. */
void cluster_close(struct cluster *cluster);

/** A new secret for an endpoint. */
void cluster_secret(struct cluster *cluster, uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Does the node offer checksums? Damage between two nodes that do is detected. */
static inline bool cluster_checks(const struct cluster *cluster, uint32_t node)
{
    return cluster->unchecked == 0 || node % cluster->unchecked != 0;
}

/** Starts an endpoint on a node, with a new incarnation. */
void cluster_start(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint without notice, like a killed process. */
void cluster_crash(struct cluster *cluster, uint32_t node);

/** Ends a node's endpoint like beowire_close() with linger 0: it sends LEAVING. */
void cluster_leave(struct cluster *cluster, uint32_t node);

/** Is there a network whose lanes cut? */
bool cluster_cuts(const struct cluster *cluster);

/** Virtual time, and the time of a node's clock. */
uint64_t cluster_now(const struct cluster *cluster);
uint64_t cluster_node_now(const struct cluster *cluster, uint32_t node);

static inline bool cluster_is_up(const struct cluster *cluster, uint32_t node)
{
    return cluster->nodes[node].lanes.count > 0;
}

/** Is the node up, and neither paused nor computing? */
bool cluster_runs(const struct cluster *cluster, uint32_t node);

/** Moves the node's clock forwards. */
void cluster_jump_clock(struct cluster *cluster, uint32_t node, uint64_t by_ns);

/** Stops the node's process until then; its lanes receive frames while they have room. */
void cluster_pause(struct cluster *cluster, uint32_t node, uint64_t until_ns);

/** Writes a line about a fault or an operation to the trace, if there is one. */
void cluster_trace(const struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Includes the number in cluster_hash(). */
void cluster_note(struct cluster *cluster, uint64_t number);

/** Depends on all delivered frames, and on cluster_note(). */
uint64_t cluster_hash(const struct cluster *cluster);

/** Lets every endpoint receive and run its timers, checks the invariants, and advances to the next
 *  event, or to `until_ns` if that is earlier. @return false: no event before `until_ns`. */
bool cluster_step(struct cluster *cluster, uint64_t until_ns);

/** Steps until `until_ns`. */
void cluster_run(struct cluster *cluster, uint64_t until_ns);

/** The peer at node `from` for node `to`, which is up. */
struct core_peer *cluster_peer(struct cluster *cluster, uint32_t from, uint32_t to);

/** The node of a peer, now or before. */
uint32_t cluster_node_of(const struct cluster *cluster, const struct core *core, uint32_t peer);

/** Sends what is due for a peer, after something may have been posted. */
void cluster_service(struct cluster *cluster, uint32_t at, struct core_peer *to);

/** The public calls, at a node. */
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

/** Ends the process unless nodes that are up have no operation, message or frame left, and all
 *  memory except the credit of peers is free. */
void cluster_check_empty(struct cluster *cluster);
void cluster_check_node_empty(struct cluster *cluster, uint32_t node);

/** Ends the process unless memory and credit of every node balance. */
void cluster_check(struct cluster *cluster);

/** Ends the process if the node holds what should have left. */
void cluster_check_held(struct cluster *cluster, uint32_t node);

/** The same for nodes that were active since their last check. */
void cluster_check_some(struct cluster *cluster);

/** Calls `report` with the reason before cluster_fail() ends the process; it may end it itself. */
void cluster_on_failure(void (*report)(const char *what));

/** Prints the error, and ends the process by abort(). */
_Noreturn void cluster_fail(const struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BEOWIRE_SIMULATION_CLUSTER_H */
