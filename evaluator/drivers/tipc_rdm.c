/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc_rdm.c - one connectionless TIPC message (SOCK_RDM) a message, blocking. TIPC repeats what a
 * link loses, but drops what finds a receiver's buffer full, so a message may be lost.
 *
 * The two ends tell each other the addresses of their sockets, which the kernel has chosen. To
 * connect, each sends a greeting every few milliseconds until it hears the other's, and then some
 * more, for the other's sake: links between nodes may not be up yet. What comes from elsewhere is
 * no message.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/tipc.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "driver.h"
#include "fail.h"
#include "local.h"
#include "text.h"
#include "tipc_socket.h"

/* How long a blocking call may wait before the host is asked whether to stop. */
#define WAIT_MS 100

#define GREETING_INTERVAL_MS 5
#define GREETING_REPEATS 8

/* What is no message, between two questions to the host. */
#define STRAYS_A_QUESTION 64

/* Unlikely content of an unlikely length, so that a late greeting is no message. */
static const char GREETING[] = "beowire tipc driver: greeting";

struct tipc_rdm {
    const struct driver_host *host;
    int fd;
    uint64_t waits; /* that make up the loss timeout */
    struct sockaddr_tipc there;
};

static bool stopped(const struct tipc_rdm *rdm)
{
    return rdm->host->stopped(rdm->host->context);
}

static void rdm_close(void *session)
{
    struct tipc_rdm *rdm = session;
    if (rdm->fd >= 0) {
        close(rdm->fd);
    }
    free(rdm);
}

/* The loss timeout as a number of waits, each short enough to ask the host in between. */
static struct timeval set_waits(struct tipc_rdm *rdm, uint64_t loss_timeout_ns)
{
    const uint64_t longest_us = UINT64_C(1000) * WAIT_MS;
    uint64_t timeout_us = (loss_timeout_ns + 999) / 1000;
    rdm->waits = (timeout_us + longest_us - 1) / longest_us;
    rdm->waits = rdm->waits == 0 ? 1 : rdm->waits;
    uint64_t wait_us = timeout_us / rdm->waits;
    wait_us = wait_us == 0 ? 1 : wait_us;
    return (struct timeval){.tv_sec = 0, .tv_usec = (suseconds_t)wait_us};
}

/* What a receiver has no room for is dropped, and does not come back to its sender. */
static int set_up(const struct tipc_rdm *rdm, struct timeval receive_wait, char *error,
                  size_t error_bytes)
{
    const int droppable = 1;
    const struct timeval send_wait = {.tv_sec = 0, .tv_usec = WAIT_MS * 1000L};
    bool done =
        setsockopt(rdm->fd, SOL_SOCKET, SO_RCVTIMEO, &receive_wait, sizeof receive_wait) == 0 &&
        setsockopt(rdm->fd, SOL_SOCKET, SO_SNDTIMEO, &send_wait, sizeof send_wait) == 0 &&
        setsockopt(rdm->fd, SOL_TIPC, TIPC_DEST_DROPPABLE, &droppable, sizeof droppable) == 0;
    return done ? 0 : fail(error, error_bytes, "cannot set up a TIPC socket");
}

static int rdm_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    char interface[IF_NAMESIZE];
    int result = local_interface(options, interface, error, error_bytes);
    if (result != 0) {
        return result;
    }
    struct tipc_rdm *rdm = malloc(sizeof *rdm);
    if (rdm == NULL) {
        return -ENOMEM;
    }
    *rdm = (struct tipc_rdm){.host = options->host, .fd = -1};
    const struct timeval receive_wait = set_waits(rdm, options->loss_timeout_ns);
    rdm->fd = tipc_socket(SOCK_RDM, 0, error, error_bytes);
    result = rdm->fd < 0 ? rdm->fd : set_up(rdm, receive_wait, error, error_bytes);
    if (result != 0) {
        rdm_close(rdm);
        return result;
    }
    *session = rdm;
    return 0;
}

/* "PORT@NODE" */
static int rdm_address(void *session, char *text, size_t text_bytes)
{
    const struct tipc_rdm *rdm = session;
    struct sockaddr_tipc here = {.family = 0};
    socklen_t length = sizeof here;
    if (getsockname(rdm->fd, (struct sockaddr *)&here, &length) != 0) {
        return -errno;
    }
    int written =
        snprintf(text, text_bytes, "%08" PRIx32 "@%08" PRIx32, here.addr.id.ref, here.addr.id.node);
    return written > 0 && (size_t)written < text_bytes ? 0 : -ENOSPC;
}

/* Receives what is there, or comes within the socket's time. Returns its length, or -1 with errno;
 * 0: it is nobody's business here. */
static ssize_t take(const struct tipc_rdm *rdm, void *data, size_t size, int flags)
{
    struct sockaddr_tipc from = {.family = 0};
    struct iovec place = {.iov_base = data, .iov_len = size};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &place, .msg_iovlen = 1};
    ssize_t length = recvmsg(rdm->fd, &message, flags);
    bool ours = from.addr.id.ref == rdm->there.addr.id.ref &&
                from.addr.id.node == rdm->there.addr.id.node &&
                (message.msg_flags & MSG_TRUNC) == 0;
    return length < 0 || ours ? length : 0;
}

/* Throws away all that has come. True when a greeting was among it. */
static bool drain(const struct tipc_rdm *rdm)
{
    char message[sizeof GREETING];
    bool greeted = false;
    ssize_t length;
    while ((length = take(rdm, message, sizeof message, MSG_DONTWAIT)) >= 0) {
        greeted = greeted || (length == (ssize_t)sizeof GREETING &&
                              memcmp(message, GREETING, sizeof GREETING) == 0);
    }
    return greeted;
}

static ssize_t put(const struct tipc_rdm *rdm, const void *data, size_t size)
{
    return sendto(rdm->fd, data, size, MSG_NOSIGNAL, (const struct sockaddr *)&rdm->there,
                  sizeof rdm->there);
}

static int rdm_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct tipc_rdm *rdm = session;
    const char *text = peer;
    uint64_t port;
    uint64_t node;
    if (!text_number(&text, 16, '@', UINT32_MAX, &port) ||
        !text_number(&text, 16, '\0', UINT32_MAX, &node)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    rdm->there = (struct sockaddr_tipc){.family = AF_TIPC, .addrtype = TIPC_SOCKET_ADDR};
    rdm->there.addr.id.ref = (uint32_t)port;
    rdm->there.addr.id.node = (uint32_t)node;
    struct pollfd poller = {.fd = rdm->fd, .events = POLLIN};
    while (!drain(rdm)) {
        (void)put(rdm, GREETING, sizeof GREETING); /* there may be no link yet */
        (void)poll(&poller, 1, GREETING_INTERVAL_MS);
        if (stopped(rdm)) {
            (void)snprintf(error, error_bytes,
                           "no message of the other node arrives: see `tipc link list`, and `tipc"
                           " bearer enable media eth device NAME` on both");
            return -ECANCELED;
        }
    }
    for (int repeat = 0; repeat < GREETING_REPEATS; repeat++) {
        (void)put(rdm, GREETING, sizeof GREETING);
    }
    return 0;
}

static int rdm_prepare(void *session, uint64_t size)
{
    const struct tipc_rdm *rdm = session;
    if (size > TIPC_MAX_USER_MSG_SIZE) {
        return -EMSGSIZE;
    }
    (void)drain(rdm);
    return 0;
}

static int rdm_send(void *session, const void *data, uint64_t size)
{
    const struct tipc_rdm *rdm = session;
    while (put(rdm, data, size) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        if (stopped(rdm)) {
            return -ECANCELED;
        }
    }
    return 0;
}

static bool is_message(const void *data, ssize_t length, uint64_t size)
{
    return (uint64_t)length == size &&
           (size != sizeof GREETING || memcmp(data, GREETING, sizeof GREETING) != 0);
}

static int rdm_receive(void *session, void *data, uint64_t size)
{
    const struct tipc_rdm *rdm = session;
    uint64_t waits = 0;
    uint64_t strays = 0;
    for (;;) {
        ssize_t length = take(rdm, data, size, 0);
        if (length > 0 && is_message(data, length, size)) {
            return 0;
        }
        if (length < 0 && errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        /* Behind a late greeting there may be messages: they come first. */
        if (length >= 0 && ++strays % STRAYS_A_QUESTION != 0) {
            continue;
        }
        bool waited = length < 0 && errno == EAGAIN;
        if (stopped(rdm)) {
            return -ECANCELED;
        }
        if (waited && ++waits >= rdm->waits) {
            return -ETIMEDOUT;
        }
    }
}

const struct driver TIPC_RDM = {
    .abi = DRIVER_ABI,
    .name = "tipc-rdm",
    .summary = "TIPC messages without a connection, blocking; a full receiver loses them",
    .placement = DRIVER_PAIR,
    .reliable = false,
    .min_size = 1,
    .max_size = TIPC_MAX_USER_MSG_SIZE,
    .probe = tipc_probe,
    .open = rdm_open,
    .address = rdm_address,
    .connect = rdm_connect,
    .prepare = rdm_prepare,
    .send = rdm_send,
    .receive = rdm_receive,
    .close = rdm_close,
};
