/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address_layout.h - layout of an endpoint's address, which is opaque to applications.
 */
#ifndef BEOWIRE_FRAME_ADDRESS_LAYOUT_H
#define BEOWIRE_FRAME_ADDRESS_LAYOUT_H

#include "beowire.h"
#include "frame/wire_types.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#define ADDRESS_VERSION 3

/** Random, and never on a wire. Peers that know it may connect to the endpoint. */
#define ADDRESS_SECRET_BYTES 16

/** Most network interfaces of one endpoint. */
#define ADDRESS_RAILS 4

/** How to reach an endpoint through one network interface. route/rails.h pairs rails. */
struct address_rail {
    uint8_t mac[6]; /**< of the interface; 0: not reached by Ethernet frames */
    le16 port;      /**< UDP port; 0: not reached by UDP */
    uint8_t ip[16]; /**< IPv6 address, or IPv4-mapped (RFC 4291, 2.5.5.2); 0 if no port */
};

/** In place of the last rail: how to reach an endpoint by TIPC, whose address belongs to the host
 * and not to an interface. A rail of an interface has a MAC or a port. */
struct address_tipc {
    uint8_t none[16]; /**< 0: MAC, port, and the first half of an unused IP address */
    le32 node;        /**< of the host in its TIPC network; never 0 */
    le32 socket;      /**< its number in that kernel; never 0 */
};
static_assert(sizeof(struct address_tipc) == sizeof(struct address_rail), "in place of one");

static inline bool address_rail_is_tipc(const struct address_rail *rail)
{
    static const uint8_t none[sizeof((struct address_tipc *)0)->none];
    struct address_tipc tipc;

    memcpy(&tipc, rail, sizeof tipc);
    return memcmp(tipc.none, none, sizeof none) == 0 && from_le32(tipc.node) != 0 &&
           from_le32(tipc.socket) != 0;
}

/** In place of a rail, after those of interfaces and before TIPC: how to reach an endpoint by
 *  datagrams of its RDMA device (RoCE v2). Other lanes do not take it for an interface's rail. */
struct address_verbs {
    uint8_t none[8];    /**< 0: MAC and port */
    le32 queue_pair;    /**< its number in the device, 2 .. 0xFFFFFE */
    uint8_t no_more[8]; /**< 0 */
    uint8_t ipv4[4];    /**< of the device's interface; not 0, no multicast group */
};
static_assert(sizeof(struct address_verbs) == sizeof(struct address_rail), "in place of one");

static inline bool address_rail_is_verbs(const struct address_rail *rail)
{
    struct address_verbs verbs;

    memcpy(&verbs, rail, sizeof verbs);
    const struct address_verbs same = {
        .queue_pair = verbs.queue_pair,
        .ipv4 = {verbs.ipv4[0], verbs.ipv4[1], verbs.ipv4[2], verbs.ipv4[3]}};
    uint32_t queue_pair = from_le32(verbs.queue_pair);
    return memcmp(&verbs, &same, sizeof verbs) == 0 && queue_pair >= 2 && queue_pair <= 0xFFFFFE &&
           verbs.ipv4[0] != 0 && verbs.ipv4[0] < 224;
}

/** Bytes as they go over the wire and between processes. */
struct address_layout {
    uint8_t version; /**< ADDRESS_VERSION */
    uint8_t rails;   /**< how many of `rail` are in use, 0 (memory only) .. ADDRESS_RAILS; the last
                          may be a struct address_tipc, and before it a struct address_verbs */
    le16 endpoint;   /**< number on its node, never 0 */
    le16 ethertype;
    uint8_t tso_rails; /**< bit i: rail i has the lane tso */
    uint8_t reserved;  /**< 0 */
    le64 incarnation;  /**< independent of the secret, never 0 */
    le64 host;         /**< endpoints with the same number can share memory; 0: none */
    le32 process;      /**< process id within `host`, 0 if that is 0 */
    uint8_t more[4];   /**< 0 */
    struct address_rail rail[ADDRESS_RAILS]; /**< unused ones are 0 */
    /* The fields above are the *place*, which CONNECT contains and which is public. */
    uint8_t secret[ADDRESS_SECRET_BYTES]; /**< 0: unknown */
};
static_assert(offsetof(struct address_layout, secret) == 128, "docs/PROTOCOL.md");
static_assert(sizeof(struct address_layout) == BEOWIRE_ADDRESS_BYTES, "docs/PROTOCOL.md");

#endif /* BEOWIRE_FRAME_ADDRESS_LAYOUT_H */
