/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line.h - receives that stand in line behind a multi-receive buffer.
 *
 * Such a buffer takes message after message until it is full, and only then is it the next
 * receive's turn. The transport knows receives that take one message: each message ends one, and
 * what is left of the buffer is posted anew, behind all others. So while the transport has a buffer
 * that takes messages from anyone, all later receives of untagged messages wait here, in their
 * order; what arrives meanwhile waits in the transport. (A buffer for one peer's messages does not
 * hold up the others', so it is filled in turn with later ones.)
 *
 * All functions expect the domain to be locked.
 */
#ifndef BEOWIRE_FABRIC_LINE_H
#define BEOWIRE_FABRIC_LINE_H

#include "endpoint.h"

/** Hands a receive of untagged messages to the transport, or puts it in line.
 *  @return 0, or as beowire_receive(): the request is not posted, and stays the caller's. */
int line_post(struct endpoint *endpoint, struct request *request);

/** Posts what is left of a buffer that has taken a message. @return was that possible? */
bool line_post_rest(struct endpoint *endpoint, struct request *request);

/** A multi-receive buffer takes no more. To be followed by line_advance(). */
void line_leave(struct endpoint *endpoint, const struct request *request);

/** Posts those whose turn it is.
 *  @return one that was refused, with `status`, which is in the line no more; NULL: none (any more)
 */
struct request *line_advance(struct endpoint *endpoint, int *status);

/** Takes a request out of the line, if it is in it. @return was it? */
bool line_remove(struct endpoint *endpoint, struct request *request);

#endif /* BEOWIRE_FABRIC_LINE_H */
