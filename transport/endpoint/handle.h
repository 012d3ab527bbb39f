/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - the memory of endpoints, which outlives them.
 *
 * A program that uses an endpoint after closing it must get an error. So the memory of a closed one
 * is never freed. It is reused only after HANDLE_CLOSED_KEPT others were closed; until then its
 * handle is known to be closed.
 *
 * A child of fork() must get an error, too. So the mark of an open endpoint is in a page that is
 * all 0 in children (MADV_WIPEONFORK, madvise(2), Linux 4.14). This needs no system call per use,
 * and also covers children created without fork(). An endpoint begins with the last lines of such a
 * page:
 *
 *      | page, wiped:      mark | page(s), copied by fork(): all else ...
 *                          ^ the handle
 *
 * Any thread.
 */
#ifndef BEOWIRE_ENDPOINT_HANDLE_H
#define BEOWIRE_ENDPOINT_HANDLE_H

#include "endpoint/endpoint.h"

/** Number of latest closed endpoints that are recognised. */
#define HANDLE_CLOSED_KEPT 64u

/** @return zeroed (closed) memory for an endpoint; NULL: no memory. */
struct beowire_endpoint *handle_take(void);

/** Returns the memory of a closed endpoint. */
void handle_give(struct beowire_endpoint *endpoint);

#endif /* BEOWIRE_ENDPOINT_HANDLE_H */
