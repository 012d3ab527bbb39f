/* SPDX-License-Identifier: BSD-3-Clause */
/* tipc_socket.h - opens sockets of drivers over TIPC. */
#ifndef BEOWIRE_DRIVERS_TIPC_SOCKET_H
#define BEOWIRE_DRIVERS_TIPC_SOCKET_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"

/** The driver of connectionless messages (tipc_rdm.c). */
extern const struct driver TIPC_RDM;

/** Opens a socket of this type (SOCK_STREAM, ...) with these flags. Returns it, or a negative errno
 *  value with one line in `error`. */
static inline int tipc_socket(int type, int flags, char *error, size_t error_bytes)
{
    int fd = socket(AF_TIPC, type | SOCK_CLOEXEC | flags, 0);
    if (fd < 0 && errno == EAFNOSUPPORT) {
        (void)snprintf(error, error_bytes,
                       "this kernel has no TIPC: load it (modprobe tipc), or use a kernel that was"
                       " built with CONFIG_TIPC");
        return -EAFNOSUPPORT;
    }
    return fd < 0 ? fail(error, error_bytes, "cannot make a TIPC socket") : fd;
}

/** driver.probe: is there TIPC here? */
static inline int tipc_probe(const struct driver_options *options, char *reason,
                             size_t reason_bytes)
{
    (void)options;
    int fd = tipc_socket(SOCK_STREAM, SOCK_NONBLOCK, reason, reason_bytes);
    if (fd < 0) {
        return fd;
    }
    close(fd);
    return 0;
}

#endif
