/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.h - what is inside the 32 opaque bytes of an endpoint's address.
 */
#ifndef BEOWIRE_ENDPOINT_ADDRESS_H
#define BEOWIRE_ENDPOINT_ADDRESS_H

#include "beowire.h"
#include "frame/wire_types.h"

#include <assert.h>

#define ADDRESS_VERSION 1

enum address_lane {
    ADDRESS_PACKET = 1, /**< reached by Ethernet frames */
};

/** Bytes as they go over the wire and between processes. */
struct address_layout {
    uint8_t version; /**< ADDRESS_VERSION */
    uint8_t lane;    /**< enum address_lane */
    le16 endpoint;   /**< number on its node */
    uint8_t mac[6];  /**< of the interface */
    le16 ethertype;
    uint8_t reserved[4]; /**< 0 */
    le64 incarnation;    /**< random, never 0 */
    uint8_t more[8];     /**< 0; room for further lanes */
};
static_assert(sizeof(struct address_layout) == BEOWIRE_ADDRESS_BYTES, "docs/PROTOCOL.md");

/** Is this an address that we can use, with every reserved byte 0? */
bool address_is_valid(const struct beowire_address *address);

static inline const struct address_layout *address_layout(const struct beowire_address *address)
{
    return (const struct address_layout *)(const void *)address->bytes;
}

#endif /* BEOWIRE_ENDPOINT_ADDRESS_H */
