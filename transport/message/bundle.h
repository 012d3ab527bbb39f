/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bundle.h - several short messages in one frame, while there is enough under way already.
 *
 * An idle connection sends every message at once. But while BUNDLE_IN_FLIGHT_MIN frames are on
 * their way to the peer and not acknowledged, one more would only wait behind them: it goes into an
 * *open* frame, the last in the flow, which is held back until it is full, or until the endpoint
 * next makes progress without finding anything to do, or until fewer frames are on their way. As
 * Nagle (RFC 896) and as TIPC's link layer do.
 *
 * At the receiver each message of a bundle is matched by itself; those that nobody waits for share
 * the chunk that the frame had reserved, until the last of them is received.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_BUNDLE_H
#define BEOWIRE_MESSAGE_BUNDLE_H

#include "message/message.h"

/** Is there enough under way that a short message may wait a moment? */
static inline bool bundle_is_wanted(const struct message_layer *layer,
                                    const struct message_peer *peer, uint64_t bytes)
{
    return layer->may_hold && bytes <= layer->limits.bundle_bytes &&
           peer->flow.highest - peer->flow.first >= layer->limits.bundle_in_flight;
}

/** Adds a copy of a short message to the peer's open frame; opens one if there is none.
 *  @param confirmed the send that waits until the frame is acknowledged, or NULL
 *  @return false: no room in the flow, no credit, or no frame is free. */
bool bundle_add(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                uint32_t immediate, const void *data, uint32_t bytes, struct operation *confirmed);

/** The open frame may be sent now; nothing is added to it any more. */
void bundle_close(struct message_layer *layer, struct message_peer *peer);

/** Frames were pushed that are to be sent together with more to come: lists the peer. */
void bundle_gather(struct message_layer *layer, struct message_peer *peer);

/** They are sent now. */
void bundle_gathered(struct message_layer *layer, struct message_peer *peer);

/** A peer for which something is held back, or NULL. */
struct message_peer *bundle_first(const struct message_layer *layer);

/** Handles a BUNDLE that is next in order. @return 0; -EPROTO: it breaks a rule. */
int bundle_arrive(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

#endif /* BEOWIRE_MESSAGE_BUNDLE_H */
