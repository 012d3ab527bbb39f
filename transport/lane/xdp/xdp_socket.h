/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_socket.h - an AF_XDP socket on queue 0 of an interface, and its memory. See the kernel's
 * Documentation/networking/af_xdp.rst.
 *
 * Rings are shared with the kernel, and contain chunks of memory registered with it. The lane uses
 * the first two:
 *
 *      fill       we produce: chunks that are free           producer (release) > kernel (acquire)
 *      receive    we consume: chunks with frames in them     kernel (release) > consumer (acquire)
 *      transmit   we produce: chunks with frames to send     producer (release) > kernel (acquire)
 *      completion we consume: chunks that were sent          kernel (release) > consumer (acquire)
 *
 * The index of the other side is read with acquire, and ours is written with release, so all
 * earlier writes are visible. A frame stays in place until xdp_socket_release().
 *
 * The lane uses copy mode: the kernel copies a frame into a chunk, as it does for AF_PACKET. Zero
 * copy has not been tested on a network card.
 *
 * A queue has only one such socket at a time.
 */
#ifndef BEOWIRE_LANE_XDP_SOCKET_H
#define BEOWIRE_LANE_XDP_SOCKET_H

#include "lane/lane.h"
#include "tuning.h"

#include <stddef.h>

/** The use of the socket. */
enum xdp_use {
    XDP_RECEIVES,
    XDP_SENDS,           /**< also sends, for the driver `xdp` (xdp.c) */
    XDP_SENDS_ZERO_COPY, /**< as above, without copies */
};

/** The most frames being sent by a socket that sends. */
#define XDP_SENT_FRAMES LANE_RING_FRAMES

/** One of the rings, in memory shared with the kernel. */
struct xdp_ring {
    uint32_t *producer;
    uint32_t *consumer;
    void *entries;
    void *memory;
    size_t memory_bytes;
    uint32_t next; /**< our own index, of the next entry */
};

struct xdp_socket {
    int socket; /**< or -1 */
    uint8_t *chunks;
    size_t chunks_bytes;
    uint32_t chunk_bytes;
    struct xdp_ring fill;
    struct xdp_ring receive;
    struct xdp_ring transmit; /**< of a socket that sends, as the next */
    struct xdp_ring completion;
    uint32_t held;           /**< frames returned and not released */
    uint64_t dropped_frames; /**< by the kernel, as last read */
};

/** Opens one. If it sends, the last XDP_SENT_FRAMES chunks are for frames to send. @param mtu of
 *  the interface @return 0; -EUSERS: the queue has one already; -EPERM; -EAFNOSUPPORT: the kernel
 *  has no AF_XDP; -EOPNOTSUPP: the interface has no zero copy; -ENOMEM or another negative errno.
 *  Then nothing is open. */
int xdp_socket_open(struct xdp_socket *xdp, int interface, uint32_t mtu, enum xdp_use use);

/** Longest frame for which there is room, with Ethernet's header. */
uint32_t xdp_socket_bytes_max(const struct xdp_socket *xdp);

/** Returns received frames, without Ethernet's headers; those held before stay. */
unsigned xdp_socket_take(struct xdp_socket *xdp, struct lane_incoming *frames, unsigned count);

/** Returns all held frames to the kernel. */
void xdp_socket_release(struct xdp_socket *xdp);

/** Frames dropped for lack of room since the last call. */
uint64_t xdp_socket_drops(struct xdp_socket *xdp);

/** Gives away the socket: the caller closes it, and also calls xdp_socket_close(). */
int xdp_socket_part_with(struct xdp_socket *xdp);

void xdp_socket_close(struct xdp_socket *xdp);

#endif /* BEOWIRE_LANE_XDP_SOCKET_H */
