/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handle.h - the memory of endpoints, which outlives them.
 *
 * A program that uses an endpoint after closing it shall be told so. The memory of a closed one is
 * therefore never given back, and serves a new one only when HANDLE_CLOSED_KEPT others have been
 * closed after it: until then its handle is known to be closed.
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
