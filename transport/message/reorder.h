/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reorder.h - frames that came too early, kept until those before them have arrived.
 *
 * Each frame that a peer may send has a chunk reserved (message.h), and an early frame is kept in
 * that chunk. So keeping it needs no memory beyond the granted credit, whatever a peer does. The
 * peer's list is ordered by sequence; most frames are added at its end. When it is a kept frame's
 * turn, it may have to be kept longer as part of an unmatched message, while its bytes are still in
 * its chunk. For this the layer has one chunk more than it reserves.
 *
 * One thread.
 */
#ifndef BEOWIRE_MESSAGE_REORDER_H
#define BEOWIRE_MESSAGE_REORDER_H

#include "message/message.h"

/** Keeps a frame for which flow_check() returned FLOW_KEEP. */
void reorder_keep(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** Has any been kept? */
static inline bool reorder_has_kept(const struct message_peer *peer)
{
    return peer->reordered != NULL;
}

/** Takes and decodes the expected frame, if it was kept.
 *  @return the chunk with the data of `frame`, to be passed to reorder_release() when the frame was
 *  handled; NULL: the expected frame has not arrived. */
struct chunk *reorder_take(struct message_peer *peer, struct frame *frame);

void reorder_release(struct message_layer *layer, struct chunk *chunk);

#endif /* BEOWIRE_MESSAGE_REORDER_H */
