/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traffic.h - the messages of a run: between whom, how long, and when, or after which others.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_TRAFFIC_H
#define BEOWIRE_SIMULATION_SCALE_TRAFFIC_H

#include "network.h"

#include "lane/random.h"

#define TRAFFIC_NONE UINT32_MAX

struct traffic_message {
    uint64_t bytes;
    uint64_t at_ns;   /**< of the run: when to post it, if it waits for none; then: when it was */
    uint64_t done_ns; /**< when its receive ended; 0: not yet */
    uint32_t from;
    uint32_t to;
    uint32_t waits;      /**< so many messages are to be received before it is posted */
    uint32_t next;       /**< messages that wait until it is received: in `follow`, from here on */
    uint32_t next_count; /**< number of these */
    uint32_t after;      /**< a message that waits until its send ends; TRAFFIC_NONE: none */
    uint32_t queued;     /**< the next one in its sender's backlog (scale.c) */
};

enum traffic_kind {
    TRAFFIC_INCAST, /**< all to node 0, `rounds` messages each */
    TRAFFIC_ALL,    /**< all to all, `outstanding` at once, beginning with the next node */
    TRAFFIC_RING,   /**< allreduce: `bytes` in as many parts as there are nodes, round a ring */
    TRAFFIC_TREE,   /**< allreduce: up a binomial tree, and down */
    TRAFFIC_SIZES,  /**< at random times between random nodes, by a distribution of sizes.h */
};

struct traffic_options {
    enum traffic_kind kind;
    unsigned distribution;
    uint32_t nodes;
    uint32_t messages; /**< of TRAFFIC_SIZES */
    uint32_t rounds;
    uint32_t outstanding;
    uint32_t load_percent;
    uint64_t bytes;
    uint64_t bits_per_s;
    uint32_t segment_bytes; /**< payload of a full frame */
    uint32_t head_bytes;    /**< of its headers, in Ethernet's payload */
};

struct traffic {
    struct traffic_options options;
    struct traffic_message *messages;
    uint32_t count;
    uint32_t *follow;
    uint32_t follow_count;
    uint32_t *order; /**< of those that wait for none, by time */
    uint32_t ordered;
    uint64_t longest; /**< bytes of the longest message */
};

void traffic_open(struct traffic *traffic, const struct traffic_options *options, uint64_t seed);
void traffic_close(struct traffic *traffic);

/** Bytes on the wire that a message takes at least. */
uint64_t traffic_wire_bytes(const struct traffic_options *options, uint64_t bytes);

#endif /* BEOWIRE_SIMULATION_SCALE_TRAFFIC_H */
