/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_ring.h - receives the frames of a packet socket through a TPACKET_V2 ring in memory shared
 * with the kernel, without system calls (packet(7), and the kernel's
 * Documentation/networking/packet_mmap.rst).
 *
 * The kernel fills a slot, then sets TP_STATUS_USER in its header. We read the status with acquire
 * order, so that the kernel's writes before it are visible, and return the slot with a release
 * store, so that our reads are over before the kernel writes there again. Slots are used in turn.
 *
 * Latency is best if the ring stays in the cache, so it should have no more slots than needed.
 */
#ifndef BEOWIRE_DRIVERS_PACKET_RING_H
#define BEOWIRE_DRIVERS_PACKET_RING_H

#include <linux/if_packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_ring {
    uint8_t *memory; /* NULL: no ring */
    size_t bytes;
    size_t slot_bytes;
    uint32_t slot_count;
    uint32_t slot; /* of the next frame */
};

/** The ring's parameters for the kernel, which requires blocks of whole pages. */
struct tpacket_req packet_ring_request(size_t frame_bytes, size_t frames, size_t page_bytes);

/** Gives the socket a ring of at least `frames` slots for frames of up to `frame_bytes`. The socket
 *  must be of TPACKET_V2 and not bound. 0, or -1 with errno set. */
int packet_ring_open(struct packet_ring *ring, int fd, size_t frame_bytes, size_t frames);

void packet_ring_close(struct packet_ring *ring);

static inline struct tpacket2_hdr *packet_ring_slot(const struct packet_ring *ring)
{
    return (struct tpacket2_hdr *)(ring->memory + (size_t)ring->slot * ring->slot_bytes);
}

/** Has a frame arrived? */
static inline bool packet_ring_full(const struct packet_ring *ring)
{
    return (__atomic_load_n(&packet_ring_slot(ring)->tp_status, __ATOMIC_ACQUIRE) &
            TP_STATUS_USER) != 0;
}

/** The received frame, from its Ethernet header on; valid until packet_ring_free(). */
static inline const uint8_t *packet_ring_frame(const struct packet_ring *ring, size_t *bytes)
{
    const struct tpacket2_hdr *slot = packet_ring_slot(ring);
    *bytes = slot->tp_snaplen;
    return (const uint8_t *)slot + slot->tp_mac;
}

/** Returns the slot to the kernel, and moves to the next. */
static inline void packet_ring_free(struct packet_ring *ring)
{
    __atomic_store_n(&packet_ring_slot(ring)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->slot = ring->slot + 1 == ring->slot_count ? 0 : ring->slot + 1;
}

#endif
