/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lent.h - frames that leave straight from the user's buffer, and are copied afterwards. For the
 * files of message/.
 *
 * A message of some frames is copied, so that its send can end without waiting for the peer. But
 * the copy is needed only if a frame has to be sent again: so the frames first leave from where the
 * data is, and are copied while they are on their way. A short message's receiver has it sooner by
 * the time of the copy.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_LENT_H
#define BEOWIRE_MESSAGE_LENT_H

#include "message/message.h"

/** Begins a frame, about to be pushed, with the next `bytes` bytes of the operation: it has room
 * for them behind its head, and they stay with the operation until message_take_back().
 *  @return NULL: no frame with so much room is free. */
struct flow_frame *lent_begin(struct message_layer *layer, struct message_peer *peer,
                              enum frame_type type, struct operation *operation, uint32_t bytes);

#endif /* BEOWIRE_MESSAGE_LENT_H */
