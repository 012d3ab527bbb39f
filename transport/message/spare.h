/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spare.h - operations, and room for messages that nobody has received, beyond what message_open()
 * has made memory for. For the files of message/.
 *
 * An application may begin any number of sends, or receives, before it looks for what has ended. So
 * where a layer may grow (`grows`), what is more than it has room for lies in blocks that are
 * allocated as they are needed, and stay: the one exception to the rule that all memory is made at
 * the beginning, and only where the application would be refused instead.
 *
 * PULL, DONE and the like name an operation by 15 bits of its slot, and spare ones have no slot. A
 * send needs such a name only when it is announced: then it changes places with one that has a slot
 * and is free, or has not begun (operation_name_spare()). Receives, and what is sent without
 * asking, need none.
 *
 * An application may also leave more messages unreceived than there is room for, and wait for one
 * that is behind these: then it has to be let in. There is twice as much room each time.
 *
 * Chunks are made in steps, before credit is given for them: room for 1,024 peers and 4,096 frames
 * that most programs never need is 0.2 GB of a process that may be allowed little (RLIMIT_AS).
 */
#ifndef BEOWIRE_MESSAGE_SPARE_H
#define BEOWIRE_MESSAGE_SPARE_H

#include "message/internal.h"

/** So many at a time. */
#define SPARE_BLOCK 1024

/** At most so many chunks at a time: beyond this, room does not double. */
#define SPARE_CHUNKS_MOST (1u << 18)

struct spare_block {
    struct spare_block *next;
    struct operation operations[SPARE_BLOCK];
    struct inbound inbounds[SPARE_BLOCK]; /**< a message that is matched has one */
};

/** Room for messages that nobody has received. */
struct spare_pile {
    struct spare_pile *next;
    struct chunk *chunks;
    uint32_t chunk_count;
    uint32_t chunks_used;     /**< slots from here on were never used */
    struct inbound *inbounds; /**< as many as messages of bundles may be in these chunks ... */
    uint32_t inbound_count;
    uint32_t inbounds_used; /**< ... of which those from here on have never been taken */
    uint8_t *memory;        /**< of the data of chunks */
    size_t inbound_bytes;
    size_t memory_bytes;
};

/** Makes memory for `wanted` more chunks, or fewer where there is not that much, but for `least`.
 *  @return how many; 0: there is no memory. */
uint32_t spare_make_chunks(struct message_layer *layer, uint32_t wanted, uint32_t least);

/** Makes more of the chunks that all peers share, if the windows of all would use up those that are
 *  made. Called wherever more are used than before, so that nobody's credit waits for it. */
void spare_stay_ahead(struct message_layer *layer);

/** Takes a chunk that was made so, and never taken. There is one. */
struct chunk *spare_chunk(struct message_layer *layer);

/** Makes as much more room for messages that nobody has received as there is, for all peers.
 *  Where there is not memory for that much, less. @return false: the layer does not grow, or there
 *  is no memory. */
bool spare_add_chunks(struct message_layer *layer);

/** Takes an inbound message of that room. There is one: each message is in a chunk. */
struct inbound *spare_inbound(const struct message_layer *layer);

/** Takes a spare operation, for a send or a receive. @return NULL: the layer does not grow, or
 * there is no memory. */
struct operation *spare_take(struct message_layer *layer);

/** Frees all of them. */
void spare_close(struct message_layer *layer);

#endif /* BEOWIRE_MESSAGE_SPARE_H */
