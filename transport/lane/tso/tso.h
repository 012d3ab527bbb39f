/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso.h - the lane for the data of long messages over Ethernet frames: the network card cuts what
 * one call sends into frames, and the receiver's kernel joins them.
 *
 * A frame through AF_PACKET costs some 2 us however long it is, and a datagram of a UDP train needs
 * a header of ours before its payload, so that the kernel gathers 88 parts where one would do. With
 * headers that look like TCP's (tso_head.h) a call carries 64 KB of the message as they are, the
 * receiver's call writes them to where they belong, and no software touches the frames between
 * (docs/PERFORMANCE.md). A card that cannot cut makes no difference but in speed: then the kernel
 * does.
 *
 * A packet socket for IPv4 on the interface, with PACKET_VNET_HDR, and a locked classic BPF filter
 * for this endpoint. The kernel asks each such socket of each IPv4 frame that arrives, 0.1 us each,
 * so only the first TSO_ENDPOINTS_MAX endpoints of an interface have the lane (tso_place.h): TCP/IP
 * shall hardly notice it.
 *
 * It carries DATA and bursts of sequenced frames (tso_run.h). Needs CAP_NET_RAW in the network
 * namespace.
 */
#ifndef BEOWIRE_LANE_TSO_H
#define BEOWIRE_LANE_TSO_H

#include "lane/lane.h"

struct tso_lane_options {
    const char *interface;
    uint16_t ethertype; /**< of the packet lane: tells clusters on one Ethernet apart */
    uint16_t endpoint;  /**< number of the endpoint; whoever opens has reserved it */
    uint8_t rail;
};

/** Opens the lane.
 *  @return 0; -EADDRNOTAVAIL: not an Ethernet interface; -EUSERS: it has TSO_ENDPOINTS_MAX of them;
 *  -ENODEV, -ENETDOWN, -EPERM, -ENOMEM or another negative errno. */
int tso_lane_open(const struct tso_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_TSO_H */
