/* SPDX-License-Identifier: BSD-3-Clause */
#include "number.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ATTEMPTS 4096

static int bind_name(int holder, uint16_t ethertype, uint16_t number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "beowire/%04x/%u", ethertype, number);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);

    return bind(holder, (const struct sockaddr *)&name, bytes) == 0 ? 0 : -errno;
}

int number_reserve(uint16_t ethertype, uint16_t *number, int *holder)
{
    bool any = *number == 0;
    int status = -EADDRINUSE;
    int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (held < 0) {
        return -errno;
    }
    for (int attempt = 0; status == -EADDRINUSE && attempt < (any ? ATTEMPTS : 1); attempt++) {
        uint16_t candidate = *number;
        while (candidate == 0) {
            if (getrandom(&candidate, sizeof candidate, 0) != sizeof candidate) {
                candidate = 0;
            }
        }
        status = bind_name(held, ethertype, candidate);
        if (status == 0) {
            *number = candidate;
            *holder = held;
            return 0;
        }
    }
    close(held);
    return status;
}
