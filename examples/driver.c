/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver of one's own, Unix datagrams between two processes of one host:
 *      beowire compare --drivers shm,pipe --driver examples/driver.c
 *
 * What each function owes, and what its parameters are, is in driver.h. */
/* clang-format off */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "driver.h"

static const struct driver_host *host; /* an engine has one session at a time */
static int fd;
static int probe(const struct driver_options *options, char *reason, size_t bytes) { return 0; }
static int open_end(const struct driver_options *options, void **session, char *error, size_t bytes)
{
    struct timeval wait = {.tv_usec = 100000}; /* after which we look whether to stop */
    host = options->host;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return bind(fd, &(struct sockaddr){AF_UNIX}, sizeof(sa_family_t)) == 0 ? 0 : -errno;
}
static int address(void *session, char *text, size_t bytes)
{
    struct sockaddr_un own = {0}; /* the kernel has found a name of five letters */
    getsockname(fd, (struct sockaddr *)&own, &(socklen_t){sizeof own});
    return snprintf(text, bytes, "%s", own.sun_path + 1) == 5 ? 0 : -EIO;
}
static int connect_end(void *session, const char *peer, char *error, size_t bytes)
{
    struct sockaddr_un there = {.sun_family = AF_UNIX};
    memcpy(there.sun_path + 1, peer, strnlen(peer, 5));
    return connect(fd, (struct sockaddr *)&there, sizeof(sa_family_t) + 6) == 0 ? 0 : -errno;
}
static int send_one(void *session, const void *data, uint64_t size)
{
    while (send(fd, data, size, MSG_NOSIGNAL) < 0)
        if (errno != EAGAIN || host->stopped(host->context))
            return errno == EAGAIN ? -ECANCELED : -errno;
    return 0;
}
static int receive_one(void *session, void *data, uint64_t size)
{
    while (recv(fd, data, size, 0) < 0)
        if (errno != EAGAIN || host->stopped(host->context))
            return errno == EAGAIN ? -ECANCELED : -errno;
    return 0;
}
static void close_end(void *session) { close(fd); }

static const struct driver MINE = {.abi = DRIVER_ABI, .name = "my-datagrams",
    .summary = "Unix datagrams: an example", .placement = DRIVER_HOST, .reliable = true,
    .min_size = 1, .max_size = 65536, .probe = probe, .open = open_end, .address = address,
    .connect = connect_end, .send = send_one, .receive = receive_one, .close = close_end};
static const struct driver *const TABLE[] = {&MINE, NULL};
const struct driver *const *beowire_driver_table(void) { return TABLE; }
