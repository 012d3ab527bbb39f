/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp.h - the lane over AF_XDP: the frames of the packet lane (packet.h), in its place, which the
 * kernel hands over before its network stack has seen them, and which are there when we look, not
 * when the network card interrupts.
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
 * So this is a packet lane, with the same frames and addresses, and the same number on the wire:
 * the other end may have either. What the program passes on comes the way it would come without:
 * frames from other queues of the card, frames longer than 3.8 KB (jumbo frames), and all where the
 * kernel's generic hook is not asked (behind tc's and nft's redirections, as in a lab with a rate
 * or a loss). Frames are sent through the AF_PACKET socket, too.
 *
 * The driver's own hook is used where it has one. It costs less there than the generic one, but may
 * reset the card when the program comes and goes, which takes TCP's frames of that moment with it;
 * a veth has one too, at the price of TCP's large segments, so there it is the generic one.
 *
 * Behind a driver's hook each receive() that finds nothing polls the card's queue (queue_poll.h).
 * Behind the generic one the kernel never says which queue it is, and there a UDP lane of the same
 * card can poll for it, if the configuration has `busy_poll_us`.
 *
 * One endpoint of an interface has the lane: a queue takes one such socket, unless processes share
 * their memory, and an interface one program. The others have packet lanes, if they may (lanes
 * "xdp,packet"), and are disturbed by nothing.
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
