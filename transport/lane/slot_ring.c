/* SPDX-License-Identifier: BSD-3-Clause */
#include "slot_ring.h"

#include "lane/socket.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

/** A ring has room for as many packets as are wanted, up to this size, which matters only for MTUs
 *  above 9000. */
#define RING_BYTES_MAX (32u << 20)

#define CACHE_LINE_BYTES 64

/** The kernel puts its own header and the sender's address before a packet. */
#define SLOT_OVERHEAD_BYTES 128

int slot_ring_make(int socket, uint32_t packet_bytes, uint32_t packets,
                   struct slot_ring_shape *shape)
{
    uint32_t slot = packet_bytes + SLOT_OVERHEAD_BYTES;

    /* Whole cache lines, so that a short packet uses as few as possible. */
    slot = (slot + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    uint32_t in_block = SLOT_RING_BLOCK_BYTES / slot;
    uint32_t blocks = (packets + in_block - 1) / in_block;
    if (blocks > RING_BYTES_MAX / SLOT_RING_BLOCK_BYTES) {
        blocks = RING_BYTES_MAX / SLOT_RING_BLOCK_BYTES;
    }
    *shape = (struct slot_ring_shape){.blocks = blocks, .slot_bytes = slot};
    struct tpacket_req request = {
        .tp_block_size = SLOT_RING_BLOCK_BYTES,
        .tp_block_nr = blocks,
        .tp_frame_size = slot,
        .tp_frame_nr = blocks * in_block,
    };
    if (socket_set(socket, SOL_PACKET, PACKET_VERSION, TPACKET_V2) != 0) {
        return -ENOSYS;
    }
    if (setsockopt(socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
        return errno == ENOMEM ? -ENOBUFS : -ENOSYS;
    }
    return 0;
}

int slot_ring_map(struct slot_ring *ring, int socket, const struct slot_ring_shape *shape)
{
    ring->slot_bytes = shape->slot_bytes;
    ring->slots_per_block = SLOT_RING_BLOCK_BYTES / shape->slot_bytes;
    ring->slots = shape->blocks * ring->slots_per_block;
    ring->bytes = (size_t)shape->blocks * SLOT_RING_BLOCK_BYTES;
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
