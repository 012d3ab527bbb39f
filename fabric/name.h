/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.h - the name of an endpoint in libfabric: its address in short form.
 *
 * MPI libraries limit a name to FI_NAME_MAX bytes. It contains the endpoint's secret.
 */
#ifndef BEOWIRE_FABRIC_NAME_H
#define BEOWIRE_FABRIC_NAME_H

#include "beowire.h"

#include <stdbool.h>

#define NAME_BYTES BEOWIRE_ADDRESS_SHORT_BYTES

/** Writes the name of an address. @return false: it has too many interfaces for a name. */
bool name_from_address(const struct beowire_address *address, uint8_t name[NAME_BYTES]);

/** Parses a name, which needs no alignment. @return false: it is not an endpoint's. */
bool name_to_address(const void *name, struct beowire_address *address);

#endif /* BEOWIRE_FABRIC_NAME_H */
