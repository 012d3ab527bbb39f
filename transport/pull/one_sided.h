/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_sided.h - long messages that the receiver reads from the sender's memory over the wire, by
 * RDMA. For the files of message/.
 *
 *      sender                                   receiver
 *        lends the memory
 *        ANNOUNCE, OFFER or GRANT (name) ------->  begins to read
 *                                       . . . . .  the network card transfers the data
 *        <-------------------------------- DONE    has read all; the sender takes its memory back
 *
 * The name is what the lane gave for the memory (lane.h: lend()). It takes the place of the address
 * for peers on the same host. A lent message can still be pulled like any other, and is, if reading
 * is impossible, fails, or takes too long. The memory is lent until the operation completes, and is
 * taken back before.
 *
 * A read goes into the application's buffer, which is not given back until the read has ended or
 * was stopped.
 *
 * Pure: time comes in. One thread.
 */
#ifndef BEOWIRE_PULL_ONE_SIDED_H
#define BEOWIRE_PULL_ONE_SIDED_H

#include "message/state.h"

/** The place of the data in an announcement: an address for peers that share our memory, a name for
 *  a peer that reads by RDMA, or 0. For a name, the memory is lent to the operation. */
uint64_t one_sided_offer(struct message_layer *layer, const struct message_peer *peer,
                         struct operation *operation);

/** Ends the lending of the operation's memory, before the operation completes. */
static inline void one_sided_take_back(struct message_layer *layer, struct operation *operation)
{
    layer->one_sided->take_back(layer->read_context, operation->lent);
    operation->lent = 0;
}

/** Begins to read a message whose target is known. @return false: it must be pulled. */
bool one_sided_begin(struct message_layer *layer, struct inbound *inbound);

/** Stops reading the message, if it is being read. */
void one_sided_stop(struct message_layer *layer, struct inbound *inbound);

#endif /* BEOWIRE_PULL_ONE_SIDED_H */
