/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.h - random messages between the nodes of a cluster, and their results.
 *
 * The bytes of a message depend on its sender, receiver and serial number. Send buffers are
 * overwritten when their operation completes, to detect later reads; receive buffers have guards
 * behind them. The judge (oracle.h) does not know the protocol. It knows posts, completions, and
 * which pairs of nodes may have lost each other.
 *
 *      messages    injected, eager, fragmented, long; alone and in bursts, which are bundled;
 *                  confirmed or not
 *      receives    from one peer or any, with one tag or any, with short buffers; claimed;
 * cancelled
 *
 * Each message has a receive, and at the end there is one more for each that matches anything.
 * Other kinds of work (such as remote_work.h) have contexts that begin with `enum
 * workload_context`, and a case where completions are taken.
 */
#ifndef BEOWIRE_SIMULATION_WORKLOAD_H
#define BEOWIRE_SIMULATION_WORKLOAD_H

#include "cluster.h"

/** Tags of floods (flood.h) have this bit: no receive of a workload matches them. */
#define WORKLOAD_FLOOD_TAG (UINT64_C(1) << 63)

/** Guard bytes behind a receive's buffer. */
#define WORKLOAD_GUARD_BYTES 16

struct workload_options {
    uint32_t messages;     /**< in all */
    uint64_t bytes_max;    /**< of one */
    uint64_t duration_ns;  /**< period over which posts are spread */
    uint32_t tags;         /**< number of tags between a pair */
    uint32_t any_peer_ppm; /**< receives from any peer */
    uint32_t any_tag_ppm;  /**< receives with any tag */
    uint32_t short_ppm;    /**< receives with a too short buffer */
    uint32_t claim_ppm;    /**< receives that peek and claim first */
    uint32_t cancel_ppm;   /**< receives that are cancelled after a while */
    uint32_t burst_ppm;    /**< short messages that immediately follow the one before */
    bool into_first;       /**< all messages go to node 0 */
};

#define WORKLOAD_OPTIONS_DEFAULT                                                                   \
    {                                                                                              \
        .messages = 60, .bytes_max = 200000, .duration_ns = 5000000, .tags = 3,                    \
        .any_peer_ppm = 200000, .any_tag_ppm = 200000, .short_ppm = 100000                         \
    }

/** Kinds of contexts; the first member of each. */
enum workload_context { WORKLOAD_MESSAGE, WORKLOAD_RECEIVE, WORKLOAD_FLOOD, WORKLOAD_REMOTE };

struct workload_message {
    enum workload_context context;
    uint32_t index; /**< in `messages`; also the message's immediate data */
    uint32_t from;
    uint32_t to;
    uint32_t serial; /**< among those from `from` to `to` */
    uint64_t tag;
    uint64_t bytes;
    uint64_t post_ns;
    uint8_t *data;
    uint32_t from_generation; /**< of the endpoints, at the time of posting */
    uint32_t to_generation;
    bool posted;
    bool injected;  /**< has no completion */
    bool confirmed; /**< its send completes when the peer has it */
    bool ended;     /**< the send's completion was taken */
    bool received;  /**< by some receive, whole or truncated */
    bool unsent;    /**< no endpoint was there to send or to receive it */
    bool finished;  /**< counted as finished */
    int status;     /**< of the send */
};

struct workload_receive {
    enum workload_context context;
    uint32_t at;
    uint32_t from; /**< a node, or UINT32_MAX */
    uint64_t tag;
    uint64_t ignore;
    uint64_t capacity;
    uint64_t post_ns;
    uint64_t cancel_ns; /**< cancelled this long after posting; 0: not */
    uint8_t *data;      /**< allocated when posted */
    uint32_t order;     /**< of posting, at its node */
    uint32_t at_generation;
    bool claims; /**< peeks and claims its message */
    bool last;   /**< one of those at the end that match anything */
    bool posted;
    bool cancelled; /**< the cancellation succeeded */
    bool ended;
    int status;
    struct workload_message *got; /**< NULL: none */
};

/** Number of operations of each kind. */
struct workload_counters {
    uint64_t posted;
    uint64_t injected;
    uint64_t injected_whole; /**< in several frames */
    uint64_t confirmed;
    uint64_t claimed;
    uint64_t cancelled;
    uint64_t truncated;
    uint64_t delivered;
    uint64_t failed; /**< operations with a permitted error */
};

/** Errors; all 0 if there are none. */
struct workload_verdict {
    uint64_t lost;
    uint64_t duplicated;
    uint64_t corrupted;
    uint64_t hung;
    uint64_t disordered;
    uint64_t wrong; /**< completions of another operation, or with an error that is not permitted */
    char first[256]; /**< description of the first error */
};

/** What may make operations between two nodes fail; bits. */
enum workload_excuse {
    EXCUSE_PARTED = 1,  /**< they may have lost each other for longer than the peer timeout */
    EXCUSE_CRASHED = 2, /**< one of them ended without notice, and nothing replaced it */
    EXCUSE_ENDED = 4,   /**< one of them ended with notice, or was replaced */
    EXCUSE_MANGLED = 8, /**< damaged frames arrive undetected: nothing is guaranteed */
};

struct workload {
    struct cluster *cluster;
    struct workload_options options;
    struct random random;
    uint32_t message_count;
    struct workload_message *messages; /**< by time of posting */
    uint32_t receive_count;
    struct workload_receive *receives; /**< by time of posting */
    uint32_t next_order;
    uint32_t messages_due; /**< index of the first one not yet due; also the next */
    uint32_t receives_due;
    uint32_t *waiting_messages; /**< due and not posted; indices */
    uint32_t waiting_message_count;
    uint32_t *waiting_receives;
    uint32_t waiting_receive_count;
    uint32_t *cancels; /**< posted receives to be cancelled */
    uint32_t cancel_count;
    uint64_t retry_ns;
    uint32_t round;
    uint32_t *blocked; /**< [from * nodes + to]: the round in which a message could not be posted */
    uint8_t *excuses;  /**< [a * nodes + b] and [b * nodes + a], bits */
    bool *mute;        /**< nodes that post no receives */
    uint32_t unfinished;
    struct remote_work *remote; /**< NULL: none */
    struct workload_counters counters;
    struct workload_verdict verdict;
};

/** Plans messages between all nodes, which must be up. */
void workload_open(struct workload *workload, struct cluster *cluster,
                   const struct workload_options *options, uint64_t seed);

void workload_close(struct workload *workload);

/** Posts what is due, steps the cluster and takes completions, until all that can complete has
 *  completed, or until `until_ns`. @return true: all posted sends have completed, and all messages
 *  sent without error have arrived. */
bool workload_run(struct workload *workload, uint64_t until_ns);

/** One round of workload_run(), for callers that interfere between rounds. @return as there. */
bool workload_step(struct workload *workload, uint64_t until_ns);

/** Stops the node's posting of receives, or allows it again. */
void workload_mute(struct workload *workload, uint32_t node, bool mute);

/** The node has a new endpoint, which registers its memory. */
void workload_node_started(struct workload *workload, uint32_t node);

/** The node's endpoint has just ended: its posted operations will not complete. If another has
 *  replaced it, that posts the last receives again. */
void workload_node_ended(struct workload *workload, uint32_t node);

/** Excuses two nodes, or a node and all others, from now on. */
void workload_excuse(struct workload *workload, uint32_t a, uint32_t b, enum workload_excuse what);
void workload_excuse_all(struct workload *workload, uint32_t node, enum workload_excuse what);

/** Ends the process unless every message arrived. Cancels the remaining receives. */
void workload_check_all(struct workload *workload);

/** Cancels the remaining receives. */
void workload_cancel(struct workload *workload);

/** Ends the process if receives took messages out of order. */
void workload_check_order(struct workload *workload);

/** The byte at `offset` of a message. */
uint8_t workload_content(const struct workload_message *message, uint64_t offset);

#endif /* BEOWIRE_SIMULATION_WORKLOAD_H */
