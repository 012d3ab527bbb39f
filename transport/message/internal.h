/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal.h - shared by the files of message/.
 */
#ifndef BEOWIRE_MESSAGE_INTERNAL_H
#define BEOWIRE_MESSAGE_INTERNAL_H

#include "message/state.h"

/** A complete message that has just arrived. */
struct arrived {
    uint64_t tag;
    uint32_t immediate;
    uint32_t bytes;
    const uint8_t *data;
};

/** Completes a receive with a complete message: the common case. */
void message_deliver(struct message_layer *layer, struct message_peer *peer,
                     struct operation *operation, const struct arrived *arrived);

/** Takes an operation from a free list; NULL: it is empty. */
static inline struct operation *operation_take(struct list *free)
{
    if (list_is_empty(free)) {
        return NULL;
    }
    struct operation *operation = LIST_ENTRY(free->next, struct operation, link);
    list_remove(&operation->link);
    return operation;
}

/** Takes a free operation for a send or a receive, or one never used before. A send has a name; a
 *  receive may have none. */
struct operation *operation_take_send(struct message_layer *layer);
struct operation *operation_take_receive(struct message_layer *layer);

/** Is it one without a name (spare.h)? Not for peers' gets. */
static inline bool operation_is_spare(const struct message_layer *layer,
                                      const struct operation *operation)
{
    return (uintptr_t)operation - (uintptr_t)layer->operations >= layer->operations_bytes;
}

/** Replaces the queued send, a spare one that has not begun, by an operation with a name. @return
 *  that; NULL: all with a name have begun, so it must wait until one of them completes. */
struct operation *operation_name_spare(struct message_layer *layer, struct operation *spare);

/** Frees an operation. Inlined because every message uses it. */
static inline void operation_give(struct message_layer *layer, struct operation *operation)
{
    operation->state = OPERATION_FREE;
    operation->peer = NULL;
    if (__builtin_expect(operation_is_spare(layer, operation), 0)) {
        list_prepend(&layer->free_spares, &operation->link);
        return;
    }
    if (operation->segment_bytes != 0 || operation->kind > BEOWIRE_RECEIVE) {
        /* Late frames may still name it, so it is reused last. */
        list_append(&layer->free_sends, &operation->link);
        return;
    }
    list_prepend(operation->kind == BEOWIRE_SEND ? &layer->free_sends : &layer->free_receives,
                 &operation->link);
}

/** Removes the receive from `posted`. */
void operation_matched(struct operation *operation);

/** Completes an operation: its completion can be taken. */
void operation_done(struct message_layer *layer, struct operation *operation, int status);

/** Ends the operations' wait for the frame, which may complete them. */
void message_disowned(struct message_layer *layer, struct flow_frame *frame);

/** Completes a receive whose message is complete; a message that is too long gives -EMSGSIZE. */
void operation_received(struct message_layer *layer, struct operation *operation);

struct inbound *inbound_take(struct message_layer *layer);

/** Frees an inbound message and its chunks, and removes it from every list. */
void inbound_free(struct message_layer *layer, struct inbound *inbound);

/** Adds a copy of `bytes` bytes (0 is allowed) as a chunk, which credit guarantees. */
void inbound_keep(struct message_layer *layer, struct inbound *inbound, const uint8_t *data,
                  uint32_t bytes);

/** The application receives this message, which may have piled up (message_starving()). */
void inbound_taken(const struct inbound *inbound);

/** Takes the chunk reserved for the frame being handled. */
struct chunk *chunk_take(struct message_layer *layer);

static inline void chunk_give(struct message_layer *layer, struct chunk *chunk)
{
    chunk->next = layer->free_chunks;
    layer->free_chunks = chunk;
}

void inbound_free_chunks(struct message_layer *layer, struct inbound *inbound);

/** Matches a message with a receive: copies what has arrived, pulls a long one. Its first `unasked`
 *  bytes are on their way over our lane `lane`. */
void inbound_attach(struct message_layer *layer, struct inbound *inbound,
                    struct operation *operation, uint64_t unasked, uint8_t lane);

/** Gets the data of an announced message whose target is known: reads it from the sender's memory,
 *  or pulls it; `unasked` and `lane` as above. */
void inbound_fetch(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                   uint8_t lane);

/** Can its data probably be read from the sender's memory? */
static inline bool inbound_is_readable(const struct message_layer *layer,
                                       const struct inbound *inbound)
{
    return inbound->peer->shares_memory && inbound->address != 0 && layer->read_memory != NULL;
}

/** Target of the data of a matched message, our get, or a put. */
static inline uint8_t *inbound_target(const struct inbound *inbound)
{
    return inbound->operation != NULL ? inbound->operation->target : inbound->target;
}

/** All wanted data of a long message has arrived. Its receive completes as soon as DONE is pushed,
 *  so no more messages are kept than there are receives. */
void inbound_pulled(struct message_layer *layer, struct inbound *inbound);

/** Marks names of gets that peers pull; other slots are smaller. */
#define MESSAGE_NAME_SERVED 0x8000u

/** The name of an operation: its slot, and the generation of that. */
static inline uint32_t message_name(const struct message_layer *layer,
                                    const struct operation *operation)
{
    size_t slot = 0;

    if (operation >= layer->served_memory &&
        operation < layer->served_memory + layer->served_used) {
        slot = (size_t)(operation - layer->served_memory) | MESSAGE_NAME_SERVED;
    } else if (__builtin_expect(operation_is_spare(layer, operation), 0)) {
        return operation->generation; /* for EAGER, of which only one at a time is incomplete */
    } else {
        slot = (size_t)(operation - layer->operations);
    }
    return (uint32_t)slot | (uint32_t)operation->generation << 16;
}

/** The peer's operation with this name; NULL: none, or not any more. */
struct operation *operation_named(struct message_layer *layer, const struct message_peer *peer,
                                  uint32_t name);

/** An incomplete message of the peer, begun by EAGER or announced; NULL: none. */
struct inbound *inbound_named(const struct message_peer *peer, uint32_t name, bool announced);

/** Are 32 bits enough to number all segments of a message in DATA? */
static inline bool message_has_numbers(uint64_t bytes, uint16_t segment_bytes)
{
    return bytes <= (uint64_t)segment_bytes << 32;
}

/** Can a message announced, offered or granted with this name, length and segment length be pulled?
 *  @return false: the peer violates the protocol. */
static inline bool inbound_can_pull(const struct message_peer *peer, uint32_t name, uint64_t bytes,
                                    uint16_t segment_bytes)
{
    return bytes <= BEOWIRE_MESSAGE_BYTES_MAX && segment_bytes >= PULL_SEGMENT_BYTES_MIN &&
           segment_bytes <= peer->segment_bytes_max && message_has_numbers(bytes, segment_bytes) &&
           inbound_named(peer, name, true) == NULL;
}

/** Removes the oldest posted receive that matches this message from its list; NULL: none. */
struct operation *match_posted(struct message_layer *layer, const struct message_peer *peer,
                               uint64_t tag);

/** The oldest unexpected message that matches a receive; NULL: none. */
struct inbound *match_unexpected(const struct message_layer *layer,
                                 const struct operation *operation);

/** Copies data at `offset` of the message into the receive's buffer, as far as it fits. */
void operation_copy_in(const struct operation *operation, uint64_t offset, const uint8_t *data,
                       uint64_t bytes);

/* ---- bundle.c, reorder.c --------------------------------------------------------------------- */

/** Adds a copy of a short message to the peer's open frame; opens one if there is none.
 *  @param confirmed the send that waits until the frame is acknowledged, or NULL
 *  @return false: no room in the flow, no credit, or no frame is free. */
bool bundle_add(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                uint32_t immediate, const void *data, uint32_t bytes, struct operation *confirmed);

/** Handles a BUNDLE that is next in order. @return 0; -EPROTO: it violates the protocol. */
int bundle_arrive(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** Drops all kept frames of a peer. */
void reorder_drop(struct message_layer *layer, struct message_peer *peer);

#endif /* BEOWIRE_MESSAGE_INTERNAL_H */
