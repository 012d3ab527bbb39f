/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_ring.h"

#include <sys/mman.h>
#include <sys/socket.h>

#define SLOTS_MIN 256
#define SLOT_BYTES_MIN 2048
#define PAGE_BYTES 4096
/* Of small slots many share a block; larger ones have a block each. */
#define BLOCK_BYTES 65536

int packet_ring_open(struct packet_ring *ring, int fd, size_t frame_bytes, size_t frames)
{
    /* The kernel puts its header, the sender's address and alignment before the frame. */
    const size_t needed =
        sizeof(struct tpacket2_hdr) + sizeof(struct sockaddr_ll) + 64 + frame_bytes;
    const bool small = needed <= SLOT_BYTES_MIN;
    ring->slot_bytes = small ? SLOT_BYTES_MIN : (needed + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    ring->slot_count = SLOTS_MIN;
    while (ring->slot_count < frames) {
        ring->slot_count *= 2;
    }
    /* A block is a whole number of slots, so slots follow one another without gaps. */
    const size_t block = small ? BLOCK_BYTES : ring->slot_bytes;
    const struct tpacket_req request = {
        .tp_block_size = (unsigned)block,
        .tp_block_nr = (unsigned)(ring->slot_count * ring->slot_bytes / block),
        .tp_frame_size = (unsigned)ring->slot_bytes,
        .tp_frame_nr = ring->slot_count,
    };
    if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
        return -1;
    }
    ring->bytes = ring->slot_count * ring->slot_bytes;
    void *memory =
        mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        return -1;
    }
    ring->memory = memory;
    return 0;
}

void packet_ring_close(struct packet_ring *ring)
{
    if (ring->memory != NULL) {
        munmap(ring->memory, ring->bytes);
        ring->memory = NULL;
    }
}
