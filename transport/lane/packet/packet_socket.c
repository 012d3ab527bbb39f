/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_socket.h"

#include "frame/frame.h"
#include "lane/packet/packet_internal.h"
#include "lane/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stddef.h>
#include <sys/socket.h>

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
