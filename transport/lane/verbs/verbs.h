/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - the lane over RDMA devices (RoCE v2), through libibverbs: sends and receives by the
 * network card, without the kernel. It needs no privilege if the device's file in /dev/infiniband
 * is open to all, the default. It needs locked memory (ulimit -l), about 1 MiB per endpoint, or 4
 * for frames of 4,096 bytes.
 *
 *      send()     copies frames into registered memory and posts them: a request each, by one call
 *      receive()  polls the completion queue, in memory; frames are where the card has put them
 *      sleep      the completion channel's descriptor, after arm() has requested an event
 *
 * Each endpoint has one *unreliable datagram* queue pair (UD). Like a datagram socket it sends to
 * any other, may lose data, and needs the same memory for any number of peers. A reliable
 * connection (RC) would retransmit, which the layers above do anyway, and need a queue pair and an
 * exchange for each peer before the first frame. Only long messages use one, made by the first of
 * them: it reads them from the sender's memory by RDMA (verbs_link.h, verbs_memory.h,
 * verbs_read.c).
 *
 * A frame is at most as long as the device's MTU: 1,024 bytes on Ethernet with an MTU of 1500,
 * 4,096 if it is 4200 or more. An endpoint uses one device: that of its first interface that has
 * one, with an IPv4 address.
 *
 * libibverbs is loaded when the lane is first requested; without it, only this lane is missing.
 */
#ifndef BEOWIRE_LANE_VERBS_H
#define BEOWIRE_LANE_VERBS_H

#include "lane/lane.h"

struct verbs_library;

struct verbs_lane_options {
    const struct verbs_library *library; /**< NULL: the installed one */
    /** Network interfaces: the first that has a device; if the first is NULL, any device's. */
    const char *interfaces[ADDRESS_RAILS];
};

/** Opens the lane. @return 0; -ENOPKG: built without libibverbs' headers; -ELIBBAD: the library is
 *  missing or too old; -ENXIO: no interface has an RDMA device over Ethernet with an IPv4 address
 *  that this process may open; -ENETDOWN: it is down; -EADDRNOTAVAIL: its frames are too short;
 *  -ENOBUFS: it has no room for another endpoint, or too little memory may be locked; -EMFILE,
 *  -ENOMEM or another negative errno. */
int verbs_lane_open(const struct verbs_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_VERBS_H */
