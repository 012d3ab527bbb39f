/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - a peer's memory: put, get, atomic operations. remote_post.c and remote.c are the
 * initiator's side, remote_serve.c that of the target, which has the memory (region.h).
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
 *        ATOMIC ---------------------------->   performed in order
 *        <-------------- RESULT or REPLY        with the old values
 *
 * PUT, OFFER, GET and ATOMIC are sequenced, so each is performed once, in order with each other and
 * with messages; they are in the same queue as sends. Their answers are sequenced, too, but need no
 * credit, because the initiator has room for them.
 *
 * Memory of the target. A request keeps the chunk of its frame until it is answered, so credit
 * bounds requests like unexpected messages. A fetching atomic keeps the old values there. Nothing
 * else is copied: REPLY is filled when it is pushed, from the memory at that time, if it is still
 * registered. Gets that peers pull are operations of the layer (`served`), like sends for
 * pull/serve.c. A put of several frames is kept from the first on, to check that the frames belong
 * together and are in order, and to refuse all if one was refused.
 *
 * Guesses. A peer that may use memory was given its key. Requests with keys that are not, and were
 * not lately, in use are counted; too many end the connection.
 *
 * Unregistering ends operations under way: a put being pulled with DONE, a get with RESULT. These
 * may cross the initiator's frames, so DONE and RESULT with unknown names are ignored.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_REMOTE_REMOTE_H
#define BEOWIRE_REMOTE_REMOTE_H

#include "message/message.h"

/* ---- initiator ----------------------------------------------------------------------------- */

/** As beowire_put(), _get(), _atomic(). Arguments are checked, except for limits of the peer.
 *  @return 0; -EAGAIN; -EMSGSIZE; the peer's error. */
int remote_put(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, const void *data, uint64_t bytes,
               unsigned flags, uint32_t immediate, void *context);
int remote_get(struct message_layer *layer, struct message_peer *peer,
               const struct beowire_remote *remote, void *data, uint64_t bytes, void *context);
int remote_atomic(struct message_layer *layer, struct message_peer *peer,
                  const struct beowire_remote *remote, const struct beowire_atomic *atomic,
                  void *context);

/* ---- target -------------------------------------------------------------------------------- */

/** Ends peers' use of the memory with this key. Answers must be pumped afterwards. @return 0;
 *  -ENOENT: no such key. */
int remote_unregister(struct message_layer *layer, uint64_t key);

/* ---- for messages --------------------------------------------------------------------------- */

/** Pushes the next frame of the first operation in the peer's queue. @return false: no frame is
 *  free. */
bool remote_push(struct message_layer *layer, struct message_peer *peer,
                 struct operation *operation);

/** Handles RESULT, REPLY or GRANT. @return 0, or -EPROTO. */
int remote_answer(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** DONE has arrived for an offered put, or a granted get. */
void remote_done(struct message_layer *layer, struct operation *operation, uint32_t status);

/** Handles PUT, OFFER, GET or ATOMIC. @return 0, or -EPROTO: it violates the protocol, or there
 *  were too many guesses of keys. */
int remote_request(struct message_layer *layer, struct message_peer *peer,
                   const struct frame *frame);

/** Pushes (a part of) the answer to the first unanswered request. @return false: no frame is free,
 *  or it must wait. */
bool remote_push_answer(struct message_layer *layer, struct message_peer *peer,
                        struct inbound *inbound);

/** Frees the answered request. */
void remote_answered(struct message_layer *layer, struct inbound *inbound);

/** The get is complete: the peer no longer pulls it. */
void remote_served(struct message_layer *layer, struct operation *served);

/** Takes the oldest put to report to the application. @return false: none. */
bool remote_take_notice(struct message_layer *layer, struct beowire_completion *completion);

/** The peer has failed: forgets its requests, but still reports its puts. */
void remote_forget(struct message_layer *layer, struct message_peer *peer);

#endif /* BEOWIRE_REMOTE_REMOTE_H */
