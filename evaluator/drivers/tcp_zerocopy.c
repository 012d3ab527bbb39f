/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_zerocopy.c - TCP that sends with MSG_ZEROCOPY (Linux' networking/msg_zerocopy.rst): the
 * kernel sends from the application's pages, and reports on the socket's error queue when they may
 * be reused.
 *
 * send() waits for that report. In a stream, whose contents do not change, as many messages as
 * possible are under way. If both ends are on one host (loopback, a lab), the kernel copies anyway
 * and reports so: then pinning pages costs time and gains nothing.
 */
#include <time.h> /* linux/errqueue.h does not include it */

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"

/* The most calls of a stream under way: each uses some of net.core.optmem_max. */
#define CALLS_MAX 64

/* For the error messages of SOL_IP and SOL_IPV6. */
#define CONTROL_BYTES 128

struct zerocopy {
    struct connection connection; /* first; opened by connection.c */
    uint32_t calls;               /* of send(), which the kernel numbers from 0 */
    uint32_t ended;               /* calls whose pages may be reused */
};

static int enable(int fd, const struct driver_options *options, char *error, size_t error_bytes)
{
    const int on = 1;
    (void)options;
    return setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0
               ? 0
               : fail(error, error_bytes, "cannot send without a copy (SO_ZEROCOPY, Linux 4.14)");
}

static const struct connection_kind KIND = {
    .protocol = IPPROTO_TCP,
    .before = enable,
    .after = connection_no_delay,
};

static int zerocopy_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return connection_probe(&KIND, options, "this kernel has no TCP", reason, reason_bytes);
}

static int zerocopy_open(const struct driver_options *options, void **session, char *error,
                         size_t error_bytes)
{
    return connection_open(&KIND, sizeof(struct zerocopy), options, session, error, error_bytes);
}

/* Takes the kernel's reports. @return the number of calls that have completed, or a failure. */
static int collect(struct zerocopy *zerocopy)
{
    const uint32_t before = zerocopy->ended;
    for (;;) {
        char control[CONTROL_BYTES];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(zerocopy->connection.fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return errno == EAGAIN || errno == EINTR ? (int)(zerocopy->ended - before) : -errno;
        }
        for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != NULL;
             one = CMSG_NXTHDR(&message, one)) {
            struct sock_extended_err said;
            memcpy(&said, CMSG_DATA(one), sizeof said);
            if (said.ee_origin != SO_EE_ORIGIN_ZEROCOPY || said.ee_errno != 0) {
                return -(int)(said.ee_errno == 0 ? EPROTO : said.ee_errno);
            }
            zerocopy->ended += said.ee_data - said.ee_info + 1;
        }
    }
}

/* Waits until one more call has completed. */
static int wait_for_end(struct zerocopy *zerocopy)
{
    for (;;) {
        /* poll() always reports the error queue, even if no events are requested. */
        struct pollfd poller = {.fd = zerocopy->connection.fd, .events = 0};
        int ended = collect(zerocopy);
        if (ended != 0) {
            return ended < 0 ? ended : 0;
        }
        int ready = poll(&poller, 1, CONNECTION_WAIT_MS);
        if (ready < 0 && errno != EINTR) {
            return -errno;
        }
        if (ready > 0 && (poller.revents & POLLHUP) != 0 && collect(zerocopy) <= 0) {
            return -ECONNRESET;
        }
        if (ready <= 0 && connection_stopped(&zerocopy->connection)) {
            return -ECANCELED;
        }
    }
}

/* Sends a message, and returns when at most `allowed` calls are under way. */
static int send_within(struct zerocopy *zerocopy, const void *data, uint64_t size, uint32_t allowed)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count =
            send(zerocopy->connection.fd, at, (size_t)size, MSG_NOSIGNAL | MSG_ZEROCOPY);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            zerocopy->calls++;
            continue;
        }
        int error = 0;
        if (errno == ENOBUFS && zerocopy->calls != zerocopy->ended) {
            error = wait_for_end(zerocopy); /* the limit of calls under way */
        } else if (errno != EAGAIN && errno != EINTR) {
            error = -errno;
        } else if (connection_stopped(&zerocopy->connection)) {
            error = -ECANCELED;
        }
        if (error != 0) {
            return error;
        }
    }
    while (zerocopy->calls - zerocopy->ended > allowed) {
        int error = wait_for_end(zerocopy);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int zerocopy_send(void *session, const void *data, uint64_t size)
{
    return send_within(session, data, size, 0);
}

static int zerocopy_stream_send(void *session, const void *data, uint64_t size, uint64_t more)
{
    return send_within(session, data, size, more == 0 ? 0 : CALLS_MAX);
}

static int zerocopy_stream_receive(void *session, void *data, uint64_t size, uint64_t more)
{
    (void)more;
    return connection_receive(session, data, size);
}

static const struct driver TCP_ZEROCOPY = {
    CONNECTION_DRIVER,
    .name = "tcp-zerocopy",
    .summary = "TCP sockets that send with MSG_ZEROCOPY, blocking (within a host it is copied)",
    .probe = zerocopy_probe,
    .open = zerocopy_open,
    .send = zerocopy_send,
    .receive = connection_receive,
    .stream_send = zerocopy_stream_send,
    .stream_receive = zerocopy_stream_receive,
    .close = connection_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&TCP_ZEROCOPY, NULL};
    return TABLE;
}
