/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - a peer's memory: put, get, atomic operations. remote_post.c and remote.c are the
 * initiator, which asks; remote_serve.c the target, which has the memory (region.h).
 *
 *      initiator                              target
 *        PUT PUT ... (up to 32 KiB) -------->   written as they come
 *        <----------------------- RESULT
 *        OFFER (a longer put) -------------->   pulled into the memory (pull/pull.h)
 *        <------------------ PULL ... DONE
 *        GET ------------------------------->
 *        <--------------- REPLY REPLY ...       (up to 32 KiB)
 *        <------------------------ GRANT        (longer): the initiator pulls
 *        PULL ... DONE --------------------->
 *        ATOMIC ---------------------------->   carried out when its turn comes
 *        <-------------- RESULT or REPLY        with the old values
 *
 * PUT, OFFER, GET and ATOMIC are sequenced, so each is carried out once, in order with each other
 * and with messages; they stand in the same queue as sends. What answers them is sequenced, too,
 * but needs no credit: the initiator has a place for it.
 *
 * Memory of the target. A request that has to be answered keeps the chunk of its frame until it is,
 * so requests are bounded by credit, like unexpected messages. A fetching atomic keeps the old
 * values there; nothing else is copied: REPLY is filled when it is pushed, from the memory as it
 * then is, if it is still registered. Gets that peers pull are operations of the layer (`served`),
 * so that pull/serve.c need not know of them. A put in several frames is remembered from the first
 * on, so that all are of one put, in order, and the whole is refused if one of them was.
 *
 * Guesses. Whoever may use memory was given its key. Requests with keys that no memory has, or had
 * lately, are counted, and end the connection when they are many.
 *
 * Unregistering ends what is going on: a put that is being pulled with DONE, a get with RESULT.
 * Either may cross what the initiator says of it: DONE and RESULT with names that are not known any
 * more are ignored.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_REMOTE_REMOTE_H
#define BEOWIRE_REMOTE_REMOTE_H

#include "message/message.h"

/* ---- initiator ----------------------------------------------------------------------------- */

/** As beowire_put(), _get(), _atomic(); arguments have been checked but for what depends on the
 *  peer. @return 0; -EAGAIN; -EMSGSIZE; the peer's error. */
int remote_put(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, const void *data, uint64_t bytes,
               unsigned flags, uint32_t immediate, void *context);
int remote_get(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, void *data, uint64_t bytes, void *context);
int remote_atomic(struct message_layer *layer, struct message_peer *peer,
                  const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                  void *context);

/* ---- target -------------------------------------------------------------------------------- */

/** No peer uses the memory with this key any more. Answers are left to be pumped.
 *  @return 0; -ENOENT: no such key. */
int remote_unregister(struct message_layer *layer, uint64_t key);

/* ---- for messages --------------------------------------------------------------------------- */

/** Pushes the next frame of the first operation in the peer's queue. @return false: no frame is
 *  free. */
bool remote_push(struct message_layer *layer, struct message_peer *peer,
                 struct operation *operation);

/** Handles RESULT, REPLY or GRANT. @return 0, or -EPROTO. */
int remote_answer(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** DONE has come for an offered put, or for a get that was granted. */
void remote_done(struct message_layer *layer, struct operation *operation, uint32_t status);

/** Handles PUT, OFFER, GET or ATOMIC. @return 0, or -EPROTO: it breaks a rule, or it is one guess
 *  at a key too many. */
int remote_request(struct message_layer *layer, struct message_peer *peer,
                   const struct frame *frame);

/** Pushes (a part of) the answer to the first request that is to be answered. @return false: no
 *  frame is free, or it has to wait. */
bool remote_push_answer(struct message_layer *layer, struct message_peer *peer,
                        struct inbound *inbound);

/** The request has been answered. */
void remote_answered(struct message_layer *layer, struct inbound *inbound);

/** The get has ended: the peer pulls it no more. */
void remote_served(struct message_layer *layer, struct operation *served);

/** Takes the oldest put that the application is to be told of. @return false: none. */
bool remote_take_notice(struct message_layer *layer, struct beowire_completion *completion);

/** The peer has failed: what it asked for is forgotten; what it has put is told of. */
void remote_forget(struct message_layer *layer, struct message_peer *peer);

#endif /* BEOWIRE_REMOTE_REMOTE_H */
