/* SPDX-License-Identifier: BSD-3-Clause */
/* What the socket says of trouble: peers that have ended, an interface that is down, frames
 * dropped. */
#include "socket.h"
#include "udp_internal.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <sys/ioctl.h>

/** Has the host of the address said that nobody is at that port? */
static bool is_refusal(struct msghdr *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if ((header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR) ||
            (header->cmsg_level == SOL_IPV6 && header->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err error;
            memcpy(&error, CMSG_DATA(header), sizeof error);
            return error.ee_errno == ECONNREFUSED &&
                   (error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6);
        }
    }
    return false;
}

static void note_lost(struct udp_lane *udp, const struct lane_address *address)
{
    for (unsigned i = 0; i < udp->lost_count; i++) {
        if (memcmp(&udp->lost[i], address, sizeof *address) == 0) {
            return;
        }
    }
    if (udp->lost_count < UDP_LOST_MAX) {
        udp->lost[udp->lost_count++] = *address;
    }
}

void udp_read_errors(struct udp_lane *udp)
{
    /* The kernel bounds this queue, and nobody can fill it faster than we send. */
    for (;;) {
        _Alignas(struct cmsghdr) uint8_t control[256];
        union udp_sockaddr address = {0};
        struct msghdr message = {
            .msg_name = &address, /* of whom the datagram was for */
            .msg_namelen = sizeof address,
            .msg_control = control,
            .msg_controllen = sizeof control,
        };
        if (recvmsg(udp->socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return;
        }
        if (is_refusal(&message)) {
            struct lane_address place = udp_place_of(&address);
            note_lost(udp, &place);
        }
    }
}

bool udp_lost(struct lane *lane, struct lane_address *address)
{
    struct udp_lane *udp = udp_of(lane);

    if (udp->lost_count == 0) {
        return false;
    }
    *address = udp->lost[--udp->lost_count];
    return true;
}

int udp_status(struct lane *lane)
{
    struct udp_lane *udp = udp_of(lane);
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof memory;

    /* A train that did not fit counts as one. */
    if (getsockopt(udp->socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0) {
        lane->dropped_frames += memory[SK_MEMINFO_DROPS] - udp->kernel_drops;
        udp->kernel_drops = memory[SK_MEMINFO_DROPS];
    }
    return socket_interface_works(udp->socket, (int)udp->index) ? 0 : -ENETDOWN;
}
