/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_socket.h - the packet driver's socket on an Ethernet interface, for the frames of
 * frames.h.
 *
 * A locked filter in the kernel accepts only frames of the EtherType that are for this host and
 * this socket's port. It is in place before the first frame.
 */
#ifndef BEOWIRE_DRIVERS_PACKET_SOCKET_H
#define BEOWIRE_DRIVERS_PACKET_SOCKET_H

#include <net/ethernet.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "packet_ring.h"

#define PACKET_ETHERTYPE 0x88B6

/** Largest MTU used. Loopback interfaces have 64 KiB, no Ethernet has more than this. */
#define PACKET_MTU_MAX 16384

/** Bytes of our header that count towards the MTU. */
#define PACKET_HEADER_BYTES (sizeof(struct frame_header) - ETH_HLEN)

struct packet_socket {
    int fd; /**< -1 when not open */
    uint8_t mac[ETH_ALEN];
    uint16_t port; /**< unique among the sockets of a host */
    size_t mtu;
    struct packet_ring ring;
};

/** Opens a socket on the interface, with a ring that holds two messages of `message_bytes`.
 *  0, or a negative errno with one line in `error`; then nothing is open. */
int packet_socket_open(struct packet_socket *packet, const char *interface, size_t message_bytes,
                       char *error, size_t error_bytes);

/** May this process open such a socket? 0, or a negative errno with one line that says what to
 *  do. */
int packet_socket_permitted(char *reason, size_t reason_bytes);

void packet_socket_close(struct packet_socket *packet);

#endif
