/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot_ring.h - the mapped ring of a packet socket (TPACKET_V2): frames that have arrived, read
 * without a system call.
 *
 * The kernel fills one slot after another, and stops at one that has not been given back. Slots are
 * given back together, in the order in which they were taken. One thread.
 */
#ifndef BEOWIRE_LANE_SLOT_RING_H
#define BEOWIRE_LANE_SLOT_RING_H

#include <linux/if_packet.h>
#include <stddef.h>
#include <stdint.h>

/** The ring is made of blocks of this size; a slot never crosses one. */
#define SLOT_RING_BLOCK_BYTES (1u << 18)

struct slot_ring_shape {
    uint32_t blocks;
    uint32_t slot_bytes;
};

struct slot_ring {
    uint8_t *memory;
    size_t bytes;
    uint32_t slot_bytes;
    uint32_t slots_per_block;
    uint32_t slots;
    uint32_t next_slot;        /* the kernel fills this one next */
    struct tpacket2_hdr *next; /* its address, which saves a division in each poll */
    uint32_t held;             /* taken and not given back, ending at next_slot */
};

/** Makes a ring for at least so many packets, with slots for packets of up to so many bytes.
 *  @return 0; -ENOSYS, -ENOBUFS. */
int slot_ring_make(int socket, uint32_t packet_bytes, uint32_t packets,
                   struct slot_ring_shape *shape);

/** Maps what slot_ring_make() has made. @return 0; a negative errno, -ENOBUFS if there is no
 *  memory. */
int slot_ring_map(struct slot_ring *ring, int socket, const struct slot_ring_shape *shape);

/** May be repeated, and called without slot_ring_map() if all is 0. */
void slot_ring_unmap(struct slot_ring *ring);

/** Gives all taken slots back to the kernel. */
void slot_ring_release(struct slot_ring *ring);

static inline struct tpacket2_hdr *slot_ring_at(const struct slot_ring *ring, uint32_t slot)
{
    size_t block = slot / ring->slots_per_block;
    size_t within = slot % ring->slots_per_block;

    return (struct tpacket2_hdr *)(void *)(ring->memory + block * SLOT_RING_BLOCK_BYTES +
                                           within * ring->slot_bytes);
}

static inline uint32_t slot_ring_after(const struct slot_ring *ring, uint32_t slot, uint32_t by)
{
    slot += by;
    return slot < ring->slots ? slot : slot - ring->slots;
}

/** @return the next slot, if the kernel has filled it; otherwise NULL */
static inline struct tpacket2_hdr *slot_ring_look(const struct slot_ring *ring)
{
    /* Acquire: pairs with the kernel's release of a filled slot. */
    if (ring->held == ring->slots ||
        (__atomic_load_n(&ring->next->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) {
        return NULL;
    }
    return ring->next;
}

/** Takes the slot that slot_ring_look() has returned; it is valid until slot_ring_release(). */
static inline void slot_ring_take(struct slot_ring *ring)
{
    ring->next_slot = slot_ring_after(ring, ring->next_slot, 1);
    ring->next = slot_ring_at(ring, ring->next_slot);
    ring->held++;
}

#endif /* BEOWIRE_LANE_SLOT_RING_H */
