/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complete.h - what becomes of an operation that has ended.
 */
#ifndef BEOWIRE_FABRIC_COMPLETE_H
#define BEOWIRE_FABRIC_COMPLETE_H

#include "endpoint.h"

/** An operation of ours ended at once, and well: it is counted, and reported unless `quiet`. The
 *  queue has room. */
void complete_send_now(struct endpoint *endpoint, void *context, uint64_t flags, bool quiet);

/** A receive that the transport does not have ends so. The queue has room. */
void complete_receive_failed(struct endpoint *endpoint, struct request *request, int status);

/** Is there room to report an operation that ends at once? */
static inline bool complete_has_room(const struct cq *cq)
{
    return cq == NULL || cq_room(cq) > 0;
}

/** Tells the user that a peer has failed: the program may only say that something did. */
void complete_tell_failure(const struct endpoint *endpoint, beowire_peer peer, int status);

/** Finds the transport's counters of what peers do to the endpoint's memory, if they are counted.
 */
void complete_watch_peers(struct endpoint *endpoint);

#endif /* BEOWIRE_FABRIC_COMPLETE_H */
