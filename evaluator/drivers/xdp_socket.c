/* SPDX-License-Identifier: BSD-3-Clause */
#include "xdp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fail.h"

#define RING_MASK (XDP_FRAMES - 1)

/* The first half of the frames is for what arrives, the second for what is sent. */
#define CHUNKS (2 * XDP_FRAMES)

#define QUEUE 0

static int bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int new_map(void)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_XSKMAP,
                                 .key_size = sizeof(uint32_t),
                                 .value_size = sizeof(uint32_t),
                                 .max_entries = 1};
    return bpf(BPF_MAP_CREATE, &attributes);
}

static int refuse(char *reason, size_t reason_bytes)
{
    if (errno == EPERM) {
        (void)snprintf(reason, reason_bytes,
                       "needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host itself: run as"
                       " root");
        return -EPERM;
    }
    if (errno == EAFNOSUPPORT || errno == EINVAL || errno == ENOSYS) {
        (void)snprintf(reason, reason_bytes,
                       "this kernel has no AF_XDP: it takes Linux 5.9 with CONFIG_XDP_SOCKETS");
        return -EAFNOSUPPORT;
    }
    return fail(reason, reason_bytes, "AF_XDP sockets do not work here");
}

int xdp_socket_permitted(char *reason, size_t reason_bytes)
{
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return refuse(reason, reason_bytes);
    }
    close(fd);
    int map = new_map();
    if (map < 0) {
        return refuse(reason, reason_bytes);
    }
    close(map);
    return 0;
}

/* Frames of the EtherType go to the socket of their queue, if there is one. */
static int load_program(struct xdp_socket *xdp, uint16_t ethertype)
{
#define INSTRUCTION(CODE, TO, FROM, OFFSET, VALUE)                                                 \
    {                                                                                              \
        .code = (CODE), .dst_reg = (TO), .src_reg = (FROM), .off = (OFFSET), .imm = (VALUE)        \
    }
    const struct bpf_insn code[] = {
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 2, 6, offsetof(struct xdp_md, data), 0),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 3, 6, offsetof(struct xdp_md, data_end), 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 14),
        INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 8, 0), /* shorter than its header */
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_H, 5, 2, 12, 0),
        INSTRUCTION(BPF_JMP | BPF_JNE | BPF_K, 5, 0, 6, htons(ethertype)),
        INSTRUCTION(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, xdp->map),
        INSTRUCTION(0, 0, 0, 0, 0), /* the second half of the one above */
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, 2, 6, offsetof(struct xdp_md, rx_queue_index), 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS),
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
        INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
#undef INSTRUCTION
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_XDP,
                                 .insns = (uint64_t)(uintptr_t)code,
                                 .insn_cnt = sizeof code / sizeof code[0],
                                 .license = (uint64_t)(uintptr_t) "BSD"};
    xdp->program = bpf(BPF_PROG_LOAD, &attributes);
    return xdp->program < 0 ? -errno : 0;
}

static int map_ring(const struct xdp_socket *xdp, struct xdp_ring *ring,
                    const struct xdp_ring_offset *offsets, size_t entry_bytes, off_t where)
{
    ring->memory_bytes = offsets->desc + XDP_FRAMES * entry_bytes;
    void *memory = mmap(NULL, ring->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        xdp->fd, where);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    uint8_t *start = memory;
    ring->memory = memory;
    ring->producer = (void *)(start + offsets->producer);
    ring->consumer = (void *)(start + offsets->consumer);
    ring->entries = start + offsets->desc;
    return 0;
}

static int make_rings(struct xdp_socket *xdp)
{
    const int frames = XDP_FRAMES;
    const int options[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING};
    struct xdp_mmap_offsets offsets;
    socklen_t length = sizeof offsets;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (setsockopt(xdp->fd, SOL_XDP, options[i], &frames, sizeof frames) != 0) {
            return -errno;
        }
    }
    if (getsockopt(xdp->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) {
        return -errno;
    }
    int result =
        map_ring(xdp, &xdp->fill, &offsets.fr, sizeof(uint64_t), (off_t)XDP_UMEM_PGOFF_FILL_RING);
    result = result != 0 ? result
                         : map_ring(xdp, &xdp->completion, &offsets.cr, sizeof(uint64_t),
                                    (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
    result = result != 0 ? result
                         : map_ring(xdp, &xdp->receive, &offsets.rx, sizeof(struct xdp_desc),
                                    XDP_PGOFF_RX_RING);
    return result != 0 ? result
                       : map_ring(xdp, &xdp->transmit, &offsets.tx, sizeof(struct xdp_desc),
                                  XDP_PGOFF_TX_RING);
}

static void fill_rings(struct xdp_socket *xdp)
{
    uint64_t *entries = xdp->fill.entries;
    for (uint32_t i = 0; i < XDP_FRAMES; i++) {
        entries[i] = (uint64_t)i * XDP_CHUNK_BYTES;
        xdp->free[i] = XDP_FRAMES + i;
    }
    xdp->free_count = XDP_FRAMES;
    xdp->fill.next = XDP_FRAMES;
    atomic_store_explicit(xdp->fill.producer, xdp->fill.next, memory_order_release);
}

static int make_socket(struct xdp_socket *xdp)
{
    void *chunks = mmap(NULL, (size_t)CHUNKS * XDP_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (chunks == MAP_FAILED) {
        return -errno;
    }
    xdp->chunks = chunks;
    xdp->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    const struct xdp_umem_reg memory = {.addr = (uint64_t)(uintptr_t)chunks,
                                        .len = (uint64_t)CHUNKS * XDP_CHUNK_BYTES,
                                        .chunk_size = XDP_CHUNK_BYTES};
    if (xdp->fd < 0 || setsockopt(xdp->fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0) {
        return -errno;
    }
    int result = make_rings(xdp);
    if (result == 0) {
        fill_rings(xdp);
    }
    return result;
}

static int bind_queue(const struct xdp_socket *xdp, int interface_index, enum xdp_hook hook)
{
    const struct sockaddr_xdp here = {.sxdp_family = AF_XDP,
                                      .sxdp_flags =
                                          hook == XDP_HOOK_ZERO_COPY ? XDP_ZEROCOPY : XDP_COPY,
                                      .sxdp_ifindex = (uint32_t)interface_index,
                                      .sxdp_queue_id = QUEUE};
    return bind(xdp->fd, (const struct sockaddr *)&here, sizeof here) == 0 ? 0 : -errno;
}

int xdp_socket_try_zero_copy(int interface_index)
{
    struct xdp_socket xdp = {.fd = -1, .map = -1, .program = -1, .link = -1};
    int result = make_socket(&xdp);
    if (result == 0) {
        result = bind_queue(&xdp, interface_index, XDP_HOOK_ZERO_COPY);
    }
    xdp_socket_close(&xdp);
    return result;
}

/* Binds the socket to the queue, and the program to the interface. */
static int attach(struct xdp_socket *xdp, int interface_index, enum xdp_hook hook)
{
    int result = bind_queue(xdp, interface_index, hook);
    if (result != 0) {
        return result;
    }
    const uint32_t key = QUEUE;
    union bpf_attr entry = {.map_fd = (uint32_t)xdp->map,
                            .key = (uint64_t)(uintptr_t)&key,
                            .value = (uint64_t)(uintptr_t)&xdp->fd};
    if (bpf(BPF_MAP_UPDATE_ELEM, &entry) != 0) {
        return -errno;
    }
    const uint32_t flags = hook == XDP_HOOK_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
    union bpf_attr link = {.link_create = {.prog_fd = (uint32_t)xdp->program,
                                           .target_ifindex = (uint32_t)interface_index,
                                           .attach_type = BPF_XDP,
                                           .flags = flags}};
    xdp->link = bpf(BPF_LINK_CREATE, &link);
    return xdp->link < 0 ? -errno : 0;
}

int xdp_socket_open(struct xdp_socket *xdp, int interface_index, enum xdp_hook hook,
                    uint16_t ethertype, char *error, size_t error_bytes)
{
    *xdp = (struct xdp_socket){.fd = -1, .map = -1, .program = -1, .link = -1};
    int result = make_socket(xdp);
    if (result == 0) {
        xdp->map = new_map();
        result = xdp->map < 0 ? -errno : load_program(xdp, ethertype);
    }
    if (result == 0) {
        result = attach(xdp, interface_index, hook);
    }
    if (result != 0) {
        xdp_socket_close(xdp);
        if (result == -EBUSY || result == -EEXIST) {
            (void)snprintf(error, error_bytes,
                           "another program has the interface's queue 0 or its XDP hook: end it");
            return -EBUSY;
        }
        if (hook == XDP_HOOK_DRIVER && (result == -ERANGE || result == -EOPNOTSUPP)) {
            (void)snprintf(error, error_bytes,
                           "a lab with a rate, a delay or a loss takes an interface with a hook for"
                           " XDP, which this one has at no such MTU: use --mtu 3000 or less");
            return result;
        }
        errno = -result;
        (void)refuse(error, error_bytes);
    }
    return result;
}

/* Takes back what was sent. */
static void reclaim(struct xdp_socket *xdp)
{
    const uint64_t *entries = xdp->completion.entries;
    uint32_t end = atomic_load_explicit(xdp->completion.producer, memory_order_acquire);
    while (xdp->completion.next != end && xdp->free_count < XDP_FRAMES) {
        uint64_t address = entries[xdp->completion.next++ & RING_MASK];
        xdp->free[xdp->free_count++] = (uint32_t)(address / XDP_CHUNK_BYTES);
    }
    atomic_store_explicit(xdp->completion.consumer, xdp->completion.next, memory_order_release);
}

uint8_t *xdp_socket_room(struct xdp_socket *xdp)
{
    if (xdp->free_count == 0) {
        reclaim(xdp);
    }
    return xdp->free_count == 0
               ? NULL
               : xdp->chunks + (size_t)xdp->free[xdp->free_count - 1] * XDP_CHUNK_BYTES;
}

void xdp_socket_post(struct xdp_socket *xdp, uint32_t bytes)
{
    struct xdp_desc *entries = xdp->transmit.entries;
    uint32_t chunk = xdp->free[--xdp->free_count];
    entries[xdp->transmit.next++ & RING_MASK] =
        (struct xdp_desc){.addr = (uint64_t)chunk * XDP_CHUNK_BYTES, .len = bytes};
    atomic_store_explicit(xdp->transmit.producer, xdp->transmit.next, memory_order_release);
}

int xdp_socket_push(struct xdp_socket *xdp)
{
    /* One call sends a few dozen frames. */
    if (sendto(xdp->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN && errno != EBUSY &&
        errno != ENOBUFS && errno != EINTR) {
        return -errno;
    }
    reclaim(xdp);
    uint32_t taken = atomic_load_explicit(xdp->transmit.consumer, memory_order_acquire);
    return taken == xdp->transmit.next ? 1 : 0;
}

const uint8_t *xdp_socket_next(struct xdp_socket *xdp, size_t *bytes)
{
    const struct xdp_desc *entries = xdp->receive.entries;
    if (xdp->receive.next == atomic_load_explicit(xdp->receive.producer, memory_order_acquire)) {
        return NULL;
    }
    const struct xdp_desc *entry = &entries[xdp->receive.next & RING_MASK];
    *bytes = entry->len;
    return xdp->chunks + entry->addr;
}

void xdp_socket_free(struct xdp_socket *xdp)
{
    const struct xdp_desc *entries = xdp->receive.entries;
    uint64_t *free_entries = xdp->fill.entries;
    uint64_t address = entries[xdp->receive.next++ & RING_MASK].addr;
    atomic_store_explicit(xdp->receive.consumer, xdp->receive.next, memory_order_release);
    /* Where a frame begins in its chunk is the kernel's choice; it wants the chunk. */
    free_entries[xdp->fill.next++ & RING_MASK] = address - address % XDP_CHUNK_BYTES;
    atomic_store_explicit(xdp->fill.producer, xdp->fill.next, memory_order_release);
}

void xdp_socket_close(struct xdp_socket *xdp)
{
    struct xdp_ring *const rings[] = {&xdp->fill, &xdp->receive, &xdp->transmit, &xdp->completion};
    int *const descriptors[] = {&xdp->link, &xdp->program, &xdp->map, &xdp->fd};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (*descriptors[i] >= 0) {
            close(*descriptors[i]);
        }
        *descriptors[i] = -1;
    }
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        if (rings[i]->memory != NULL) {
            munmap(rings[i]->memory, rings[i]->memory_bytes);
        }
        *rings[i] = (struct xdp_ring){0};
    }
    if (xdp->chunks != NULL) {
        munmap(xdp->chunks, (size_t)CHUNKS * XDP_CHUNK_BYTES);
    }
    xdp->chunks = NULL;
}
