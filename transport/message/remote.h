/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - a peer's memory: put, get, atomic operations. remote.c is the initiator, which asks;
 * remote_serve.c the target, which has the memory (region.h).
 *
 *      initiator                              target
 *        PUT PUT ... (up to 32 KiB) -------->   written as they come
 *        <----------------------- RESULT
 *        OFFER (a longer put) -------------->   pulled into the memory (pull.h)
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
 * so that serve.c need not know of them. A put in several frames is remembered from the first on,
 * so that all are of one put, in order, and the whole is refused if one of them was.
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
#ifndef BEOWIRE_MESSAGE_REMOTE_H
#define BEOWIRE_MESSAGE_REMOTE_H

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

#endif /* BEOWIRE_MESSAGE_REMOTE_H */
