/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unix.c - drivers between two processes of one host over Unix sockets, blocking:
 *
 *   unix-stream    a stream socket
 *   unix-datagram  a pair of datagram sockets, a datagram a message: the kernel loses none, and
 *                  keeps their order
 *
 * The ends connect through unix_meeting.h. The stream is that connection. A datagram socket pair is
 * created by the responder, which passes one socket to the other end.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "unix_meeting.h"

/* A send buffer must hold at least one datagram: this is below every system's default
 * (net.core.wmem_default). */
#define DATAGRAM_BYTES_MAX (UINT64_C(128) << 10)

struct session {
    struct unix_meeting meeting;
    int fd; /* for messages: a datagram socket, or the meeting's; or -1 */
};

static int unix_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fail(reason, reason_bytes, "cannot make a Unix socket");
    }
    close(fd);
    return 0;
}

static int unix_open(const struct driver_options *options, void **opened, char *error,
                     size_t error_bytes)
{
    struct session *session = malloc(sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    session->fd = -1;
    int result = unix_meeting_open(&session->meeting, options, error, error_bytes);
    if (result != 0) {
        free(session);
        return result;
    }
    *opened = session;
    return 0;
}

static int unix_address(void *opened, char *text, size_t text_bytes)
{
    const struct session *session = opened;
    return unix_meeting_address(&session->meeting, text, text_bytes);
}

static int stream_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    int result = unix_meeting_connect(&session->meeting, peer, error, error_bytes);
    session->fd = session->meeting.fd;
    return result;
}

/* The responder creates the pair, and keeps one. */
static int make_pair(struct session *session, char *error, size_t error_bytes)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return fail(error, error_bytes, "cannot make a pair of sockets");
    }
    session->fd = pair[0];
    int result = unix_meeting_give(&session->meeting, &pair[1], 1, error, error_bytes);
    close(pair[1]);
    return result;
}

static int datagram_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    const struct timeval wait = {.tv_sec = 0, .tv_usec = UNIX_MEETING_WAIT_MS * 1000L};
    int result = unix_meeting_connect(&session->meeting, peer, error, error_bytes);
    if (result == 0) {
        result = session->meeting.role == DRIVER_RESPONDER
                     ? make_pair(session, error, error_bytes)
                     : unix_meeting_take(&session->meeting, &session->fd, 1, error, error_bytes);
    }
    if (result == 0 &&
        (setsockopt(session->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
         setsockopt(session->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0)) {
        result = fail(error, error_bytes, "cannot set up the connection");
    }
    return result;
}

/* The error of a failed send() or recv(); 0: try again. A stream reports that its other end is
 * gone, after all that was sent. A datagram socket does not, but the meeting's socket does. */
static int trouble(const struct session *session)
{
    if (errno != EAGAIN && errno != EINTR) {
        return -errno;
    }
    return unix_meeting_stopped(&session->meeting) ? -ECANCELED : 0;
}

static int stream_send(void *opened, const void *data, uint64_t size)
{
    const struct session *session = opened;
    const char *at = data;
    while (size > 0) {
        ssize_t count = send(session->fd, at, size, MSG_NOSIGNAL);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = trouble(session);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int stream_receive(void *opened, void *data, uint64_t size)
{
    const struct session *session = opened;
    char *at = data;
    while (size > 0) {
        ssize_t count = recv(session->fd, at, size, 0);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : trouble(session);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int datagram_send(void *opened, const void *data, uint64_t size)
{
    const struct session *session = opened;
    while (send(session->fd, data, size, MSG_NOSIGNAL) < 0) {
        int error = trouble(session);
        if (error != 0) {
            return error;
        }
        if (unix_meeting_left(&session->meeting)) {
            return -ECONNRESET;
        }
    }
    return 0;
}

/* When the other end is seen to be gone, everything it sent has arrived. */
static int datagram_receive(void *opened, void *data, uint64_t size)
{
    const struct session *session = opened;
    bool left = false;
    ssize_t length;
    while ((length = recv(session->fd, data, size, MSG_TRUNC | (left ? MSG_DONTWAIT : 0))) < 0) {
        int error = trouble(session);
        if (error != 0 || left) {
            return error != 0 ? error : -ECONNRESET;
        }
        left = unix_meeting_left(&session->meeting);
    }
    return (uint64_t)length == size ? 0 : -EPROTO;
}

static void unix_close(void *opened)
{
    struct session *session = opened;
    if (session->fd >= 0 && session->fd != session->meeting.fd) {
        close(session->fd);
    }
    unix_meeting_close(&session->meeting);
    free(session);
}

#define COMMON                                                                                     \
    .abi = DRIVER_ABI, .placement = DRIVER_HOST, .reliable = true, .min_size = 1,                  \
    .probe = unix_probe, .open = unix_open, .address = unix_address, .close = unix_close

static const struct driver STREAM = {
    COMMON,
    .name = "unix-stream",
    .summary = "a Unix stream socket between two processes of one host, blocking",
    .max_size = UINT64_C(1) << 30,
    .connect = stream_connect,
    .send = stream_send,
    .receive = stream_receive,
};

static const struct driver DATAGRAM = {
    COMMON,
    .name = "unix-datagram",
    .summary = "Unix datagram sockets between two processes of one host, blocking",
    .max_size = DATAGRAM_BYTES_MAX,
    .connect = datagram_connect,
    .send = datagram_send,
    .receive = datagram_receive,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&STREAM, &DATAGRAM, NULL};
    return TABLE;
}
