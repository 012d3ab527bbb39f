/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.h - random messages between the nodes of a cluster, and the judge of what became of
 * them.
 *
 * Every message's bytes follow from its sender, receiver and serial number. Send buffers are
 * scribbled over as soon as their operation has ended, so that whoever still reads them is found
 * out. Judged: each message arrives at most once, intact, with its tag; a receive that was posted
 * earlier never takes a later message when it could have had an earlier one; an operation ends
 * exactly once. Whether everything has to arrive is the caller's question: workload_check_all().
 */
#ifndef BEOWIRE_TESTS_SIMULATION_WORKLOAD_H
#define BEOWIRE_TESTS_SIMULATION_WORKLOAD_H

#include "cluster.h"

struct workload_options {
    uint32_t messages;     /**< in all */
    uint64_t bytes_max;    /**< of one */
    uint64_t duration_ns;  /**< posts are spread over this time */
    uint32_t tags;         /**< different tags between a pair */
    uint32_t any_peer_ppm; /**< receives from anyone, ... */
    uint32_t any_tag_ppm;  /**< ... with any tag, ... */
    uint32_t short_ppm;    /**< ... with a buffer that is too short */
    bool into_first;       /**< all messages go to node 0 */
};

#define WORKLOAD_OPTIONS_DEFAULT                                                                   \
    {                                                                                              \
        .messages = 60, .bytes_max = 200000, .duration_ns = 5000000, .tags = 3,                    \
        .any_peer_ppm = 200000, .any_tag_ppm = 200000, .short_ppm = 100000                         \
    }

struct workload_message {
    uint32_t from;
    uint32_t to;
    uint32_t serial; /**< among those from `from` to `to` */
    uint64_t tag;
    uint64_t bytes;
    uint64_t post_ns;
    uint8_t *data;
    bool posted;
    bool injected; /**< has no completion */
    bool ended;    /**< the send's completion was taken */
    bool received; /**< by some receive, whole or cut short */
    int status;    /**< of the send */
};

struct workload_receive {
    uint32_t at;
    uint32_t from; /**< a node, or UINT32_MAX */
    uint64_t tag;
    uint64_t ignore;
    uint64_t capacity;
    uint64_t post_ns;
    uint8_t *data;
    uint32_t order; /**< of posting, at its node */
    bool posted;
    bool ended;
    int status;
    struct workload_message *got; /**< NULL: none */
};

struct workload {
    struct cluster *cluster;
    struct workload_options options;
    struct random random;
    uint32_t message_count;
    struct workload_message *messages; /**< in the order of posting */
    uint32_t receive_count;
    struct workload_receive *receives; /**< in the order of posting */
    uint32_t next_order;
};

/** Plans messages between all nodes; all are up. For each message there is a receive that wants it,
 *  and at the end one more that takes anything. */
void workload_open(struct workload *workload, struct cluster *cluster,
                   const struct workload_options *options, uint64_t seed);

void workload_close(struct workload *workload);

/** Posts what is due, steps the cluster, takes completions; until everything that can end has ended
 *  or `until_ns` has come. @return true: all posted sends have ended, and all messages that were
 *  sent without error have arrived. */
bool workload_run(struct workload *workload, uint64_t until_ns);

/** One round of the same: for tests that interfere. @return as workload_run(). */
bool workload_step(struct workload *workload, uint64_t until_ns);

/** Ends the test unless every message arrived. Takes back the receives that are left. */
void workload_check_all(struct workload *workload);

/** Takes back the receives that are left. */
void workload_cancel(struct workload *workload);

/** Ends the test if receives took messages out of order. */
void workload_check_order(const struct workload *workload);

#endif /* BEOWIRE_TESTS_SIMULATION_WORKLOAD_H */
