/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complete.h - reports completed operations.
 */
#ifndef BEOWIRE_FABRIC_COMPLETE_H
#define BEOWIRE_FABRIC_COMPLETE_H

#include "endpoint.h"

/** An operation has succeeded at once: counts it, and reports it unless `quiet`. The queue must
 *  have room. */
void complete_send_now(struct endpoint *endpoint, void *context, uint64_t flags, bool quiet);

/** Reports a receive that could not be posted to the transport. The queue must have room. */
void complete_receive_failed(struct endpoint *endpoint, struct request *request, int status);

/** Is there room to report an operation that completes at once? */
static inline bool complete_has_room(const struct cq *cq)
{
    return cq == NULL || cq_room(cq) > 0;
}

/** Tells the user which peer has failed, because programs often do not. */
void complete_tell_failure(const struct endpoint *endpoint, beowire_peer peer, int status);

/** Finds the transport's counters of peers' operations on the endpoint's memory, if these are
 * counted.
 */
void complete_watch_peers(struct endpoint *endpoint);

#endif /* BEOWIRE_FABRIC_COMPLETE_H */
