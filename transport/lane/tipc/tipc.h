/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc.h - the lane over TIPC (tipc.io): datagrams that the kernel of a cluster delivers reliably
 * and in order from host to host. Needs no privilege, and no address of an interface: the kernel
 * module, which an administrator tells of the network (`tipc bearer enable media eth device eth0`
 * on each host).
 *
 *      send()     one message a frame (SOCK_RDM), straight to the peer's socket: no name is looked
 * up receive()  one recvmsg() a message; its payload goes where it belongs (train.h)
 *
 * The kernel repeats what a link has lost, and cuts what is longer than the wire takes. Beowire's
 * own reliability stays in force all the same, and has its use: where a receiver's buffer is full
 * TIPC throws messages away, and when a link fails what was on it is gone.
 *
 * What cannot be delivered comes back (TIPC_ERRINFO): from a host where nobody has that socket it
 * says that the process has ended, as a port that is unreachable does over UDP. By the same means a
 * host is asked whether it is there: with a message for a socket that nobody has.
 *
 * One socket an endpoint, of the host and not of an interface: which bearers a message takes the
 * kernel decides. It is bound to no name, so that only those who know its number can send to it;
 * what is not from a peer is for the layers above to drop. Two processes of one host reach one
 * another, too.
 */
#ifndef BEOWIRE_LANE_TIPC_H
#define BEOWIRE_LANE_TIPC_H

#include "lane/lane.h"

/** Opens the lane.
 *  @return 0; -EAFNOSUPPORT: this kernel has no TIPC, or not yet; -ENONET: TIPC has no network (for
 *  a second after the first bearer was enabled it has none yet); -EMFILE, -ENOMEM or another
 *  negative errno. */
int tipc_lane_open(struct lane **lane);

#endif /* BEOWIRE_LANE_TIPC_H */
