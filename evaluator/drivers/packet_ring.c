/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_ring.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SLOTS_MIN 256
#define SLOT_BYTES_MIN 2048
/* Small slots share a block, whose size is a multiple of all page sizes; larger slots have one
 * each. */
#define BLOCK_BYTES 65536

struct tpacket_req packet_ring_request(size_t frame_bytes, size_t frames, size_t page_bytes)
{
    /* The kernel puts its header, the sender's address and alignment before the frame. */
    const size_t needed =
        sizeof(struct tpacket2_hdr) + sizeof(struct sockaddr_ll) + 64 + frame_bytes;
    const bool small = needed <= SLOT_BYTES_MIN;
    const size_t slot =
        small ? SLOT_BYTES_MIN : (needed + page_bytes - 1) / page_bytes * page_bytes;
    size_t count = SLOTS_MIN;
    while (count < frames) {
        count *= 2;
    }
    /* A block is a whole number of slots, so slots follow one another without gaps. */
    const size_t block = small ? BLOCK_BYTES : slot;
    return (struct tpacket_req){
        .tp_block_size = (unsigned)block,
        .tp_block_nr = (unsigned)(count * slot / block),
        .tp_frame_size = (unsigned)slot,
        .tp_frame_nr = (unsigned)count,
    };
}

int packet_ring_open(struct packet_ring *ring, int fd, size_t frame_bytes, size_t frames)
{
    const struct tpacket_req request =
        packet_ring_request(frame_bytes, frames, (size_t)sysconf(_SC_PAGESIZE));
    ring->slot_bytes = request.tp_frame_size;
    ring->slot_count = request.tp_frame_nr;
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
