/* SPDX-License-Identifier: BSD-3-Clause */
#include "slot_ring.h"

#include <errno.h>
#include <sys/mman.h>

int slot_ring_map(struct slot_ring *ring, int socket, const struct packet_ring *made)
{
    ring->slot_bytes = made->slot_bytes;
    ring->slots_per_block = PACKET_BLOCK_BYTES / made->slot_bytes;
    ring->slots = made->blocks * ring->slots_per_block;
    ring->bytes = (size_t)made->blocks * PACKET_BLOCK_BYTES;
    void *mapped =
        mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket, 0);
    if (mapped == MAP_FAILED) {
        return errno == ENOMEM || errno == EAGAIN ? -ENOBUFS : -errno;
    }
    ring->memory = mapped;
    ring->next = slot_ring_at(ring, 0);
    return 0;
}

void slot_ring_unmap(struct slot_ring *ring)
{
    if (ring->memory != NULL) {
        munmap(ring->memory, ring->bytes);
    }
    ring->memory = NULL;
}

void slot_ring_release(struct slot_ring *ring)
{
    uint32_t slot = slot_ring_after(ring, ring->next_slot, ring->slots - ring->held);

    while (ring->held > 0) {
        /* Release: our reads of the slot come before the kernel may write it again. */
        __atomic_store_n(&slot_ring_at(ring, slot)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        slot = slot_ring_after(ring, slot, 1);
        ring->held--;
    }
}
