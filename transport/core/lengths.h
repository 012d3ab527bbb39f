/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lengths.h - how long frames to a peer may be. Something on the way may drop long ones and say
 * nothing of it, in one direction only, too: so CONNECT and ACCEPT are as long as what they name,
 * and no end sends longer frames than it knows to arrive.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_LENGTHS_H
#define BEOWIRE_CORE_LENGTHS_H

#include "core/core.h"

/** The connection has just begun by `frame`. ACCEPT names the length of a CONNECT of ours that has
 *  arrived. By CONNECT only the other direction is known: the answer, which the peer has to get
 *  before anything else is sent to it, is as long as the frames that follow. But if we have asked
 * for less already, the peer may have begun by the least of that, so that is what the connection
 * has. */
void lengths_begin(const struct core *core, struct core_peer *peer, const struct frame *frame);

/** The peer of an open connection says CONNECT or ACCEPT again: perhaps what we send is too long
 *  for the way to it. Frames become shorter by that, never longer. */
void lengths_shorten(const struct core *core, struct core_peer *peer, const struct frame *frame);

#endif /* BEOWIRE_CORE_LENGTHS_H */
