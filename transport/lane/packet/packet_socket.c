/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_socket.h"

#include "frame/frame.h"
#include "lane/packet/packet_internal.h"
#include "lane/socket.h"
#include "tuning.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stddef.h>
#include <sys/socket.h>

/** Rings have room for as many full frames as are wanted, up to this size, which matters only for
 *  MTUs above 9000. */
#define RING_BYTES_MAX (32u << 20)

#define CACHE_LINE_BYTES 64

/** The kernel puts its own header and the sender's address before a frame. */
#define SLOT_OVERHEAD_BYTES 128

/** Kernel memory for frames to send. */
#define SEND_BUFFER_BYTES (8 << 20)

int packet_socket_filter(int socket, uint16_t ethertype, uint16_t endpoint)
{
    /* On the wire the number is little-endian; BPF loads big-endian. */
    uint16_t number = (uint16_t)(endpoint >> 8 | endpoint << 8);
    uint32_t number_at = PACKET_ENVELOPE_BYTES + offsetof(struct frame_header, destination);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 5),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, PACKET_TYPE_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ethertype, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, number_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    return socket_filter(socket, code, sizeof code / sizeof *code);
}

int packet_socket_ring(int socket, uint32_t frame_bytes, uint32_t frames, struct packet_ring *ring)
{
    uint32_t slot = frame_bytes + PACKET_ENVELOPE_BYTES + SLOT_OVERHEAD_BYTES;

    /* Whole cache lines, so that a short frame uses as few as possible. */
    slot = (slot + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    uint32_t in_block = PACKET_BLOCK_BYTES / slot;
    uint32_t blocks = (frames + in_block - 1) / in_block;
    if (blocks > RING_BYTES_MAX / PACKET_BLOCK_BYTES) {
        blocks = RING_BYTES_MAX / PACKET_BLOCK_BYTES;
    }
    *ring = (struct packet_ring){.blocks = blocks, .slot_bytes = slot};
    struct tpacket_req request = {
        .tp_block_size = PACKET_BLOCK_BYTES,
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

bool packet_socket_tune(int socket)
{
    (void)socket_set_buffer(socket, SO_SNDBUF, SEND_BUFFER_BYTES);
    /* Bypass the queueing discipline, so that frames do not wait behind those of TCP. */
    return socket_set(socket, SOL_PACKET, PACKET_QDISC_BYPASS, 1) == 0;
}

int packet_socket_bind(int socket, int interface, uint16_t protocol)
{
    struct sockaddr_ll name = {
        .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = interface};

    return bind(socket, (const struct sockaddr *)&name, sizeof name) != 0 ? -errno : 0;
}
