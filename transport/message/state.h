/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state.h - what messages on their way are, for the files of message/, pull/ and remote/:
 * operations, what has come in and is not complete, what is being pulled. Nobody else has to do
 * with these.
 */
#ifndef BEOWIRE_MESSAGE_STATE_H
#define BEOWIRE_MESSAGE_STATE_H

#include "message/message.h"

enum operation_state {
    OPERATION_FREE,
    OPERATION_QUEUED,    /**< send: in the peer's queue; not all of its first part is pushed */
    OPERATION_ANNOUNCED, /**< send, put: the peer pulls it, and says DONE */
    OPERATION_DRAINING,  /**< send, put: waits for acknowledgements only */
    OPERATION_REMOTE,    /**< put, get, atomic: all pushed, waits for what the peer answers */
    OPERATION_POSTED,    /**< receive: waits for a message */
    OPERATION_RECEIVING, /**< receive: matched, waits for the rest of the message; get: pulled */
    OPERATION_DONE,      /**< in the list of completed ones */
};

/** A send, a receive, or one on remote memory, from its posting until its completion is taken. A
 *  get of a peer that it pulls is one here, too (remote/remote.h). */
struct operation {
    struct list link; /**< in whichever list its state names */
    enum operation_state state;
    enum beowire_operation kind;
    int status;
    uint32_t frames_outstanding;     /**< send: pushed, and what it waits for: those that refer to
                                          `source` until they are acknowledged, or copied (lent.h);
                                          confirmed: all, until they are acknowledged */
    struct operation *next_of_frame; /**< another send that waits for the same frame, or NULL */
    struct message_peer *peer;       /**< receive: NULL until matched if from anyone */
    void *context;
    uint64_t tag;      /**< remote memory: its key */
    uint64_t ignore;   /**< receive: bits of the tag that do not matter */
    uint64_t bytes;    /**< length of the message */
    uint64_t capacity; /**< receive, and what else gets data: of the buffer */
    uint64_t pushed;   /**< send, put: bytes handed to the flow; else: bytes that have come */
    union {
        const uint8_t *source; /**< send, put */
        uint8_t *target;       /**< whatever gets data */
    };
    uint64_t address;       /**< remote memory: where in it */
    uint64_t lent;          /**< announced: what the peer may read it by, or 0 (pull/one_sided.h) */
    const uint8_t *operand; /**< atomic */
    const uint8_t *compare; /**< atomic */
    uint32_t count;         /**< atomic: elements */
    uint8_t atomic;         /**< enum beowire_atomic_operation */
    uint8_t atomic_type;    /**< enum beowire_atomic_type */
    uint8_t put_flags;      /**< enum beowire_put_flag */
    uint32_t immediate;
    bool is_confirmed;      /**< send: ends when all its frames are acknowledged */
    bool is_matched;        /**< send: ends when a receive has matched it */
    bool is_silent;         /**< send: injected, nobody is told of its end */
    bool is_referred;       /**< send: by frames that have to be acknowledged first */
    uint16_t generation;    /**< of this slot: makes its name another one */
    uint16_t segment_bytes; /**< announced send: payload of a DATA frame */
    uint16_t part_bytes;    /**< send of several frames: of each but the first and last */
};

/** Part of an unexpected message, or a whole frame that came too early (reorder.h). */
struct chunk {
    struct chunk *next;
    uint32_t users; /**< messages of a bundle that are in it */
    uint32_t bytes;
    uint32_t sequence; /**< of the frame */
    uint8_t *data;
};

/** What is said to the peer at the end. */
enum inbound_answer {
    ANSWER_DONE,   /**< DONE: the message has been pulled */
    ANSWER_RESULT, /**< RESULT: the request has ended with `status` */
    ANSWER_MEMORY, /**< REPLY: our memory as it then is */
    ANSWER_KEPT,   /**< REPLY: the old values, in the chunk */
    ANSWER_GRANT,  /**< GRANT: our memory may be pulled */
};

/** A message on its way in that needs remembering: unmatched, or not yet complete. Also a peer's
 *  request for our memory, until it is answered. */
struct inbound {
    struct list arrival; /**< in the layer's `unexpected` (oldest first) or `claimed`, if unmatched;
                            in `notices`: a put that the application is to be told of */
    struct list of_peer; /**< in the peer's `inbound`, until complete */
    struct list done;    /**< in the peer's `dones` while an answer is to be sent */
    struct list waiting; /**< in the layer's `waiting_pulls`, `reads` or `pulled` */
    struct pull *pull;   /**< announced and being pulled */
    struct message_peer *peer;
    struct operation *operation; /**< the receive that matched it, our get, or NULL */
    struct chunk *chunks;        /**< unmatched: its data so far; request: its credit */
    struct chunk *last_chunk;
    struct chunk *shared; /**< unmatched, came in a bundle: the chunk that holds all of that, ... */
    const uint8_t *shared_data; /**< ... and where this message is in it */
    uint64_t claim;             /**< its name while in `claimed` */
    uint64_t tag;
    uint64_t bytes;          /**< length of the message */
    uint64_t expected_bytes; /**< how much of it will come */
    uint64_t received;
    uint32_t immediate;
    uint32_t name; /**< in FRAGMENTs, or PULL and DATA; of a request */
    uint16_t segment_bytes;
    bool announced;   /**< came as ANNOUNCE, OFFER or GRANT */
    bool one_sided;   /**< it is being read, in the layer's `reads` */
    bool hurried;     /**< its sender waits for the acknowledgement of its last frame */
    uint64_t address; /**< where it lies in the sender's memory, or what it was lent by; or 0 */
    uint64_t one_sided_due_ns; /**< being read: it is given up then */
    uint8_t *target;           /**< offered put: where it belongs in our memory */
    uint64_t key;              /**< request: which memory, and ... */
    uint64_t remote_address;   /**< ... where in it */
    uint8_t answer;            /**< enum inbound_answer */
    uint8_t status;            /**< enum frame_status, of RESULT and DONE; of a put, so far */
    bool reads;                /**< request: it gets data of our memory */
    bool notify;               /**< the application is to be told */
};

/** A block of a message that is being pulled; see pull/pull.h. */
struct pull_block {
    uint64_t asked_ns;
    uint64_t missing;         /**< bit i: segment i of the block has not come */
    uint64_t asked;           /**< `missing` when it was last asked for */
    uint64_t accounted_bytes; /**< part of `outstanding_bytes` of its path */
    uint32_t index;           /**< number in the message */
    uint32_t serial;          /**< order of asking on its path */
    uint8_t lane;
    bool active;
    bool again;    /**< some of it was lost */
    bool repeated; /**< asked for more than once: what comes may have been asked for before */
    bool unasked;  /**< it came, or should have, without being asked for */
};

/** A message that is being pulled. */
struct pull {
    struct list link; /**< in the layer's `pulls` or `free_pulls` */
    struct message_peer *peer;
    struct inbound *inbound;
    uint8_t *target;
    uint64_t capacity; /**< of `target` */
    uint64_t bytes;    /**< that are wanted */
    uint32_t message;
    uint32_t segment_bytes;
    uint32_t block_segments;
    uint32_t blocks;
    uint32_t next_block; /**< first that has never been asked for */
    uint32_t blocks_done;
    bool readable;      /**< its blocks may be read from the sender's memory (pull/pull_read.c) */
    bool sender_absent; /**< some had to be: nothing came for too long */
    uint64_t begun_ns;  /**< readable: since then the sender may send */
    struct pull_block block[PULL_BLOCKS]; /**< block i is at i % PULL_BLOCKS */
};

/** Segments of an announced message that its receiver has asked for. */
struct request {
    struct list link;
    struct message_peer *peer;
    uint64_t offset;
    uint64_t wanted;
    uint32_t message;
    uint8_t lane;
};

/** The message that was sent at once and has begun to come, but not ended; or NULL. */
static inline const struct inbound *message_half_here(const struct message_peer *peer)
{
    const struct list *last = peer->inbound.previous;

    return last != &peer->inbound && !LIST_ENTRY(last, struct inbound, of_peer)->announced
               ? LIST_ENTRY(last, struct inbound, of_peer)
               : NULL;
}

#endif /* BEOWIRE_MESSAGE_STATE_H */
