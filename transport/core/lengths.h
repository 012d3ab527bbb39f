/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lengths.h - how long frames to a peer may be. The network may silently drop long frames, even in
 * one direction only. So CONNECT and ACCEPT have the length that they name, and no end sends longer
 * frames than it knows to arrive.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_LENGTHS_H
#define BEOWIRE_CORE_LENGTHS_H

#include "core/core.h"

/** The connection has just begun by `frame`. ACCEPT names the length of our CONNECT that has
 * arrived. CONNECT shows only the other direction; but our answer, which the peer must receive
 * before anything else, is as long as later frames. If we have already asked for less, the peer may
 * have begun with the least of that, which then holds. */
void lengths_begin(const struct core *core, struct core_peer *peer, const struct frame *frame);

/** The peer of an open connection repeats CONNECT or ACCEPT: our frames may be too long for the
 * path. This shortens frames, and never makes them longer. */
void lengths_shorten(const struct core *core, struct core_peer *peer, const struct frame *frame);

#endif /* BEOWIRE_CORE_LENGTHS_H */
