/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_socket.h - an AF_XDP socket on queue 0 of an interface, and its memory. See the kernel's
 * Documentation/networking/af_xdp.rst.
 *
 * Rings are shared with the kernel, of chunks of memory that it knows. The lane has the first two:
 *
 *      fill       we produce: chunks that are free           producer (release) > kernel (acquire)
 *      receive    we consume: chunks with frames in them     kernel (release) > consumer (acquire)
 *      transmit   we produce: chunks with frames to send     producer (release) > kernel (acquire)
 *      completion we consume: chunks that were sent          kernel (release) > consumer (acquire)
 *
 * The index that the other side writes is read with acquire, and ours written with release: what
 * was written before it is there. A frame stays where it is until xdp_socket_release().
 *
 * The lane uses copy mode: the kernel copies a frame into a chunk, as it does for AF_PACKET. There
 * is no network card yet on which zero copy could have been tried.
 *
 * A queue has one such socket at a time.
 */
#ifndef BEOWIRE_LANE_XDP_SOCKET_H
#define BEOWIRE_LANE_XDP_SOCKET_H

#include "lane/lane.h"
#include "tuning.h"

#include <stddef.h>

/** What the socket is for. */
enum xdp_use {
    XDP_RECEIVES,
    XDP_SENDS,           /**< too: xdp.c of the driver `xdp` sends */
    XDP_SENDS_ZERO_COPY, /**< as above, and nobody copies what arrives or is sent */
};

/** Frames that may be on their way out of a socket that sends. */
#define XDP_SENT_FRAMES LANE_RING_FRAMES

/** One of the rings, in memory that the kernel shares. */
struct xdp_ring {
    uint32_t *producer;
    uint32_t *consumer;
    void *entries;
    void *memory;
    size_t memory_bytes;
    uint32_t next; /**< our own index: of what we do next */
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
    uint32_t held;           /**< frames that were handed out and not released */
    uint64_t dropped_frames; /**< by the kernel, as it has said so far */
};

/** Opens one. Of one that sends, the last XDP_SENT_FRAMES chunks are for frames to send.
 *  @param mtu of the interface
 *  @return 0; -EUSERS: the queue has one already; -EPERM; -EAFNOSUPPORT: the kernel has no AF_XDP;
 *  -EOPNOTSUPP: the interface has no zero copy; -ENOMEM or another negative errno. Nothing is open
 *  then. */
int xdp_socket_open(struct xdp_socket *xdp, int interface, uint32_t mtu, enum xdp_use use);

/** Longest frame, with Ethernet's header, that it has room for. */
uint32_t xdp_socket_bytes_max(const struct xdp_socket *xdp);

/** Hands out frames that have come, without Ethernet's headers; those held before stay. */
unsigned xdp_socket_take(struct xdp_socket *xdp, struct lane_incoming *frames, unsigned count);

/** Gives back all that were handed out. */
void xdp_socket_release(struct xdp_socket *xdp);

/** Frames that found no room since this was last called. */
uint64_t xdp_socket_drops(struct xdp_socket *xdp);

/** Gives the socket away: the caller closes it, and calls xdp_socket_close() as well. */
int xdp_socket_part_with(struct xdp_socket *xdp);

void xdp_socket_close(struct xdp_socket *xdp);

#endif /* BEOWIRE_LANE_XDP_SOCKET_H */
