/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address_layout.h - what is inside the opaque bytes of an endpoint's address.
 */
#ifndef BEOWIRE_FRAME_ADDRESS_LAYOUT_H
#define BEOWIRE_FRAME_ADDRESS_LAYOUT_H

#include "beowire.h"
#include "frame/wire_types.h"

#include <assert.h>
#include <stddef.h>

#define ADDRESS_VERSION 3

/** Random, and never on a wire: who knows it may talk to the endpoint. */
#define ADDRESS_SECRET_BYTES 16

/** Network interfaces of one endpoint at most. */
#define ADDRESS_RAILS 4

/** How to reach an endpoint through one network interface. Which rail of another endpoint one
 *  talks to: core/rails.h. */
struct address_rail {
    uint8_t mac[6]; /**< of the interface; 0: not reached by Ethernet frames */
    le16 port;      /**< UDP port; 0: not reached by UDP */
    uint8_t ip[16]; /**< IPv6 address, or IPv4-mapped (RFC 4291, 2.5.5.2); 0 if no port */
};

/** Bytes as they go over the wire and between processes. */
struct address_layout {
    uint8_t version; /**< ADDRESS_VERSION */
    uint8_t rails;   /**< how many of `rail` are in use, 0 (memory only) .. ADDRESS_RAILS */
    le16 endpoint;   /**< number on its node, never 0 */
    le16 ethertype;
    uint8_t tso_rails; /**< bit i: rail i takes what network cards cut */
    uint8_t reserved;  /**< 0 */
    le64 incarnation;  /**< says nothing of the secret, never 0 */
    le64 host;         /**< endpoints with the same number share memory; 0: with nobody */
    le32 process;      /**< process id within `host`, 0 if that is 0 */
    uint8_t more[4];   /**< 0 */
    struct address_rail rail[ADDRESS_RAILS]; /**< unused ones are 0 */
    /* What comes before is the *place*: CONNECT says it, and anybody may know it. */
    uint8_t secret[ADDRESS_SECRET_BYTES]; /**< 0: not known */
};
static_assert(offsetof(struct address_layout, secret) == 128, "docs/PROTOCOL.md");
static_assert(sizeof(struct address_layout) == BEOWIRE_ADDRESS_BYTES, "docs/PROTOCOL.md");

#endif /* BEOWIRE_FRAME_ADDRESS_LAYOUT_H */
