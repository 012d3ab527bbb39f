/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"

/* Reports why there is no socket. */
static int refuse(char *reason, size_t reason_bytes)
{
    if (errno != EPERM) {
        return fail(reason, reason_bytes, "packet sockets do not work here");
    }
    /* setcap for the engine is no solution: it loads drivers, so every user's code would get the
     * right. */
    (void)snprintf(reason, reason_bytes,
                   "needs CAP_NET_RAW: run as root, use --lab, or start this by beowire-frames,"
                   " which `beowire setup --group GROUP --apply` sets up");
    return -EPERM;
}

int packet_socket_permitted(char *reason, size_t reason_bytes)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return refuse(reason, reason_bytes);
    }
    close(fd);
    return 0;
}

/* Reads index, MAC and MTU of the interface. */
static int read_interface(struct packet_socket *packet, const char *name, int *index, char *error,
                          size_t error_bytes)
{
    struct ifreq request = {0};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(packet->fd, SIOCGIFINDEX, &request) != 0) {
        return fail(error, error_bytes, name);
    }
    *index = request.ifr_ifindex;
    if (ioctl(packet->fd, SIOCGIFHWADDR, &request) != 0) {
        return fail(error, error_bytes, name);
    }
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER &&
        request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK) {
        (void)snprintf(error, error_bytes, "%s is not an Ethernet interface", name);
        return -EPROTONOSUPPORT;
    }
    memcpy(packet->mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
    if (ioctl(packet->fd, SIOCGIFMTU, &request) != 0) {
        return fail(error, error_bytes, name);
    }
    packet->mtu = request.ifr_mtu > PACKET_MTU_MAX ? PACKET_MTU_MAX : (size_t)request.ifr_mtu;
    if (packet->mtu <= PACKET_HEADER_BYTES) {
        (void)snprintf(error, error_bytes, "%s: an MTU of %zu bytes is too small", name,
                       packet->mtu);
        return -EMSGSIZE;
    }
    return 0;
}

/* Accepts frames for this host and this port only; the filter cannot be removed. */
static int set_filter(const struct packet_socket *packet)
{
    /* The port is little-endian in the frame; BPF reads big-endian. */
    const uint16_t port = __builtin_bswap16(packet->port);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct frame_header, port_le)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    const int on = 1;
    if (setsockopt(packet->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
        setsockopt(packet->fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on) != 0) {
        return -1;
    }
    return 0;
}

static int set_up(struct packet_socket *packet, const char *name, size_t message_bytes, char *error,
                  size_t error_bytes)
{
    /* Without a protocol no frame is received before the filter and the ring exist. */
    packet->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (packet->fd < 0) {
        return refuse(error, error_bytes);
    }
    int index = 0;
    int result = read_interface(packet, name, &index, error, error_bytes);
    if (result != 0) {
        return result;
    }
    struct stat status;
    if (fstat(packet->fd, &status) != 0) {
        return fail(error, error_bytes, "cannot read the socket's number");
    }
    packet->port = (uint16_t)status.st_ino; /* differs between the sockets of a host */

    const int version = TPACKET_V2;
    const int on = 1;
    if (set_filter(packet) != 0) {
        return fail(error, error_bytes, "cannot set the frame filter");
    }
    if (setsockopt(packet->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(packet->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0 ||
        setsockopt(packet->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0) {
        return fail(error, error_bytes, "this kernel's packet sockets lack what is needed");
    }
    const size_t payload_bytes = packet->mtu - PACKET_HEADER_BYTES;
    const size_t frames = (message_bytes + payload_bytes - 1) / payload_bytes;
    if (packet_ring_open(&packet->ring, packet->fd, ETH_HLEN + packet->mtu, 2 * frames) != 0) {
        return fail(error, error_bytes, "cannot make the receive ring");
    }
    const struct sockaddr_ll here = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(PACKET_ETHERTYPE),
        .sll_ifindex = index,
    };
    if (bind(packet->fd, (const struct sockaddr *)&here, sizeof here) != 0) {
        return fail(error, error_bytes, "cannot use the interface");
    }
    return 0;
}

int packet_socket_open(struct packet_socket *packet, const char *interface, size_t message_bytes,
                       char *error, size_t error_bytes)
{
    *packet = (struct packet_socket){.fd = -1};
    int result = set_up(packet, interface, message_bytes, error, error_bytes);
    if (result != 0) {
        packet_socket_close(packet);
    }
    return result;
}

void packet_socket_close(struct packet_socket *packet)
{
    packet_ring_close(&packet->ring);
    if (packet->fd >= 0) {
        close(packet->fd);
        packet->fd = -1;
    }
}
