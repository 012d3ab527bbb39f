/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp.h - the lane over UDP: for bulk, across routers, and without any privilege.
 *
 * Frames are sent as datagrams, but those of one call and one length go to the kernel as one
 * *train* (UDP_SEGMENT, udp(7)), which the network card, or the last line of code before it, cuts
 * into datagrams. At the other end UDP_GRO has the kernel hand over as one train what came in
 * sequence, so both ends pay for the way through the kernel once for up to 64 frames. See
 * Willem de Bruijn and Eric Dumazet, "Optimizing UDP for content delivery: GSO, pacing and
 * zerocopy", Linux Plumbers Conference 2018.
 *
 *      send()     consecutive frames of one length -> one sendmsg(); several trains -> sendmmsg()
 *      receive()  one recvmsg() a train; its frames are handed out in place
 *      expect()   payloads are put where they belong by recvmsg() itself (train.h)
 *
 * One socket an interface, not connected, bound to the interface's own address: IPv4, or a global
 * or unique local IPv6 address if it has no IPv4. Frames leave through this interface whatever
 * the routing table prefers; they may come by any. Anybody may send to the socket: what is not
 * from a peer is for the layers above to drop. The few peers that most is sent to have a second
 * socket each, for sending only, from the same address and port (udp_shortcut.c).
 */
#ifndef BEOWIRE_LANE_UDP_H
#define BEOWIRE_LANE_UDP_H

#include "lane/lane.h"

struct udp_lane_options {
    const char *interface;
    uint16_t port; /**< 0: any that is free */
    uint8_t rail;
};

/** Opens the lane.
 *  @return 0; -ENODEV; -ENETDOWN; -EADDRNOTAVAIL: the interface has no IP address; -EADDRINUSE:
 *  the port is taken; -ENOMEM or another negative errno. */
int udp_lane_open(const struct udp_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_UDP_H */
