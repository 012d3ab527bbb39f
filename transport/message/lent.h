/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lent.h - frames that are sent from the user's buffer, and copied afterwards. For the files of
 * message/.
 *
 * A message of a few frames is copied, so that its send can end without waiting for the peer. But
 * the copy is needed only for retransmission. So frames are sent from the user's buffer first, and
 * copied while they are in flight. The receiver has the message earlier by the time of the copy.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_LENT_H
#define BEOWIRE_MESSAGE_LENT_H

#include "message/message.h"

/** Begins a frame, about to be pushed, with the next `bytes` bytes of the operation. The frame has
 * room for them, but they remain in the operation's buffer until message_take_back().
 *  @return NULL: no free frame has that much room. */
struct flow_frame *lent_begin(struct message_layer *layer, struct message_peer *peer,
                              enum frame_type type, struct operation *operation, uint32_t bytes);

#endif /* BEOWIRE_MESSAGE_LENT_H */
