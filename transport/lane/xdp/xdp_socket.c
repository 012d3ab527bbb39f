/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/xdp/xdp_socket.h"

#include "lane/packet/packet_internal.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE 0

/** Chunks for receiving: each is free, or has a frame. */
#define CHUNKS LANE_RING_FRAMES
#define RING_MASK (CHUNKS - 1u)
static_assert((CHUNKS & RING_MASK) == 0, "an index of a ring wraps by itself");

#define CACHE_LINE_BYTES 64

/** Sizes of chunks. A frame begins behind the bytes that the kernel reserves for programs. */
#define CHUNK_BYTES_MIN 2048u
#define CHUNK_BYTES_MAX 4096u

/** Makes our frame, behind Ethernet's header, begin at a multiple of 16. */
#define ALIGNMENT_BYTES 2u

/** This ring is required even for a socket that sends nothing. */
#define COMPLETIONS_MIN 2

static uint32_t room_of(uint32_t chunk_bytes)
{
    return chunk_bytes - XDP_PACKET_HEADROOM - ALIGNMENT_BYTES;
}

uint32_t xdp_socket_bytes_max(const struct xdp_socket *xdp)
{
    return room_of(xdp->chunk_bytes);
}

static int map_ring(const struct xdp_socket *xdp, struct xdp_ring *ring,
                    const struct xdp_ring_offset *offsets, size_t entry_bytes, off_t where)
{
    ring->memory_bytes = offsets->desc + CHUNKS * entry_bytes; /* of all mapped rings */
    void *memory = mmap(NULL, ring->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        xdp->socket, where);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    ring->memory = memory;
    ring->producer = (void *)((uint8_t *)memory + offsets->producer);
    ring->consumer = (void *)((uint8_t *)memory + offsets->consumer);
    ring->entries = (uint8_t *)memory + offsets->desc;
    return 0;
}

static int size_rings(const struct xdp_socket *xdp, enum xdp_use use)
{
    const bool sends = use != XDP_RECEIVES;
    const struct {
        int option;
        int entries;
    } rings[] = {
        {XDP_UMEM_FILL_RING, CHUNKS},
        {XDP_UMEM_COMPLETION_RING, sends ? XDP_SENT_FRAMES : COMPLETIONS_MIN},
        {XDP_RX_RING, CHUNKS},
        {XDP_TX_RING, XDP_SENT_FRAMES},
    };
    static_assert(XDP_SENT_FRAMES == CHUNKS, "map_ring() takes all rings for equal");

    for (size_t i = 0; i < sizeof rings / sizeof *rings - !sends; i++) {
        if (setsockopt(xdp->socket, SOL_XDP, rings[i].option, &rings[i].entries,
                       sizeof rings[i].entries) != 0) {
            return -errno;
        }
    }
    return 0;
}

static int make_rings(struct xdp_socket *xdp, enum xdp_use use)
{
    struct xdp_mmap_offsets offsets;
    socklen_t length = sizeof offsets;
    int status = size_rings(xdp, use);

    if (status != 0) {
        return status;
    }
    if (getsockopt(xdp->socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
        return -errno;
    }
    status =
        map_ring(xdp, &xdp->fill, &offsets.fr, sizeof(uint64_t), (off_t)XDP_UMEM_PGOFF_FILL_RING);
    if (status == 0) {
        status =
            map_ring(xdp, &xdp->receive, &offsets.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
    }
    if (status != 0 || use == XDP_RECEIVES) {
        return status;
    }
    status = map_ring(xdp, &xdp->transmit, &offsets.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
    return status != 0 ? status
                       : map_ring(xdp, &xdp->completion, &offsets.cr, sizeof(uint64_t),
                                  (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
}

static int give_memory(struct xdp_socket *xdp, uint32_t mtu, enum xdp_use use)
{
    uint32_t frame_bytes = mtu + PACKET_ENVELOPE_BYTES;

    xdp->chunk_bytes = frame_bytes <= room_of(CHUNK_BYTES_MIN) ? CHUNK_BYTES_MIN : CHUNK_BYTES_MAX;
    xdp->chunks_bytes =
        (size_t)(CHUNKS + (use == XDP_RECEIVES ? 0 : XDP_SENT_FRAMES)) * xdp->chunk_bytes;
    void *chunks = mmap(NULL, xdp->chunks_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (chunks == MAP_FAILED) {
        return -errno;
    }
    xdp->chunks = chunks;
    const struct xdp_umem_reg memory = {.addr = (uint64_t)(uintptr_t)chunks,
                                        .len = xdp->chunks_bytes,
                                        .chunk_size = xdp->chunk_bytes,
                                        .headroom = use == XDP_RECEIVES ? ALIGNMENT_BYTES : 0};
    return setsockopt(xdp->socket, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0 ? -errno : 0;
}

static void fill(struct xdp_socket *xdp)
{
    uint64_t *entries = xdp->fill.entries;

    for (uint32_t i = 0; i < CHUNKS; i++) {
        entries[i] = (uint64_t)i * xdp->chunk_bytes;
    }
    xdp->fill.next = CHUNKS;
    __atomic_store_n(xdp->fill.producer, xdp->fill.next, __ATOMIC_RELEASE);
}

static int bind_queue(const struct xdp_socket *xdp, int interface, enum xdp_use use)
{
    static const uint16_t flags[] = {[XDP_RECEIVES] = XDP_COPY | XDP_USE_NEED_WAKEUP,
                                     [XDP_SENDS] = XDP_COPY,
                                     [XDP_SENDS_ZERO_COPY] = XDP_ZEROCOPY};
    const struct sockaddr_xdp here = {.sxdp_family = AF_XDP,
                                      .sxdp_flags = flags[use],
                                      .sxdp_ifindex = (uint32_t)interface,
                                      .sxdp_queue_id = QUEUE};

    return bind(xdp->socket, (const struct sockaddr *)&here, sizeof here) == 0 ? 0 : -errno;
}

static int set_up(struct xdp_socket *xdp, int interface, uint32_t mtu, enum xdp_use use)
{
    xdp->socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (xdp->socket < 0) {
        return -errno;
    }
    int status = give_memory(xdp, mtu, use);
    if (status == 0) {
        status = make_rings(xdp, use);
    }
    if (status == 0) {
        fill(xdp);
        status = bind_queue(xdp, interface, use);
    }
    return status == -EBUSY ? -EUSERS : status;
}

int xdp_socket_open(struct xdp_socket *xdp, int interface, uint32_t mtu, enum xdp_use use)
{
    *xdp = (struct xdp_socket){.socket = -1};
    int status = set_up(xdp, interface, mtu, use);
    if (status != 0) {
        xdp_socket_close(xdp);
    }
    return status;
}

/** Chunks are used in the order in which they were given. So the place of the next frame is known
 *  before its entry has come from the other core, and both cache lines are fetched at the same
 *  time. */
static void await(const struct xdp_socket *xdp)
{
    const uint64_t *given = xdp->fill.entries;
    const uint8_t *chunk = xdp->chunks + given[xdp->receive.next & RING_MASK];
    const uint8_t *envelope = chunk + XDP_PACKET_HEADROOM + ALIGNMENT_BYTES;

    __builtin_prefetch(envelope);
    __builtin_prefetch(envelope + CACHE_LINE_BYTES);
}

unsigned xdp_socket_take(struct xdp_socket *xdp, struct lane_incoming *frames, unsigned count)
{
    const struct xdp_desc *entries = xdp->receive.entries;
    /* Acquire: pairs with the kernel's release, behind the frames. */
    uint32_t there = __atomic_load_n(xdp->receive.producer, __ATOMIC_ACQUIRE) - xdp->receive.next;
    unsigned taken = there < count ? there : count;

    if (taken > 0) {
        await(xdp);
    }
    for (unsigned i = 0; i < taken; i++) {
        const struct xdp_desc *entry = &entries[xdp->receive.next++ & RING_MASK];
        const uint8_t *envelope = xdp->chunks + entry->addr;
        frames[i].data = envelope + PACKET_ENVELOPE_BYTES;
        frames[i].bytes = entry->len - PACKET_ENVELOPE_BYTES; /* checked by the program */
        frames[i].payload = NULL;
        frames[i].from = (struct lane_address){0};
        memcpy(frames[i].from.bytes, envelope + ETH_ALEN, ETH_ALEN);
    }
    xdp->held += taken;
    return taken;
}

void xdp_socket_release(struct xdp_socket *xdp)
{
    const struct xdp_desc *entries = xdp->receive.entries;
    uint64_t *free_entries = xdp->fill.entries;

    if (xdp->held == 0) {
        return;
    }
    for (uint32_t at = xdp->receive.next - xdp->held; at != xdp->receive.next; at++) {
        /* The kernel chooses where a frame begins in its chunk, and wants the chunk back. */
        uint64_t chunk = entries[at & RING_MASK].addr & ~(uint64_t)(xdp->chunk_bytes - 1);
        free_entries[xdp->fill.next++ & RING_MASK] = chunk;
    }
    xdp->held = 0;
    /* Release: our reads of frames and entries come before the kernel may write them again. */
    __atomic_store_n(xdp->receive.consumer, xdp->receive.next, __ATOMIC_RELEASE);
    __atomic_store_n(xdp->fill.producer, xdp->fill.next, __ATOMIC_RELEASE);
}

uint64_t xdp_socket_drops(struct xdp_socket *xdp)
{
    struct xdp_statistics statistics = {0};
    socklen_t length = sizeof statistics;

    if (getsockopt(xdp->socket, SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) {
        return 0;
    }
    /* No free chunk, or no room in the ring; older kernels have only the first number. */
    uint64_t dropped = statistics.rx_dropped + statistics.rx_ring_full;
    uint64_t since = dropped - xdp->dropped_frames;
    xdp->dropped_frames = dropped;
    return since;
}

static void unmap(struct xdp_ring *ring)
{
    if (ring->memory != NULL) {
        munmap(ring->memory, ring->memory_bytes);
    }
    *ring = (struct xdp_ring){0};
}

int xdp_socket_part_with(struct xdp_socket *xdp)
{
    int socket = xdp->socket;

    xdp->socket = -1;
    return socket;
}

void xdp_socket_close(struct xdp_socket *xdp)
{
    unmap(&xdp->fill);
    unmap(&xdp->receive);
    unmap(&xdp->transmit);
    unmap(&xdp->completion);
    if (xdp->socket >= 0) {
        (void)close(xdp->socket);
    }
    xdp->socket = -1;
    if (xdp->chunks != NULL) {
        munmap(xdp->chunks, xdp->chunks_bytes);
    }
    xdp->chunks = NULL;
}
