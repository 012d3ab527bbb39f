/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_number.h - the endpoint's number: 16 bits, not 0, unique in this network namespace.
 *
 * Only Ethernet frames need it, to distinguish the endpoints of a host; UDP has ports, and shared
 * memory sockets. So only processes that can receive such frames must be able to reserve it. Names
 * in a directory work only among processes that share the directory, and anybody can take abstract
 * unix names, so unprivileged processes could hold all numbers. A *fan-out group* of packet sockets
 * (PACKET_FANOUT in packet(7)) is exclusive in a network namespace, whatever else its processes
 * share; it requires CAP_NET_RAW there, and disappears with the process. Its name has 16 bits, and
 * the kernel checks and reserves it in one step. A group of at most one member is exclusive:
 *
 *      setsockopt(socket, SOL_PACKET, PACKET_FANOUT,
 *                 {.id = number, .type_flags = PACKET_FANOUT_CPU, .max_num_members = 1})
 *
 * with a socket of the endpoint's first packet lane, bound to a protocol without frames, because
 * frames for a group take 40 ns more (8 bytes, both ends). A second socket is refused: -ENOSPC on
 * the same interface with the same protocol, else -EINVAL. Groups of other programs only make their
 * numbers unavailable, and cannot join ours.
 *
 * Before Linux 5.10 groups have no limit. But the kernel can choose an unused one (4.12:
 * PACKET_FANOUT_FLAG_UNIQUEID), so only fixed numbers are impossible.
 */
#ifndef BEOWIRE_LANE_PACKET_NUMBER_H
#define BEOWIRE_LANE_PACKET_NUMBER_H

#include <stdint.h>

/** Reserves `number`, or any free one if it is 0, until the socket is closed.
 *
 *  @param socket bound to a protocol and an interface that is up
 *  @return 0, and `number` is written; -EADDRINUSE: it is in use (or all are, or the interface went
 *  down); -EAGAIN: the kernel chose 0: another socket gets another one. */
int packet_number_reserve(int socket, uint16_t *number);

/** Lets the kernel choose, as packet_number_reserve() does if groups have no limit. @return the
 *  number, 0 included; a negative errno. */
int packet_number_by_kernel(int socket);

#endif /* BEOWIRE_LANE_PACKET_NUMBER_H */
