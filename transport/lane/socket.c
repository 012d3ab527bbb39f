/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket.h"

#include "frame/frame.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int socket_control(void)
{
    static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
    int made = -1;
    int error = 0;

    for (size_t i = 0; made < 0 && i < sizeof families / sizeof *families; i++) {
        made = socket(families[i], SOCK_DGRAM | SOCK_CLOEXEC, 0);
        error = made < 0 && error == 0 ? errno : error;
    }
    return made < 0 ? -error : made;
}

int socket_read_interface(int socket, const char *name, struct socket_interface *interface)
{
    struct ifreq request = {0};

    if (strlen(name) >= sizeof request.ifr_name) {
        return -ENODEV;
    }
    strcpy(request.ifr_name, name); /* NOLINT: the length was checked */
    if (ioctl(socket, SIOCGIFINDEX, &request) != 0) {
        return -errno;
    }
    interface->index = request.ifr_ifindex;
    if (ioctl(socket, SIOCGIFFLAGS, &request) != 0) {
        return -errno;
    }
    if ((request.ifr_flags & IFF_UP) == 0) {
        return -ENETDOWN;
    }
    interface->loops = (request.ifr_flags & IFF_LOOPBACK) != 0;
    if (ioctl(socket, SIOCGIFHWADDR, &request) != 0) {
        return -errno;
    }
    interface->hardware = request.ifr_hwaddr.sa_family;
    memcpy(interface->mac, request.ifr_hwaddr.sa_data, sizeof interface->mac);
    if (ioctl(socket, SIOCGIFMTU, &request) != 0) {
        return -errno;
    }
    interface->mtu = request.ifr_mtu;
    return interface->mtu > (int)FRAME_BYTES_MIN ? 0 : -EINVAL;
}

int socket_find_interface(const char *name, unsigned *index)
{
    struct socket_interface interface = {0};
    int control = socket_control();

    if (control < 0) {
        return control; /* if_nametoindex() would report that there is no such interface */
    }
    int status = socket_read_interface(control, name, &interface);
    (void)close(control);
    *index = (unsigned)interface.index;
    /* Other errors are reported later. */
    return interface.index > 0 ? 0 : status;
}

bool socket_interface_works(int socket, int index)
{
    struct ifreq request = {.ifr_ifindex = index};
    const unsigned wanted = IFF_UP | IFF_RUNNING;

    return ioctl(socket, SIOCGIFNAME, &request) == 0 &&
           ioctl(socket, SIOCGIFFLAGS, &request) == 0 &&
           ((unsigned)request.ifr_flags & wanted) == wanted;
}

int socket_interface_mtu(int socket, int index)
{
    struct ifreq request = {.ifr_ifindex = index};

    if (ioctl(socket, SIOCGIFNAME, &request) != 0 || ioctl(socket, SIOCGIFMTU, &request) != 0) {
        return -errno;
    }
    return request.ifr_mtu;
}

int socket_set(int socket, int level, int option, int value)
{
    return setsockopt(socket, level, option, &value, sizeof value) != 0 ? -errno : 0;
}

uint64_t socket_set_buffer(int socket, int option, int bytes)
{
    int forced = option == SO_SNDBUF ? SO_SNDBUFFORCE : SO_RCVBUFFORCE;
    int granted = 0;
    socklen_t length = sizeof granted;

    if (socket_set(socket, SOL_SOCKET, forced, bytes) != 0) {
        (void)socket_set(socket, SOL_SOCKET, option, bytes); /* limited by the system */
    }
    (void)getsockopt(socket, SOL_SOCKET, option, &granted, &length);
    return (uint64_t)granted;
}

int socket_filter(int socket, struct sock_filter *code, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

    if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
        return -errno;
    }
    (void)socket_set(socket, SOL_SOCKET, SO_LOCK_FILTER,
                     1); /* not essential: frames are checked again */
    return 0;
}

static bool is_refused(int error)
{
    return error == ENOSYS || error == EPERM || error == EACCES;
}

int socket_send_all(int socket, struct mmsghdr *messages, unsigned count)
{
    if (count > 1) {
        int sent = sendmmsg(socket, messages, count, MSG_DONTWAIT);
        /* The cause may be a message, not the call: then each is refused below. */
        if (sent > 0 || (sent < 0 && !is_refused(errno))) {
            return sent > 0 ? sent : -errno;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        ssize_t bytes = sendmsg(socket, &messages[i].msg_hdr, MSG_DONTWAIT);
        if (bytes < 0) {
            return i > 0 ? (int)i : -errno;
        }
    }
    return (int)count;
}

bool socket_sends_many(int socket)
{
    return sendmmsg(socket, NULL, 0, MSG_DONTWAIT) == 0 || !is_refused(errno);
}

int socket_take_error(int socket)
{
    int error = 0;
    socklen_t length = sizeof error;

    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

uint32_t socket_take_drops(int socket)
{
    struct tpacket_stats statistics = {0};
    socklen_t length = sizeof statistics;

    /* Reading resets the kernel's counters. */
    (void)getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &statistics, &length);
    return statistics.tp_drops;
}
