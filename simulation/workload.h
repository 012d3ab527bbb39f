/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload.h - random messages between the nodes of a cluster, and what became of them.
 *
 * Every message's bytes follow from its sender, receiver and serial number. Send buffers are
 * scribbled over as soon as their operation has ended, so that whoever still reads them is found
 * out; receive buffers have guards behind them. The judge (oracle.h) knows nothing of the protocol,
 * only what was posted, what ended, and which pairs of nodes may have lost each other.
 *
 *      messages    injected, eager, fragmented, long; alone and in bursts, which are bundled;
 *                  of which the sender is told when they are there, or not
 *      receives    of one peer or any, one tag or any, with short buffers; by claim; cancelled
 *
 * For each message there is a receive that wants it, and in the end one more that takes anything.
 * Another kind of work (remote_work.h is one) has a context of its own, which begins with
 * `enum workload_context`, and its case where completions are taken.
 */
#ifndef BEOWIRE_SIMULATION_WORKLOAD_H
#define BEOWIRE_SIMULATION_WORKLOAD_H

#include "cluster.h"

/** Tags with this bit are a flood's (flood.h): no receive of a workload takes them. */
#define WORKLOAD_FLOOD_TAG (UINT64_C(1) << 63)

/** Bytes behind a receive's buffer that nobody may write. */
#define WORKLOAD_GUARD_BYTES 16

struct workload_options {
    uint32_t messages;     /**< in all */
    uint64_t bytes_max;    /**< of one */
    uint64_t duration_ns;  /**< posts are spread over this time */
    uint32_t tags;         /**< different tags between a pair */
    uint32_t any_peer_ppm; /**< receives from anyone, ... */
    uint32_t any_tag_ppm;  /**< ... with any tag, ... */
    uint32_t short_ppm;    /**< ... with a buffer that is too short, ... */
    uint32_t claim_ppm;    /**< ... that peek and claim first, ... */
    uint32_t cancel_ppm;   /**< ... that are taken back after a while */
    uint32_t burst_ppm;    /**< messages that are short, and follow the one before at once */
    bool into_first;       /**< all messages go to node 0 */
};

#define WORKLOAD_OPTIONS_DEFAULT                                                                   \
    {                                                                                              \
        .messages = 60, .bytes_max = 200000, .duration_ns = 5000000, .tags = 3,                    \
        .any_peer_ppm = 200000, .any_tag_ppm = 200000, .short_ppm = 100000                         \
    }

/** What the context of an operation is; first in each of them. */
enum workload_context { WORKLOAD_MESSAGE, WORKLOAD_RECEIVE, WORKLOAD_FLOOD, WORKLOAD_REMOTE };

struct workload_message {
    enum workload_context context;
    uint32_t index; /**< in `messages`, and the message's immediate data */
    uint32_t from;
    uint32_t to;
    uint32_t serial; /**< among those from `from` to `to` */
    uint64_t tag;
    uint64_t bytes;
    uint64_t post_ns;
    uint8_t *data;
    uint32_t from_generation; /**< of the endpoints, when it was posted */
    uint32_t to_generation;
    bool posted;
    bool injected;  /**< has no completion */
    bool confirmed; /**< its send ends when the peer has it */
    bool ended;     /**< the send's completion was taken */
    bool received;  /**< by some receive, whole or cut short */
    bool unsent;    /**< nobody was there to send it, or to send it to */
    bool finished;  /**< and counted as such */
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
    uint64_t cancel_ns; /**< taken back so long after its posting; 0: not */
    uint8_t *data;      /**< made when it is posted */
    uint32_t order;     /**< of posting, at its node */
    uint32_t at_generation;
    bool claims; /**< looks for its message first, and takes it aside */
    bool last;   /**< one of those that take anything in the end */
    bool posted;
    bool cancelled; /**< the cancel was granted */
    bool ended;
    int status;
    struct workload_message *got; /**< NULL: none */
};

/** What was done, of each kind. */
struct workload_counters {
    uint64_t posted;
    uint64_t injected;
    uint64_t injected_whole; /**< of them, in several frames */
    uint64_t confirmed;
    uint64_t claimed;
    uint64_t cancelled;
    uint64_t truncated;
    uint64_t delivered;
    uint64_t failed; /**< operations that ended with the right error */
};

/** What must not be; all 0 when all is well. */
struct workload_verdict {
    uint64_t lost;
    uint64_t duplicated;
    uint64_t corrupted;
    uint64_t hung;
    uint64_t disordered;
    uint64_t wrong;  /**< completions that are another's, or with an error that cannot be right */
    char first[256]; /**< the first of these in words */
};

/** What two nodes may do to each other's messages; bits. */
enum workload_excuse {
    EXCUSE_PARTED = 1,  /**< they may have lost each other for longer than peers wait */
    EXCUSE_CRASHED = 2, /**< one of them ended without a word, and nothing took its place */
    EXCUSE_ENDED = 4,   /**< one of them ended, and said so, or was followed by another */
    EXCUSE_MANGLED = 8, /**< frames with wrong bytes get through: nothing can be promised */
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
    uint32_t messages_due; /**< those from here on are not due yet; likewise: */
    uint32_t receives_due;
    uint32_t *waiting_messages; /**< due and not posted; indices */
    uint32_t waiting_message_count;
    uint32_t *waiting_receives;
    uint32_t waiting_receive_count;
    uint32_t *cancels; /**< posted receives that are to be taken back */
    uint32_t cancel_count;
    uint64_t retry_ns;
    uint32_t round;
    uint32_t *blocked; /**< [from * nodes + to]: the round in which a message could not be posted */
    uint8_t *excuses;  /**< [a * nodes + b] and [b * nodes + a], bits */
    bool *mute;        /**< nodes that post no receives */
    uint32_t unfinished;
    struct remote_work *remote; /**< remote_work.h; NULL: none */
    struct workload_counters counters;
    struct workload_verdict verdict;
};

/** Plans messages between all nodes; all are up. */
void workload_open(struct workload *workload, struct cluster *cluster,
                   const struct workload_options *options, uint64_t seed);

void workload_close(struct workload *workload);

/** Posts what is due, steps the cluster, takes completions; until everything that can end has ended
 *  or `until_ns` has come. @return true: all posted sends have ended, and all messages that were
 *  sent without error have arrived. */
bool workload_run(struct workload *workload, uint64_t until_ns);

/** One round of the same: for those that interfere. @return as workload_run(). */
bool workload_step(struct workload *workload, uint64_t until_ns);

/** The node posts no receives from now on, or does again. */
void workload_mute(struct workload *workload, uint32_t node, bool mute);

/** Another endpoint has taken the place of the node's: it registers its memory. */
void workload_node_started(struct workload *workload, uint32_t node);

/** The node's endpoint has just ended: what it had posted will not end. If another has taken its
 *  place, that posts the last receives again. */
void workload_node_ended(struct workload *workload, uint32_t node);

/** Two nodes, or a node and all others, are excused from now on. */
void workload_excuse(struct workload *workload, uint32_t a, uint32_t b, enum workload_excuse what);
void workload_excuse_all(struct workload *workload, uint32_t node, enum workload_excuse what);

/** Ends the process unless every message arrived. Takes back the receives that are left. */
void workload_check_all(struct workload *workload);

/** Takes back the receives that are left. */
void workload_cancel(struct workload *workload);

/** Ends the process if receives took messages out of order. */
void workload_check_order(struct workload *workload);

/** The byte at `offset` of a message. */
uint8_t workload_content(const struct workload_message *message, uint64_t offset);

#endif /* BEOWIRE_SIMULATION_WORKLOAD_H */
