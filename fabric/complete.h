/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complete.h - reports operations that have ended.
 */
#ifndef BEOWIRE_FABRIC_COMPLETE_H
#define BEOWIRE_FABRIC_COMPLETE_H

#include "endpoint.h"

/** One of our operations has succeeded at once: counts it, and reports it unless `quiet`. The queue
 *  has room. */
void complete_send_now(struct endpoint *endpoint, void *context, uint64_t flags, bool quiet);

/** Ends a receive that was not posted to the transport. The queue has room. */
void complete_receive_failed(struct endpoint *endpoint, struct request *request, int status);

/** Is there room to report an operation that ends at once? */
static inline bool complete_has_room(const struct cq *cq)
{
    return cq == NULL || cq_room(cq) > 0;
}

/** Tells the user which peer has failed, since programs often do not. */
void complete_tell_failure(const struct endpoint *endpoint, beowire_peer peer, int status);

/** Finds the transport's counters of peers' operations on the endpoint's memory, if these are
 * counted.
 */
void complete_watch_peers(struct endpoint *endpoint);

#endif /* BEOWIRE_FABRIC_COMPLETE_H */
