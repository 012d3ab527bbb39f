/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso.h - the lane for the data of long messages over Ethernet frames: the network card segments
 * the data of one call into frames (TSO), and the receiver's kernel joins them.
 *
 * A frame through AF_PACKET costs some 2 us whatever its length, and each datagram of a UDP train
 * needs one of our headers before its payload, so the kernel gathers 88 parts instead of one. With
 * headers that look like TCP's (tso_head.h), a call carries 64 KB of the message unchanged, the
 * receiver's call writes them to their place, and no software handles single frames
 * (docs/PERFORMANCE.md). If the card has no TSO, the kernel segments, which is slower.
 *
 * A packet socket for IPv4 on the interface, with PACKET_VNET_HDR, a locked classic BPF filter for
 * this endpoint, and a ring of 1.75 MiB for frames that come alone (tso_receive.c). The kernel runs
 * the filter of each such socket for each IPv4 frame, 0.1 us each. So only the first
 * TSO_ENDPOINTS_MAX endpoints of an interface have the lane (tso_place.h), to disturb TCP/IP
 * little.
 *
 * It carries DATA and bursts of sequenced frames (tso_run.h). Needs CAP_NET_RAW in the network
 * namespace.
 */
#ifndef BEOWIRE_LANE_TSO_H
#define BEOWIRE_LANE_TSO_H

#include "lane/lane.h"

struct tso_lane_options {
    const char *interface;
    uint16_t ethertype; /**< of the packet lane: distinguishes clusters on one Ethernet */
    uint16_t endpoint;  /**< number of the endpoint, which the opener has reserved */
    uint8_t rail;
};

/** Opens the lane.
 *  @return 0; -EADDRNOTAVAIL: not an Ethernet interface; -EUSERS: it has TSO_ENDPOINTS_MAX lanes;
 *  -ENODEV, -ENETDOWN, -EPERM, -ENOMEM or another negative errno. */
int tso_lane_open(const struct tso_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_TSO_H */
