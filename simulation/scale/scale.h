/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scale.h - how well the protocol does on many nodes: real cores on simulated switches.
 *
 * First each pair of nodes that will talk exchanges one empty message, unless `cold`, so that
 * connections are there. Then the traffic runs until all of it has been received. The contents of
 * messages are not checked, and all are received into the same memory. beowire-simulate without
 * "scale" tests that nothing is altered.
 */
#ifndef BEOWIRE_SIMULATION_SCALE_SCALE_H
#define BEOWIRE_SIMULATION_SCALE_SCALE_H

#include "host.h"
#include "traffic.h"

#define SCALE_TENTHS 10

struct scale_options {
    uint64_t seed;
    uint32_t nodes;
    uint32_t tcp; /**< further nodes, each of which sends by TCP to one of the others */
    bool cold;
    uint64_t limit_ns; /**< longest time that the traffic may take */
    struct network_options network;
    struct host_options host;
    struct traffic_options traffic;
};

/** A tenth of all messages, by their length. */
struct scale_tenth {
    uint32_t messages;
    uint64_t shortest;
    uint64_t longest;
    double median; /**< slowdown: time until it was received, divided by the least possible */
    double p99;
};

struct scale_result {
    uint32_t messages;
    uint32_t received;
    uint64_t time_ns;      /**< from the beginning until all was received */
    uint64_t best_ns;      /**< time that the busiest link needs, for full frames without headers */
    uint64_t bytes;        /**< of messages */
    double fairness;       /**< Jain's index of the throughput of pairs */
    uint64_t frames;       /**< sent by nodes, without those of TCP */
    uint64_t again;        /**< of these, data sent again */
    uint64_t dropped;      /**< by switches, ... */
    uint64_t dropped_host; /**< ... and by nodes */
    uint64_t buffer_most;  /**< most bytes that the buffer of one switch had */
    uint64_t queue_most;   /**< most bytes that were queued for one node */
    struct scale_tenth tenths[SCALE_TENTHS];
    /** TCP's rate by its fair share of node 0's port, until half of our bytes were received. */
    double tcp_share;
    double own_share; /**< the same of our messages */
    uint64_t tcp_again;
    uint64_t memory_bytes; /**< a node, at most */
    uint64_t set_up_ns;    /**< virtual time until all connections were there */
    uint64_t events;
    uint64_t hash;
};

/** @return false: not all was received in time. */
bool scale_run(const struct scale_options *options, struct scale_result *result);

/** The program's second form: `words` follow "scale". @return the exit status. */
int scale_main(int count, char **words);

#endif /* BEOWIRE_SIMULATION_SCALE_SCALE_H */
