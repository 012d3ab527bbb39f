/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lent.h - frames that leave straight from the user's buffer, and are copied afterwards.
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

/** The frame, about to be pushed, has room for `bytes` more bytes behind its head; they stay with
 *  the operation until message_take_back(). */
void lent_begin(struct message_peer *peer, struct flow_frame *frame, struct operation *operation,
                uint32_t bytes);

#endif /* BEOWIRE_MESSAGE_LENT_H */
