/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* An abstract address begins with a zero byte and has no terminator; its length is explicit. */
static socklen_t abstract_address(const char *name, struct sockaddr_un *address)
{
    size_t length = strnlen(name, LINK_NAME_BYTES - 1);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Closes the descriptor, and returns the error. */
static int refuse(int descriptor, int error)
{
    (void)close(descriptor);
    return -error;
}

/* Returns `descriptor` if its other end belongs to the same user. */
static int same_user(int descriptor, pid_t *peer)
{
    struct ucred who;
    socklen_t bytes = sizeof who;

    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
        return refuse(descriptor, errno);
    }
    if (who.uid != geteuid()) {
        return refuse(descriptor, EPERM);
    }
    *peer = who.pid;
    return descriptor;
}

int link_listen(char name[LINK_NAME_BYTES])
{
    uint64_t random[2];
    struct sockaddr_un address;

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return -EIO;
    }
    (void)snprintf(name, LINK_NAME_BYTES, "beowire-engine-%016" PRIx64 "%016" PRIx64, random[0],
                   random[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return -errno;
    }
    socklen_t bytes = abstract_address(name, &address);
    if (bind(listener, (const struct sockaddr *)&address, bytes) != 0 || listen(listener, 1) != 0) {
        return refuse(listener, errno);
    }
    return listener;
}

int link_accept(int listener, pid_t *peer)
{
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    return descriptor < 0 ? -errno : same_user(descriptor, peer);
}

int link_connect(const char *name)
{
    struct sockaddr_un address;
    pid_t peer;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0) {
        return -errno;
    }
    socklen_t bytes = abstract_address(name, &address);
    if (connect(descriptor, (const struct sockaddr *)&address, bytes) != 0) {
        return refuse(descriptor, errno);
    }
    return same_user(descriptor, &peer);
}
