/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error_text.h - texts for errors and peers.
 */
#ifndef BEOWIRE_FABRIC_ERROR_TEXT_H
#define BEOWIRE_FABRIC_ERROR_TEXT_H

#include "beowire.h"

#include <stdbool.h>

/** Longest text for a peer, with its zero byte. */
#define PEER_TEXT_BYTES 400

/** Longest text for an error, with its zero byte. */
#define ERROR_TEXT_BYTES 512

/** libfabric's (positive) number for a (negative) status of the transport. */
int error_number(int status);

/** Writes "process 291 on 10.77.0.1 (beowire:3:...)". @return false: `peer` is NULL. */
bool error_peer_text(char text[PEER_TEXT_BYTES], const struct beowire_address *peer);

/** Writes one line: "process 291 on 10.77.0.1 (beowire:3:...): the peer ...". `peer` may be
 *  NULL. */
void error_text(char text[ERROR_TEXT_BYTES], int status, const struct beowire_address *peer);

#endif /* BEOWIRE_FABRIC_ERROR_TEXT_H */
