/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_sided.h - long messages that their receiver reads from the sender's memory over the wire, by
 * RDMA. For the files of message/.
 *
 *      sender                                   receiver
 *        lends the memory
 *        ANNOUNCE, OFFER or GRANT (name) ------->  begins to read
 *                                       . . . . .  the data comes, by the network card alone
 *        <-------------------------------- DONE    has read all; the sender takes its memory back
 *
 * The name is what the lane gave for the memory (lane.h: lend()): it is where the frame has the
 * address for peers on the same host. Nothing else differs: a message that is lent can be pulled as
 * any other, and is, if it cannot be read, if reading fails, or if it takes too long. So what was
 * lent is only an offer. It is lent for as long as the operation lasts: whatever ends that, takes
 * it back first.
 *
 * What is being read has a place to go to that is the application's. Until the read has ended, or
 * was stopped, that is not given back.
 *
 * Pure: time comes in. One thread.
 */
#ifndef BEOWIRE_PULL_ONE_SIDED_H
#define BEOWIRE_PULL_ONE_SIDED_H

#include "message/state.h"

/** What an announcement says where the data is: an address for whoever shares our memory, a name
 * for a peer that reads by itself, or 0. In the latter case the operation has lent it. */
uint64_t one_sided_offer(struct message_layer *layer, const struct message_peer *peer,
                         struct operation *operation);

/** The operation is about to end: nobody reads its memory any more. */
static inline void one_sided_take_back(struct message_layer *layer, struct operation *operation)
{
    layer->one_sided->take_back(layer->read_context, operation->lent);
    operation->lent = 0;
}

/** Begins to read a message that has its place. @return false: it has to be pulled. */
bool one_sided_begin(struct message_layer *layer, struct inbound *inbound);

/** The message is not wanted any more, or its memory is needed: if it is being read, that stops. */
void one_sided_stop(struct message_layer *layer, struct inbound *inbound);

#endif /* BEOWIRE_PULL_ONE_SIDED_H */
