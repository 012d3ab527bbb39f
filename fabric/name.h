/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.h - an endpoint's address as programs carry it that use libfabric.
 *
 * MPI libraries give a name no more than FI_NAME_MAX bytes, so it is the address's short form. It
 * holds the endpoint's secret.
 */
#ifndef BEOWIRE_FABRIC_NAME_H
#define BEOWIRE_FABRIC_NAME_H

#include "beowire.h"

#include <stdbool.h>

#define NAME_BYTES BEOWIRE_ADDRESS_SHORT_BYTES

/** Writes the name of an address. @return false: its interfaces are more than a name has room for.
 */
bool name_from_address(const struct beowire_address *address, uint8_t name[NAME_BYTES]);

/** Reads a name, which needs no alignment. @return false: it is no endpoint's. */
bool name_to_address(const void *name, struct beowire_address *address);

#endif /* BEOWIRE_FABRIC_NAME_H */
