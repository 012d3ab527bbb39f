/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_number.h"

#include "lane/entropy.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <sys/socket.h>

#define ATTEMPTS 4096

/** struct fanout_args of Linux 5.10, whose headers older systems do not have; little-endian. */
struct group {
    uint16_t id;
    uint16_t type_flags;
    uint32_t max_num_members;
};

static int take(int socket, uint16_t number)
{
    struct group group = {.id = number, .type_flags = PACKET_FANOUT_CPU, .max_num_members = 1};

    return setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, sizeof group) != 0 ? -errno : 0;
}

int packet_number_by_kernel(int socket)
{
    int group = (PACKET_FANOUT_CPU | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    socklen_t bytes = sizeof group;

    if (setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, bytes) != 0 ||
        getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &group, &bytes) != 0) {
        return -errno;
    }
    return group & UINT16_MAX;
}

/** Does the kernel lack such groups, or refuse them for any number? */
static bool is_unknown(int status)
{
    return status == -ENOPROTOOPT || status == -ENOSYS || status == -EPERM || status == -EACCES;
}

/** @return the error which says that the host does not have the lane (lane_type.h). */
static int missing(int status)
{
    return status == -ENOPROTOOPT ? -ENOSYS : status;
}

int packet_number_reserve(int socket, uint16_t *number)
{
    if (*number != 0) {
        int status = take(socket, *number);
        return status == 0 || is_unknown(status) ? missing(status) : -EADDRINUSE;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint16_t candidate = 0;
        int status = entropy_fill(&candidate, sizeof candidate);
        if (status != 0) {
            return status;
        }
        status = candidate != 0 ? take(socket, candidate) : -EADDRINUSE;
        if (status == 0) {
            *number = candidate;
        }
        if (status == 0 || is_unknown(status)) {
            return missing(status);
        }
    }
    int chosen = packet_number_by_kernel(socket);
    if (chosen <= 0) {
        return chosen == 0 ? -EAGAIN : -EADDRINUSE;
    }
    *number = (uint16_t)chosen;
    return 0;
}
