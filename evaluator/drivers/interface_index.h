/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interface_index.h - the index of a network interface, or why there is none.
 *
 * if_nametoindex() fails in the same way if no descriptor is left for its socket.
 */
#ifndef BEOWIRE_DRIVERS_INTERFACE_INDEX_H
#define BEOWIRE_DRIVERS_INTERFACE_INDEX_H

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/** @return the index; -ENODEV: there is no such interface; -EMFILE, -ENFILE or another: cannot
 *  ask. */
static inline int interface_index(const char *name)
{
    struct ifreq request = {0};
    size_t length = strlen(name);

    if (length >= sizeof request.ifr_name) {
        return -ENODEV;
    }
    memcpy(request.ifr_name, name, length);
    int control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) {
        return -errno;
    }
    int status = ioctl(control, SIOCGIFINDEX, &request) == 0 ? request.ifr_ifindex : -errno;
    (void)close(control);
    return status;
}

#endif
