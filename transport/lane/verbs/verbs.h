/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - the lane over RDMA devices (RoCE v2), through libibverbs: sends and receives of the
 * card's own, which it hands over without the kernel. Needs no privilege where the device's file in
 * /dev/infiniband is everybody's, as it is by default; but memory that may be locked (ulimit -l),
 * about 1 MiB an endpoint, 4 where frames are of 4,096 bytes.
 *
 *      send()     copies frames into registered memory and posts them: one request each, one call
 * for all receive()  polls the completion queue, in memory; frames lie where the card has put them
 *            sleep      the completion channel's descriptor, after arm() has asked for an event
 *
 * One *unreliable datagram* queue pair (UD) an endpoint: like a datagram socket it sends to any
 * other, may lose what it sends, and costs the same memory however many peers there are. A reliable
 * connection (RC) would repeat what the wire has lost, which is done above the lanes anyway, and
 * take a queue pair for each peer, and an exchange with each before the first frame. Only for long
 * messages there is one, once there has been such a message: they are read out of the sender's
 * memory, by RDMA (verbs_link.h, verbs_memory.h, verbs_read.c).
 *
 * A frame is at most as long as the device's MTU: 1,024 bytes on Ethernet of MTU 1500, 4,096 where
 * that is 4200 or more. One device an endpoint: that of the first of its interfaces that has one,
 * with an IPv4 address.
 *
 * libibverbs is loaded when the lane is first asked for: without it, nothing else is missing.
 */
#ifndef BEOWIRE_LANE_VERBS_H
#define BEOWIRE_LANE_VERBS_H

#include "lane/lane.h"

struct verbs_library;

struct verbs_lane_options {
    const struct verbs_library *library; /**< NULL: the one that is installed */
    /** Network interfaces: the first that has a device; where the first is NULL any device's. */
    const char *interfaces[ADDRESS_RAILS];
};

/** Opens the lane.
 *  @return 0; -ENOPKG: this was built without libibverbs' headers; -ELIBBAD: the library is not
 *  installed, or too old; -ENXIO: none of the interfaces has an RDMA device with an IPv4 address
 *  over Ethernet that this process may open; -ENETDOWN: it is down; -EADDRNOTAVAIL: its frames are
 *  too short; -ENOBUFS: it has no room for another endpoint, or too little memory may be locked;
 *  -EMFILE, -ENOMEM or another negative errno. */
int verbs_lane_open(const struct verbs_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_VERBS_H */
