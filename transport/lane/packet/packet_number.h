/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_number.h - the endpoint's number: 16 bits, not 0, that no other endpoint of this network
 * namespace has.
 *
 * Receivers tell the endpoints of a host apart by it in Ethernet frames, and only there: UDP has
 * ports, and shared memory sockets. So it is reserved by, and only by, those who can receive such
 * frames. A name in a directory would do among processes that have the directory in common, and
 * abstract unix names are free to be taken by anybody: some processes without any privilege could
 * hold all numbers. What is exclusive in a network namespace, whatever else processes have not in
 * common; takes CAP_NET_RAW there; and vanishes with the process is a *fan-out group* of packet
 * sockets (PACKET_FANOUT in packet(7)): its name has 16 bits, and the kernel checks and takes it in
 * one step. A group of one member at most is nobody else's:
 *
 *      setsockopt(socket, SOL_PACKET, PACKET_FANOUT,
 *                 {.id = number, .type_flags = PACKET_FANOUT_CPU, .max_num_members = 1})
 *
 * with a socket of the endpoint's first packet lane, bound to a protocol of which there are no
 * frames: frames for a group make a detour, of 40 ns on both ends of 8 bytes' way. Whoever comes
 * second is refused: -ENOSPC on the same interface with the same protocol, else -EINVAL. Groups of
 * other programs are numbers that are taken, and they cannot join ours.
 *
 * Before Linux 5.10 groups have no limit. The kernel can still choose one that is nobody's (4.12:
 * PACKET_FANOUT_FLAG_UNIQUEID), so that all but fixed numbers can be had.
 */
#ifndef BEOWIRE_LANE_PACKET_NUMBER_H
#define BEOWIRE_LANE_PACKET_NUMBER_H

#include <stdint.h>

/** Reserves `number`, or any that is free if it is 0, until the socket is closed.
 *
 *  @param socket bound to a protocol and an interface that is up
 *  @return 0, and `number` is written; -EADDRINUSE: it is taken (or all are, or the interface went
 *  down); -EAGAIN: the kernel chose 0: another socket gets another one. */
int packet_number_reserve(int socket, uint16_t *number);

/** Has the kernel choose, as packet_number_reserve() does where groups have no limit.
 *  @return the number, 0 included; a negative errno. */
int packet_number_by_kernel(int socket);

#endif /* BEOWIRE_LANE_PACKET_NUMBER_H */
