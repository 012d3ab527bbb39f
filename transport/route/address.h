/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.h - checks whether an endpoint's address is usable. Formatting and parsing are in
 * beowire.h.
 */
#ifndef BEOWIRE_ROUTE_ADDRESS_H
#define BEOWIRE_ROUTE_ADDRESS_H

#include "frame/address_layout.h"

/** Is this an address that we can use, with all reserved bytes 0? */
bool address_is_valid(const struct beowire_address *address);

static inline const struct address_layout *address_layout(const struct beowire_address *address)
{
    return (const struct address_layout *)(const void *)address->bytes;
}

#endif /* BEOWIRE_ROUTE_ADDRESS_H */
