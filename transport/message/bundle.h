/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bundle.h - several short messages in one frame, in a run of posts.
 *
 * If posted messages may wait for more (core/hold.h), a short message is put into an *open* frame,
 * the last in the flow. It is held back until it is full, or until the core sends held messages.
 * TIPC's link layer does the same by other criteria.
 *
 * The receiver matches each message of a bundle separately. Unmatched ones share the chunk reserved
 * for the frame, until the last of them is received.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_BUNDLE_H
#define BEOWIRE_MESSAGE_BUNDLE_H

#include "message/message.h"

/** Closes the open frame, which may be sent now. */
void bundle_close(struct message_layer *layer, struct message_peer *peer);

/** Frames were pushed that wait for more to be sent with: lists the peer. */
void bundle_gather(struct message_layer *layer, struct message_peer *peer);

/** The peer's held frames are sent now: removes it from the list. */
void bundle_gathered(struct message_layer *layer, struct message_peer *peer);

/** The first peer with messages held back; NULL: none. */
struct message_peer *bundle_first(const struct message_layer *layer);
struct message_peer *bundle_next(const struct message_layer *layer,
                                 const struct message_peer *peer);

#endif /* BEOWIRE_MESSAGE_BUNDLE_H */
