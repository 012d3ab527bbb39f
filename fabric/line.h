/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h - receives that wait behind a multi-receive buffer.
 *
 * Such a buffer takes messages until it is full; only then is it the turn of the next receive. In
 * the transport each message completes a receive, and the rest of the buffer is posted again,
 * behind all others. So while the transport has a buffer for messages from any peer, all later
 * receives of untagged messages wait here in order, and messages wait in the transport. (A buffer
 * for one peer does not hold up receives for others, so it is filled in turn with later receives.)
 *
 * All functions expect the domain to be locked.
 */
#ifndef BEOWIRE_FABRIC_LINE_H
#define BEOWIRE_FABRIC_LINE_H

#include "endpoint.h"

/** Posts a receive of untagged messages to the transport, or puts it in line. @return 0, or as
 *  beowire_receive(): the request is not posted, and remains the caller's. */
int line_post(struct endpoint *endpoint, struct request *request);

/** Posts the rest of a buffer that has taken a message. @return whether that was possible. */
bool line_post_rest(struct endpoint *endpoint, struct request *request);

/** A multi-receive buffer takes no more messages. Call line_advance() afterwards. */
void line_leave(struct endpoint *endpoint, const struct request *request);

/** Posts the receives whose turn it is. @return one that was refused, with `status`, removed from
 *  the line; NULL: none left */
struct request *line_advance(struct endpoint *endpoint, int *status);

/** Removes a request from the line. @return whether it was in it. */
bool line_remove(struct endpoint *endpoint, struct request *request);

#endif /* BEOWIRE_FABRIC_LINE_H */
