/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane_kinds.h - the kinds of lanes: their names, their numbers on the wire, and which is
 * preferred.
 *
 * This is the one list of them. From it follow enum lane_kind, LANES_MAX (lane.h), the table of
 * what an endpoint opens (endpoint/lanes.c) and the counters of lanes (core/counters.c). What a
 * lane can do it says itself (lane.h): above the lanes a kind is only a number in frames.
 */
#ifndef BEOWIRE_LANE_KINDS_H
#define BEOWIRE_LANE_KINDS_H

#include "frame/address_layout.h"

/** How many lanes of a kind an endpoint has at most. */
enum pull_lane_of {
    LANE_OF_HOST = 1,             /**< one, whatever interfaces there are */
    LANE_OF_RAIL = ADDRESS_RAILS, /**< one for each interface */
};

/** A row for each kind of lane that an endpoint opens: its name in capitals; as users write it, and
 *  as its struct lane_type begins (lane_type.h); its number on the wire, which never changes; how
 *  many there are, enum pull_lane_of.
 *
 *  The quickest is first: short messages go the first way that reaches a peer. They are opened in
 *  this order, too. When a process ends, Linux closes last what was opened first, and waits for
 *  tens of milliseconds for each socket of AF_PACKET: UDP comes after those, so that its port is
 *  closed before, which is what tells peers that the process has ended. */
#define LANE_KINDS(KIND)                                                                           \
    KIND(SHM, shm, 3, LANE_OF_HOST) /* memory shared by processes of one host */                   \
    KIND(XDP, xdp, 7, LANE_OF_RAIL) /* the same frames as packet, in its place: they say 1 */      \
    KIND(PACKET, packet, 1, LANE_OF_RAIL) /* Ethernet frames */                                    \
    KIND(TSO, tso, 5, LANE_OF_RAIL)       /* Ethernet frames that the network card cuts */         \
    KIND(UDP, udp, 2, LANE_OF_RAIL)       /* UDP datagrams, with segmentation offload */           \
    KIND(VERBS, verbs, 8, LANE_OF_HOST)   /* datagrams of RDMA devices: behind all with rails */   \
    KIND(TIPC, tipc, 6, LANE_OF_HOST)     /* TIPC datagrams: likewise */

/** The numbers by which frames name a lane. */
enum lane_kind {
    LANE_NONE = 0,
    LANE_SIM = 4, /**< a simulated wire: no endpoint opens it */
#define LANE_KIND_NUMBER(capitals, name, number, of) LANE_##capitals = (number),
    LANE_KINDS(LANE_KIND_NUMBER)
#undef LANE_KIND_NUMBER
};

#endif /* BEOWIRE_LANE_KINDS_H */
