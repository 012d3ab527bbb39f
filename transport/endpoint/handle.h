/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - the memory of endpoints, which outlives them.
 *
 * A program that uses an endpoint after closing it shall be told so. The memory of a closed one is
 * therefore never given back, and serves a new one only when HANDLE_CLOSED_KEPT others have been
 * closed after it: until then its handle is known to be closed.
 *
 * And a child that fork() has made shall be told that its copy is not its own. What says that an
 * endpoint is open is therefore in a page that is all 0 in children (MADV_WIPEONFORK, madvise(2),
 * Linux 4.14): nobody need ask who he is, and it also holds for those that come about without
 * fork(). An endpoint begins with the last line of such a page:
 *
 *      | page, wiped:      mark | page(s), copied by fork(): all else ...
 *                          ^ the handle
 *
 * Any thread.
 */
#ifndef BEOWIRE_ENDPOINT_HANDLE_H
#define BEOWIRE_ENDPOINT_HANDLE_H

#include "endpoint/endpoint.h"

/** Closed endpoints, the latest, that are recognized as such. */
#define HANDLE_CLOSED_KEPT 64u

/** @return memory for an endpoint, all 0 (closed, that is); NULL: there is none. */
struct beowire_endpoint *handle_take(void);

/** The endpoint is closed. */
void handle_give(struct beowire_endpoint *endpoint);

#endif /* BEOWIRE_ENDPOINT_HANDLE_H */
