/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdp_allowed.h - may this process have AF_XDP sockets and programs? Both take privileges of the
 * host, which no user namespace has: without them the tests of the lane say so and are skipped.
 */
#ifndef BEOWIRE_TESTS_LANE_XDP_ALLOWED_H
#define BEOWIRE_TESTS_LANE_XDP_ALLOWED_H

#include "lane/xdp/xdp_program.h"
#include "lane/xdp/xdp_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** What meson takes for a skipped test. */
#define XDP_SKIPPED 77

/** Opens one on a queue that the test before has just given back, which takes the kernel a moment.
 */
static inline int xdp_open_again(struct xdp_socket *xdp, int interface, uint32_t mtu)
{
    int status = xdp_socket_open(xdp, interface, mtu, XDP_RECEIVES);

    for (unsigned tries = 0; tries < 5000 && status == -EUSERS; tries++) {
        (void)usleep(1000);
        status = xdp_socket_open(xdp, interface, mtu, XDP_RECEIVES);
    }
    return status;
}

/** To be called in the test's namespace; ends the program where they are refused. What the kernel
 *  answers to root is no reason to skip. */
static inline void xdp_require(void)
{
    const struct xdp_filter filter = {.bytes_max = 1514};
    struct xdp_program program;
    int status = xdp_program_load(&program, &filter);
    int socket_of_it = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (socket_of_it < 0 && errno == EAFNOSUPPORT) {
        (void)fprintf(stderr, "skipped: this kernel has no AF_XDP\n");
        exit(XDP_SKIPPED);
    }
    if (status == -EPERM) {
        (void)fprintf(stderr, "skipped: AF_XDP takes privileges of the host: run as root\n");
        exit(XDP_SKIPPED);
    }
    if (status != 0) {
        (void)fprintf(stderr, "the program cannot be loaded: %s\n", strerror(-status));
        exit(1);
    }
    (void)close(socket_of_it);
    xdp_program_close(&program);
}

#endif /* BEOWIRE_TESTS_LANE_XDP_ALLOWED_H */
