/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal.h - what the files of message/ share among themselves.
 */
#ifndef BEOWIRE_MESSAGE_INTERNAL_H
#define BEOWIRE_MESSAGE_INTERNAL_H

#include "message/state.h"

/** A whole message that has just come. */
struct arrived {
    uint64_t tag;
    uint32_t immediate;
    uint32_t bytes;
    const uint8_t *data;
};

/** Ends a receive with a whole message: the common case, nothing to remember. */
void message_deliver(struct message_layer *layer, struct message_peer *peer,
                     struct operation *operation, const struct arrived *arrived);

/** Takes an operation from its list of free ones; NULL if there is none. */
static inline struct operation *operation_take(struct list *free)
{
    if (list_is_empty(free)) {
        return NULL;
    }
    struct operation *operation = LIST_ENTRY(free->next, struct operation, link);
    list_remove(&operation->link);
    return operation;
}

/** The same of these kinds, or one that was never used; a send with a name, a receive perhaps
 *  without. */
struct operation *operation_take_send(struct message_layer *layer);
struct operation *operation_take_receive(struct message_layer *layer);

/** Is it one of those that have no name (spare.h)? Not for gets of peers. */
static inline bool operation_is_spare(const struct message_layer *layer,
                                      const struct operation *operation)
{
    return (uintptr_t)operation - (uintptr_t)layer->operations >= layer->operations_bytes;
}

/** Gives the queued send, which is a spare one and has not begun, an operation with a name.
 *  @return that; NULL: all that have one have begun; it has to wait until one of them ends. */
struct operation *operation_name_spare(struct message_layer *layer, struct operation *spare);

/** Gives it back: it is free. Inlined where each message passes. */
static inline void operation_give(struct message_layer *layer, struct operation *operation)
{
    operation->state = OPERATION_FREE;
    operation->peer = NULL;
    if (__builtin_expect(operation_is_spare(layer, operation), 0)) {
        list_prepend(&layer->free_spares, &operation->link);
        return;
    }
    if (operation->segment_bytes != 0 || operation->kind > BEOWIRE_RECEIVE) {
        /* Late frames may still name it: it is the last to be used again. */
        list_append(&layer->free_sends, &operation->link);
        return;
    }
    list_prepend(operation->kind == BEOWIRE_SEND ? &layer->free_sends : &layer->free_receives,
                 &operation->link);
}

/** The receive waits in `posted` no more. */
void operation_matched(struct operation *operation);

/** Ends an operation: its completion is ready to be taken. */
void operation_done(struct message_layer *layer, struct operation *operation, int status);

/** Operations wait for the frame no more, which may end them. */
void message_disowned(struct message_layer *layer, struct flow_frame *frame);

/** Ends a receive whose message is all there; too long a message gets -EMSGSIZE. */
void operation_received(struct message_layer *layer, struct operation *operation);

struct inbound *inbound_take(struct message_layer *layer);

/** Frees an inbound message and its chunks, and takes it out of every list. */
void inbound_free(struct message_layer *layer, struct inbound *inbound);

/** Adds a copy of `bytes` bytes (0 is allowed) as a chunk; there always is one (credit). */
void inbound_keep(struct message_layer *layer, struct inbound *inbound, const uint8_t *data,
                  uint32_t bytes);

/** The application takes what has piled up of it (message_starving()). */
void inbound_taken(const struct inbound *inbound);

/** Takes the chunk that was reserved for the frame being handled. */
struct chunk *chunk_take(struct message_layer *layer);

static inline void chunk_give(struct message_layer *layer, struct chunk *chunk)
{
    chunk->next = layer->free_chunks;
    layer->free_chunks = chunk;
}

void inbound_free_chunks(struct message_layer *layer, struct inbound *inbound);

/** Gives a message to a receive: what is there is copied, a long one is pulled; its first `unasked`
 *  bytes are on their way over our lane `lane`. */
void inbound_attach(struct message_layer *layer, struct inbound *inbound,
                    struct operation *operation, uint64_t unasked, uint8_t lane);

/** Gets the data of an announced message that has a place: read from the sender's memory, or
 * pulled; `unasked` and `lane` as above. */
void inbound_fetch(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                   uint8_t lane);

/** May its data be read from the sender's memory, as far as we know? */
static inline bool inbound_is_readable(const struct message_layer *layer,
                                       const struct inbound *inbound)
{
    return inbound->peer->shares_memory && inbound->address != 0 && layer->read_memory != NULL;
}

/** Where the data of a message goes that has its receive, is our get, or a put. */
static inline uint8_t *inbound_target(const struct inbound *inbound)
{
    return inbound->operation != NULL ? inbound->operation->target : inbound->target;
}

/** All that is wanted of a long message is here: its receive ends as soon as DONE is on its way, so
 *  that no more is remembered than there are receives. */
void inbound_pulled(struct message_layer *layer, struct inbound *inbound);

/** Part of the names of gets that peers pull; other slots are below it. */
#define MESSAGE_NAME_SERVED 0x8000u

/** The name of an operation: its slot, and how often that was used. */
static inline uint32_t message_name(const struct message_layer *layer,
                                    const struct operation *operation)
{
    size_t slot = 0;

    if (operation >= layer->served_memory &&
        operation < layer->served_memory + layer->served_used) {
        slot = (size_t)(operation - layer->served_memory) | MESSAGE_NAME_SERVED;
    } else if (__builtin_expect(operation_is_spare(layer, operation), 0)) {
        return operation->generation; /* for EAGER, of which one at a time is half there */
    } else {
        slot = (size_t)(operation - layer->operations);
    }
    return (uint32_t)slot | (uint32_t)operation->generation << 16;
}

/** The peer's operation with this name; NULL: there is none (any more). */
struct operation *operation_named(struct message_layer *layer, const struct message_peer *peer,
                                  uint32_t name);

/** A message of the peer that is incomplete: begun by EAGER, or announced; NULL: none. */
struct inbound *inbound_named(const struct message_peer *peer, uint32_t name, bool announced);

/** Has DATA numbers (of 32 bits) for all segments of a message? */
static inline bool message_has_numbers(uint64_t bytes, uint16_t segment_bytes)
{
    return bytes <= (uint64_t)segment_bytes << 32;
}

/** Can a message that is announced, offered or granted with this name, length and length of
 * segments be pulled? @return false: the peer breaks a rule. */
static inline bool inbound_can_pull(const struct message_peer *peer, uint32_t name, uint64_t bytes,
                                    uint16_t segment_bytes)
{
    return bytes <= BEOWIRE_MESSAGE_BYTES_MAX && segment_bytes >= PULL_SEGMENT_BYTES_MIN &&
           segment_bytes <= peer->segment_bytes_max && message_has_numbers(bytes, segment_bytes) &&
           inbound_named(peer, name, true) == NULL;
}

/** Takes the oldest posted receive that wants this message out of the list; NULL: none. */
struct operation *match_posted(struct message_layer *layer, const struct message_peer *peer,
                               uint64_t tag);

/** The oldest unexpected message that a receive wants; NULL: none. */
struct inbound *match_unexpected(const struct message_layer *layer,
                                 const struct operation *operation);

/** Copies data at `offset` of the message into the receive's buffer, as far as that reaches. */
void operation_copy_in(const struct operation *operation, uint64_t offset, const uint8_t *data,
                       uint64_t bytes);

/* ---- bundle.c, reorder.c --------------------------------------------------------------------- */

/** Adds a copy of a short message to the peer's open frame; opens one if there is none.
 *  @param confirmed the send that waits until the frame is acknowledged, or NULL
 *  @return false: no room in the flow, no credit, or no frame is free. */
bool bundle_add(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                uint32_t immediate, const void *data, uint32_t bytes, struct operation *confirmed);

/** Handles a BUNDLE that is next in order. @return 0; -EPROTO: it breaks a rule. */
int bundle_arrive(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** Drops everything that was kept for a peer. */
void reorder_drop(struct message_layer *layer, struct message_peer *peer);

#endif /* BEOWIRE_MESSAGE_INTERNAL_H */
