/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error_text.h - what went wrong, and with whom, in words.
 */
#ifndef BEOWIRE_FABRIC_ERROR_TEXT_H
#define BEOWIRE_FABRIC_ERROR_TEXT_H

#include "beowire.h"

/** Room for such a text, with its end. */
#define ERROR_TEXT_BYTES 416

/** libfabric's (positive) number for a (negative) status of the transport. */
int error_number(int status);

/** Writes one line: "process 291 on 10.77.0.1 (beowire:3:...): the peer ...". `peer` NULL: no peer
 * is to blame. */
void error_text(char text[ERROR_TEXT_BYTES], int status, const struct beowire_address *peer);

#endif /* BEOWIRE_FABRIC_ERROR_TEXT_H */
