/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bundle.h - several short messages in one frame, in a run of posts.
 *
 * Where what is posted may wait for more (core/hold.h), a short message goes into an *open*
 * frame, the last in the flow, which is held back until it is full, or the core sends what it holds
 * back. As TIPC's link layer does, but for what decides.
 *
 * At the receiver each message of a bundle is matched by itself; those that nobody waits for share
 * the chunk that the frame had reserved, until the last of them is received.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_BUNDLE_H
#define BEOWIRE_MESSAGE_BUNDLE_H

#include "message/message.h"

/** The open frame may be sent now; nothing is added to it any more. */
void bundle_close(struct message_layer *layer, struct message_peer *peer);

/** Frames were pushed that are to be sent together with more to come: lists the peer. */
void bundle_gather(struct message_layer *layer, struct message_peer *peer);

/** They are sent now. */
void bundle_gathered(struct message_layer *layer, struct message_peer *peer);

/** The peers for which something is held back, one after the other; NULL: there is no other. */
struct message_peer *bundle_first(const struct message_layer *layer);
struct message_peer *bundle_next(const struct message_layer *layer,
                                 const struct message_peer *peer);

#endif /* BEOWIRE_MESSAGE_BUNDLE_H */
