/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc.h - the lane over TIPC (tipc.io): datagrams that the kernels of a cluster deliver reliably
 * and in order from host to host. It needs no privilege, and no address of an interface, but the
 * kernel module and a bearer that an administrator enables (`tipc bearer enable media eth device
 * eth0` on each host).
 *
 *      send()     one message per frame (SOCK_RDM), directly to the peer's socket, without a name
 *      receive()  one recvmsg() per message; its payload goes to its place (train.h)
 *
 * The kernel retransmits what a link loses, and fragments what exceeds the wire's MTU. Beowire's
 * own reliability is still needed: TIPC drops messages if a receive buffer is full, and when a link
 * fails.
 *
 * Undeliverable messages are returned (TIPC_ERRINFO). If the socket does not exist on the host, the
 * process has ended, like an unreachable port of UDP. A message to a socket that never exists tests
 * whether a host answers.
 *
 * Each endpoint has one socket, which belongs to the host, not to an interface; the kernel chooses
 * the bearers. It is bound to no name, so only processes that know its number can send to it. The
 * layers above drop frames that are not from a peer. Two processes of one host reach each other,
 * too.
 */
#ifndef BEOWIRE_LANE_TIPC_H
#define BEOWIRE_LANE_TIPC_H

#include "lane/lane.h"

/** Opens the lane. @return 0; -EAFNOSUPPORT: this kernel has no TIPC, or has not loaded it;
 *  -ENONET: TIPC has no network (until a second after the first bearer was enabled); -EMFILE,
 *  -ENOMEM or another negative errno. */
int tipc_lane_open(struct lane **lane);

#endif /* BEOWIRE_LANE_TIPC_H */
