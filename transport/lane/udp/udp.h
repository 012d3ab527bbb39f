/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp.h - the lane over UDP: for bulk, across routers, and without any privilege.
 *
 * Frames are sent as datagrams, but those of one call and one length are passed to the kernel as
 * one *train* (UDP_SEGMENT, udp(7)), which the network card or the kernel, as late as possible,
 * segments into datagrams. At the receiver, UDP_GRO joins consecutive datagrams into one train. So
 * both ends pass the kernel once for up to 64 frames. See Willem de Bruijn and Eric Dumazet,
 * "Optimizing UDP for content delivery: GSO, pacing and zerocopy", Linux Plumbers Conference 2018.
 *
 *      send()     consecutive frames of one length -> one sendmsg(); several trains -> sendmmsg()
 *      receive()  one recvmsg() a train; its frames are handed out in place
 *      expect()   recvmsg() itself places payloads (train.h)
 *
 * There is one unconnected socket per interface, bound to its address: IPv4, or a global or unique
 * local IPv6 address if it has no IPv4. Frames are sent through this interface regardless of the
 * routing table, and may arrive through any. Anybody may send to the socket; the layers above drop
 * frames that are not from a peer. The few peers that get most frames have a second socket each,
 * for sending only, with the same address and port (udp_shortcut.c).
 */
#ifndef BEOWIRE_LANE_UDP_H
#define BEOWIRE_LANE_UDP_H

#include "lane/lane.h"

struct udp_lane_options {
    const char *interface;
    uint16_t port; /**< 0: any free port */
    uint8_t rail;
};

/** Opens the lane.
 *  @return 0; -ENODEV; -ENETDOWN; -EADDRNOTAVAIL: the interface has no IP address; -EADDRINUSE:
 *  the port is taken; -ENOMEM or another negative errno. */
int udp_lane_open(const struct udp_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_UDP_H */
