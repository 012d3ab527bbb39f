/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp.h - the lane over AF_XDP, which takes the place of the packet lane (packet.h) and carries the
 * same frames. The kernel delivers them before its network stack, and they are available when
 * polled, not when the network card interrupts.
 *
 *                            the interface's queue 0
 *                                       |
 *      xdp_program.c: for this endpoint, short enough?  -- no -->  the kernel's network stack:
 *                                       | yes                      TCP/IP, other endpoints ...
 *                                       v                               |
 *      xdp_socket.c:    ring of the AF_XDP socket                       v
 *                                       |            packet.c:  ring of our AF_PACKET socket
 *                                       +--------- receive() ----------+
 *
 * So this is a packet lane, with the same frames, addresses and number on the wire; the other end
 * may have either. Frames that the program does not redirect arrive as usual: those from other
 * queues of the card, frames longer than 3.8 KB (jumbo frames), and all that bypass the kernel's
 * generic hook (by redirections of tc and nft, as in a lab with a rate or loss). Frames are sent
 * through the AF_PACKET socket, too.
 *
 * The driver's own hook is used if it has one. It costs less than the generic one, but attaching
 * and detaching the program may reset the card, which loses frames of TCP at that moment. A veth's
 * own hook would disable TCP's large segments, so for a veth the generic one is used.
 *
 * Behind a driver's hook each receive() that finds nothing polls the card's queue (queue_poll.h).
 * Behind the generic one the kernel never learns the queue; then a UDP lane of the same card can
 * poll for it, if the configuration has `busy_poll_us`.
 *
 * Only one endpoint of an interface has the lane: a queue allows one such socket, unless processes
 * share their memory, and an interface one program. The others have packet lanes, if permitted
 * (lanes "xdp,packet"), and are not affected.
 *
 * Needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host itself (not of a user namespace), and
 * Linux 5.9.
 */
#ifndef BEOWIRE_LANE_XDP_H
#define BEOWIRE_LANE_XDP_H

#include "lane/lane.h"
#include "lane/packet/packet.h"

/** Opens the lane.
 *  @return 0; -EUSERS: another program has the interface's queue or its hook; -EADDRNOTAVAIL: not
 *  an Ethernet interface; -EAFNOSUPPORT: the kernel has no AF_XDP; and as packet_lane_open(). */
int xdp_lane_open(const struct packet_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_XDP_H */
