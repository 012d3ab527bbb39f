/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spare.h - operations, and room for unreceived messages, beyond those allocated by message_open().
 * For the files of message/.
 *
 * An application may post any number of sends or receives before it takes completions. So if a
 * layer may grow (`grows`), further operations are in blocks, allocated when needed and kept. This
 * is the one exception to the rule that all memory is allocated at the start. The alternative would
 * be to refuse the post.
 *
 * PULL, DONE and others name an operation by 15 bits of its slot, and spare ones have no slot. A
 * send needs a name only when it is announced: then it is exchanged for one with a slot that is
 * free or has not begun (operation_name_spare()). Receives, and sends without announcement, need
 * none.
 *
 * An application may also leave more messages unreceived than there is room for, and wait for a
 * later one, which must be accepted then. Each time the room doubles.
 *
 * Chunks are allocated in steps, before credit is granted for them: room for 1,024 peers and 4,096
 * frames, which few programs need, would be 0.2 GB of a process that may be limited (RLIMIT_AS).
 */
#ifndef BEOWIRE_MESSAGE_SPARE_H
#define BEOWIRE_MESSAGE_SPARE_H

#include "message/internal.h"

/** Operations allocated at a time. */
#define SPARE_BLOCK 1024

/** The most chunks allocated at a time: above this, room does not double. */
#define SPARE_CHUNKS_MOST (1u << 18)

struct spare_block {
    struct spare_block *next;
    struct operation operations[SPARE_BLOCK];
    struct inbound inbounds[SPARE_BLOCK]; /**< one for a matched message */
};

/** Room for unreceived messages. */
struct spare_pile {
    struct spare_pile *next;
    struct chunk *chunks;
    uint32_t chunk_count;
    uint32_t chunks_used;     /**< further slots were never used */
    struct inbound *inbounds; /**< enough for all messages of bundles in these chunks */
    uint32_t inbound_count;
    uint32_t inbounds_used; /**< further ones were never used */
    uint8_t *memory;        /**< data of the chunks */
    size_t inbound_bytes;
    size_t memory_bytes;
};

/** Allocates `wanted` more chunks, or fewer if there is not enough memory, but at least `least`.
 *  @return their number; 0: no memory. */
uint32_t spare_make_chunks(struct message_layer *layer, uint32_t wanted, uint32_t least);

/** Allocates more shared chunks if the windows of all peers would use up those allocated. Called
 *  whenever more are in use than before, so that credit need not wait. */
void spare_stay_ahead(struct message_layer *layer);

/** Takes an allocated chunk that was never used. There must be one. */
struct chunk *spare_chunk(struct message_layer *layer);

/** Doubles the room of all peers for unreceived messages, or adds less if there is not enough
 *  memory. @return false: the layer may not grow, or there is no memory. */
bool spare_add_chunks(struct message_layer *layer);

/** Takes an inbound message from that room. There is one, because each message is in a chunk. */
struct inbound *spare_inbound(const struct message_layer *layer);

/** Takes a spare operation for a send or a receive. @return NULL: the layer may not grow, or there
 *  is no memory. */
struct operation *spare_take(struct message_layer *layer);

/** Frees all of them. */
void spare_close(struct message_layer *layer);

#endif /* BEOWIRE_MESSAGE_SPARE_H */
