/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_socket.h - makes of a packet(7) socket what the lane over AF_PACKET needs: by the lane
 * itself, or by the broker, which then passes it on (grant.h).
 */
#ifndef BEOWIRE_LANE_PACKET_SOCKET_H
#define BEOWIRE_LANE_PACKET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/** Accepts only frames for this endpoint, for good: our EtherType, this host, our number.
 *  @return 0 or a negative errno. */
int packet_socket_filter(int socket, uint16_t ethertype, uint16_t endpoint);

/** @return false: frames wait in the interface's queue. */
bool packet_socket_tune(int socket);

/** From now on frames of this protocol are received. @return 0 or a negative errno. */
int packet_socket_bind(int socket, int interface, uint16_t protocol);

#endif /* BEOWIRE_LANE_PACKET_SOCKET_H */
