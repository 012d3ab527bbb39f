/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lengths.h - how long frames to a peer may be. The network may silently drop long frames, even in
 * one direction only. So CONNECT and ACCEPT are as long as the frames that they ask for, and
 * neither end sends longer frames than it knows to arrive.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_LENGTHS_H
#define BEOWIRE_CORE_LENGTHS_H

#include "core/core.h"

/** The connection has just begun by `frame`. ACCEPT names the length of the CONNECT of ours that
 * has arrived. A CONNECT shows only what the peer can send us; but our ACCEPT, which it must
 * receive before anything else, is as long as later frames. If we have also sent shorter CONNECTs,
 * the peer may have begun by the shortest of them, so its length is used. */
void lengths_begin(const struct core *core, struct core_peer *peer, const struct frame *frame);

/** The peer of an open connection repeats CONNECT or ACCEPT: our frames may be too long for the
 * path. This shortens frames, and never makes them longer. */
void lengths_shorten(const struct core *core, struct core_peer *peer, const struct frame *frame);

#endif /* BEOWIRE_CORE_LENGTHS_H */
