/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_socket.h - an AF_XDP socket on queue 0 of an interface, and the program that hands it the
 * frames of one EtherType; all others go the way that they always go. In copy mode, and with the
 * program in the kernel's generic hook, it works with every network card, and attaching it does not
 * reset it, which would disturb whatever else is being measured. In zero-copy mode the card reads
 * and writes the frames where the program has them: its driver has to be made for that, and has the
 * hook, too.
 *
 * The generic hook passes over frames that something in this kernel has redirected (tc, nft), as
 * the wires of a lab with a rate, a delay or a loss do. A virtual interface (veth) has a hook of
 * its own, in its driver, that does not.
 *
 * Four rings are shared with the kernel, each with one producer and one consumer: what the producer
 * has written is there once the consumer has read its index with acquire, and the reverse.
 *
 *      fill        we produce: free frames, for what arrives
 *      receive     we consume: frames that have arrived
 *      transmit    we produce: frames to send
 *      completion  we consume: frames that were sent, and are free again
 *
 * A queue has one such socket at a time. See Documentation/networking/af_xdp.rst. One thread.
 */
#ifndef BEOWIRE_DRIVERS_XDP_SOCKET_H
#define BEOWIRE_DRIVERS_XDP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a frame's memory; what of it a frame can fill. */
#define XDP_CHUNK_BYTES 4096
#define XDP_FRAME_BYTES_MAX 3500

/** Frames of each ring. */
#define XDP_FRAMES 1024

/** Where the program looks at frames. */
enum xdp_hook {
    XDP_HOOK_GENERIC,
    XDP_HOOK_DRIVER,    /**< of the interface's own driver: of network cards, it may reset them */
    XDP_HOOK_ZERO_COPY, /**< as above, and nobody copies what arrives or is sent */
};

struct xdp_ring {
    _Atomic uint32_t *producer;
    _Atomic uint32_t *consumer;
    void *entries;
    void *memory;
    size_t memory_bytes;
    uint32_t next; /**< our own index */
};

struct xdp_socket {
    int fd;      /**< or -1 */
    int map;     /**< where the program finds the socket, or -1 */
    int program; /**< or -1 */
    int link;    /**< holds the program to the interface, or -1 */
    uint8_t *chunks;
    struct xdp_ring fill;
    struct xdp_ring receive;
    struct xdp_ring transmit;
    struct xdp_ring completion;
    uint32_t free[XDP_FRAMES]; /**< frames to send that are not under way */
    uint32_t free_count;
};

/** May this process have such sockets? 0, or a negative errno with one line that says what to do.
 */
int xdp_socket_permitted(char *reason, size_t reason_bytes);

/** Has the interface's driver zero copy? It is asked by binding a socket, which it gives back. 0,
 * or a negative errno: -EOPNOTSUPP, it has not; -EBUSY: the queue is somebody else's now. */
int xdp_socket_try_zero_copy(int interface_index);

/** Opens one. -EBUSY: the queue, or the interface's hook, is somebody else's now. With another
 *  failure there is one line in `error`; nothing is open then. */
int xdp_socket_open(struct xdp_socket *xdp, int interface_index, enum xdp_hook hook,
                    uint16_t ethertype, char *error, size_t error_bytes);

/** Memory for the next frame to send, of XDP_FRAME_BYTES_MAX; NULL while all are under way. */
uint8_t *xdp_socket_room(struct xdp_socket *xdp);

/** The frame in the memory that xdp_socket_room() gave is complete. */
void xdp_socket_post(struct xdp_socket *xdp, uint32_t bytes);

/** Has the kernel send some of what was posted. @return 1: all of it is sent; 0: not yet; a
 *  negative errno. */
int xdp_socket_push(struct xdp_socket *xdp);

/** The next frame that has arrived, valid until xdp_socket_free(); NULL: there is none. */
const uint8_t *xdp_socket_next(struct xdp_socket *xdp, size_t *bytes);
void xdp_socket_free(struct xdp_socket *xdp);

/** Closes what is open. */
void xdp_socket_close(struct xdp_socket *xdp);

#endif
