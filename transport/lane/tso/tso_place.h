/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_place.h - counts the packet sockets of an interface for IPv4 frames. The kernel runs the
 * filter of each for every such frame, so there must be few.
 *
 * They are counted in the kernel's list, oldest first: /proc/net/packet. Only processes with
 * CAP_NET_RAW can add to it, and sockets of other programs cost as much as ours.
 */
#ifndef BEOWIRE_LANE_TSO_PLACE_H
#define BEOWIRE_LANE_TSO_PLACE_H

/** How many are there in this network namespace on the interface with that index?
 *
 *  @param before count those that are older than this packet socket; -1: all
 *  @return the number; a negative errno: unknown. */
int tso_place_count(int index, int before);

#endif /* BEOWIRE_LANE_TSO_PLACE_H */
