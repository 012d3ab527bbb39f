/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_place.h - how many packet sockets an interface has for IPv4 frames: the kernel asks each of
 * them of each such frame that arrives, so there shall be few.
 *
 * They are counted where the kernel lists them, oldest first: /proc/net/packet. Nobody without
 * CAP_NET_RAW can add to that list, and what other programs have there costs as much as what we
 * have.
 */
#ifndef BEOWIRE_LANE_TSO_PLACE_H
#define BEOWIRE_LANE_TSO_PLACE_H

/** How many are there in this network namespace on the interface with that index?
 *
 *  @param before count those that are older than this packet socket; -1: all
 *  @return the number; a negative errno: /proc does not tell. */
int tso_place_count(int index, int before);

#endif /* BEOWIRE_LANE_TSO_PLACE_H */
