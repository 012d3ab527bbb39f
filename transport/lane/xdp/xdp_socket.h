/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_socket.h - an AF_XDP socket on queue 0 of an interface that only receives, and its memory.
 * See the kernel's Documentation/networking/af_xdp.rst.
 *
 * Two rings are shared with the kernel, of chunks of memory that it knows:
 *
 *      fill       we produce: chunks that are free           producer (release) > kernel (acquire)
 *      receive    we consume: chunks with frames in them     kernel (release) > consumer (acquire)
 *
 * The index that the other side writes is read with acquire, and ours written with release: what
 * was written before it is there. A frame stays where it is until xdp_socket_release().
 *
 * In copy mode: the kernel copies a frame into a chunk, as it does for AF_PACKET. There is no
 * driver yet on which zero copy could have been tried.
 *
 * A queue has one such socket at a time.
 */
#ifndef BEOWIRE_LANE_XDP_SOCKET_H
#define BEOWIRE_LANE_XDP_SOCKET_H

#include "lane/lane.h"

#include <stddef.h>

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
    uint32_t held;           /**< frames that were handed out and not released */
    uint64_t dropped_frames; /**< by the kernel, as it has said so far */
};

/** Opens one.
 *  @param mtu of the interface
 *  @return 0; -EUSERS: the queue has one already; -EPERM; -EAFNOSUPPORT: the kernel has no AF_XDP;
 *  -ENOMEM or another negative errno. Nothing is open then. */
int xdp_socket_open(struct xdp_socket *xdp, int interface, uint32_t mtu);

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
