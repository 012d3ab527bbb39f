/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reorder.h - frames that came too early, kept until those before them are here.
 *
 * Each frame that a peer may send has a chunk reserved (message.h), and a frame that came early is
 * kept whole in that chunk: so keeping costs no memory beyond the credit that was given, whatever a
 * peer does. The peer's list is in the order of sequences; most frames go to its end. When a kept
 * frame's turn comes it may have to be kept on, as part of a message that nobody waits for, while
 * its bytes are still in its chunk: for this the layer has one chunk more than it reserves.
 *
 * One thread.
 */
#ifndef BEOWIRE_MESSAGE_REORDER_H
#define BEOWIRE_MESSAGE_REORDER_H

#include "message/message.h"

/** Keeps a frame for which flow_check() said FLOW_KEEP. */
void reorder_keep(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** Has any been kept? */
static inline bool reorder_has_kept(const struct message_peer *peer)
{
    return peer->reordered != NULL;
}

/** Takes the frame that is now expected, if it has been kept, and decodes it.
 *  @return the chunk that `frame` points into, to be given back with reorder_release() when the
 * frame was handled; NULL: the frame expected has not come. */
struct chunk *reorder_take(struct message_peer *peer, struct frame *frame);

void reorder_release(struct message_layer *layer, struct chunk *chunk);

#endif /* BEOWIRE_MESSAGE_REORDER_H */
