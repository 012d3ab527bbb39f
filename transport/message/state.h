/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state.h - the state of messages, for the files of message/, pull/ and remote/ only: operations,
 * incomplete and unmatched messages, and pulls.
 */
#ifndef BEOWIRE_MESSAGE_STATE_H
#define BEOWIRE_MESSAGE_STATE_H

#include "message/message.h"

enum operation_state {
    OPERATION_FREE,
    OPERATION_QUEUED,    /**< send: in the peer's queue; its first part is not completely pushed */
    OPERATION_ANNOUNCED, /**< send, put: the peer pulls it, and answers DONE */
    OPERATION_DRAINING,  /**< send, put: waits only for acknowledgements */
    OPERATION_REMOTE,    /**< put, get, atomic: all pushed, waits for the peer's answer */
    OPERATION_POSTED,    /**< receive: waits for a message */
    OPERATION_RECEIVING, /**< receive: matched, waits for the rest of the message; get: being pulled
                          */
    OPERATION_DONE,      /**< in the list of completed ones */
};

/** A send, a receive, or an operation on remote memory, from its posting until its completion is
 *  taken; also a peer's get that the peer pulls (remote/remote.h). */
struct operation {
    struct list link; /**< in the list of its state */
    enum operation_state state;
    enum beowire_operation kind;
    int status;
    uint32_t frames_outstanding;     /**< send: pushed frames that it waits for: those that refer to
                                        `source`, until they are acknowledged or copied (lent.h); if
                                        confirmed, all, until they are acknowledged */
    struct operation *next_of_frame; /**< another send that waits for the same frame; or NULL */
    struct message_peer *peer;       /**< receive from any peer: NULL until matched */
    void *context;
    uint64_t tag;      /**< of remote memory: its key */
    uint64_t ignore;   /**< receive: bits of the tag to ignore */
    uint64_t bytes;    /**< of the message */
    uint64_t capacity; /**< of the buffer, if it receives data */
    uint64_t pushed;   /**< send, put: bytes passed to the flow; otherwise bytes received */
    union {
        const uint8_t *source; /**< send, put */
        uint8_t *target;       /**< all that receive data */
    };
    uint64_t address;       /**< in remote memory */
    uint64_t lent;          /**< announced: what one_sided_offer() has lent; 0: nothing */
    const uint8_t *operand; /**< atomic */
    const uint8_t *compare; /**< atomic */
    uint32_t count;         /**< atomic: number of elements */
    uint8_t atomic;         /**< enum beowire_atomic_operation */
    uint8_t atomic_type;    /**< enum beowire_atomic_type */
    uint8_t put_flags;      /**< enum beowire_put_flag */
    uint32_t immediate;
    bool is_confirmed;      /**< send: completes when all its frames are acknowledged */
    bool is_matched;        /**< send: completes when a receive has matched it */
    bool is_silent;         /**< send: injected, has no completion */
    bool is_referred;       /**< send: frames that refer to it must be acknowledged first */
    uint16_t generation;    /**< of this slot: distinguishes its names */
    uint16_t segment_bytes; /**< announced send: payload of a DATA frame */
    uint16_t part_bytes; /**< send of several frames: payload of each but the first and the last */
};

/** Part of an unexpected message, or a frame that came too early (reorder.h). */
struct chunk {
    struct chunk *next;
    uint32_t users; /**< messages of a bundle in it */
    uint32_t bytes;
    uint32_t sequence; /**< of the frame */
    uint8_t *data;
};

/** The answer to the peer. */
enum inbound_answer {
    ANSWER_DONE,   /**< DONE: the message was pulled */
    ANSWER_RESULT, /**< RESULT: the request has ended with `status` */
    ANSWER_MEMORY, /**< REPLY: our memory at the time of sending */
    ANSWER_KEPT,   /**< REPLY: the old values in the chunk */
    ANSWER_GRANT,  /**< GRANT: our memory may be pulled */
};

/** An unmatched or incomplete message; also a peer's request for our memory until it is
 *  answered. */
struct inbound {
    struct list arrival; /**< in the layer's `unexpected` (oldest first) or `claimed`, if unmatched;
                            in `notices`: a put to report to the application */
    struct list of_peer; /**< in the peer's `inbound`, until complete */
    struct list done;    /**< in the peer's `dones` until the answer is sent */
    struct list waiting; /**< in the layer's `waiting_pulls`, `reads` or `pulled` */
    struct pull *pull;   /**< announced and being pulled */
    struct message_peer *peer;
    struct operation *operation; /**< the receive that matched it, our get, or NULL */
    struct chunk *chunks;        /**< unmatched: its data so far; request: its credit */
    struct chunk *last_chunk;
    struct chunk *shared;       /**< unmatched, of a bundle: the bundle's chunk */
    const uint8_t *shared_data; /**< the place of this message in it */
    uint64_t claim;             /**< its name while in `claimed` */
    uint64_t tag;
    uint64_t bytes;          /**< length of the message */
    uint64_t expected_bytes; /**< the part of it that will be sent */
    uint64_t received;
    uint32_t tail_bytes; /**< last bytes, which have come with ANNOUNCE */
    uint32_t immediate;
    uint32_t name; /**< in FRAGMENT, PULL and DATA; or of a request */
    uint16_t segment_bytes;
    bool announced;            /**< came as ANNOUNCE, OFFER or GRANT */
    bool one_sided;            /**< being read, in the layer's `reads` */
    bool hurried;              /**< its sender waits for the acknowledgement of its last frame */
    uint64_t address;          /**< in the sender's memory, or the name of what was lent; or 0 */
    uint64_t one_sided_due_ns; /**< being read: when to give up */
    uint8_t *target;           /**< offered put: in our memory */
    uint64_t key;              /**< request: of the memory */
    uint64_t remote_address;   /**< request: in the memory */
    uint8_t answer;            /**< enum inbound_answer */
    uint8_t status; /**< enum frame_status, of RESULT and DONE; of an incomplete put: so far */
    bool reads;     /**< request: reads our memory */
    bool notify;    /**< the application must be notified */
};

/** A block of a message being pulled; see pull/pull.h. */
struct pull_block {
    uint64_t asked_ns;
    uint64_t missing;         /**< bit i: segment i of the block has not arrived */
    uint64_t asked;           /**< those in the last request */
    uint64_t accounted_bytes; /**< its part of its path's `outstanding_bytes`; 0: nothing is */
    uint32_t index;           /**< number in the message */
    uint32_t serial;          /**< order of requests on its path */
    uint8_t lane;
    bool active;
    bool again;    /**< a part was lost, or */
    bool refused;  /**< no lane had room for the request */
    bool repeated; /**< requested more than once: data may answer an earlier request */
    bool unasked;  /**< sent, or expected, without a request */
};

/** A message being pulled. */
struct pull {
    struct list link; /**< in the layer's `pulls` or `free_pulls` */
    struct message_peer *peer;
    struct inbound *inbound;
    uint8_t *target;
    uint64_t capacity; /**< of `target` */
    uint64_t bytes;    /**< wanted bytes */
    uint32_t message;
    uint32_t segment_bytes;
    uint32_t block_segments;
    uint32_t blocks;
    uint32_t next_block; /**< first block never requested */
    uint32_t blocks_done;
    bool unasked;       /**< it began with data that came unasked */
    bool readable;      /**< blocks may be read from the sender's memory (pull/pull_read.c) */
    bool sender_absent; /**< some were, because nothing arrived for too long */
    bool refused;       /**< no lane had room for a request: the next must wait */
    uint64_t begun_ns;  /**< readable: when the sender may begin to send */
    struct pull_block block[PULL_BLOCKS]; /**< block i is at i % PULL_BLOCKS */
};

/** Requested segments of an announced message. */
struct request {
    struct list link;
    struct message_peer *peer;
    uint64_t offset;
    uint64_t wanted;
    uint32_t message;
    uint32_t behind; /**< unasked: the sequence of the frame that announces it */
    uint8_t lane;
};

/** The incomplete message that was sent without announcement; or NULL. */
static inline const struct inbound *message_half_here(const struct message_peer *peer)
{
    const struct list *last = peer->inbound.previous;

    return last != &peer->inbound && !LIST_ENTRY(last, struct inbound, of_peer)->announced
               ? LIST_ENTRY(last, struct inbound, of_peer)
               : NULL;
}

#endif /* BEOWIRE_MESSAGE_STATE_H */
