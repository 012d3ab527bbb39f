/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp.c - two drivers over TCP with TCP_NODELAY, which differ in how they wait:
 *
 *   tcp       blocks in recv() and send(), as an application does: the kernel wakes it up
 *   tcp-spin  polls with MSG_DONTWAIT, as the TCP modules of MPI libraries do: no wake-up
 *
 * The responder listens on a port of the kernel's choice and accepts one connection, from the end
 * that knows the random key in its address; a stranger's connection is closed.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "local.h"
#include "post.h"
#include "spin.h"
#include "text.h"

/* How long a blocking call may wait before the host is asked whether to stop. */
#define WAIT_MS 100

/* How long a connection may take to show the key. */
#define KEY_WAIT_MS 1000

struct tcp {
    const struct driver_host *host;
    enum driver_role role;
    int listener; /* the responder's until it is connected, else -1 */
    int fd;       /* the connection, or -1 */
    uint64_t key; /* what the initiator has to show */
    struct sockaddr_storage here;
    struct post_queue sends;
    struct post_queue receives;
};

static bool stopped(const struct tcp *tcp)
{
    return tcp->host->stopped(tcp->host->context);
}

static int tcp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct sockaddr_storage address;
    return local_address(options, &address, reason, reason_bytes);
}

static void tcp_close(void *session)
{
    struct tcp *tcp = session;
    if (tcp->listener >= 0) {
        close(tcp->listener);
    }
    if (tcp->fd >= 0) {
        close(tcp->fd);
    }
    free(tcp);
}

static int start_listening(struct tcp *tcp, char *error, size_t error_bytes)
{
    socklen_t length = local_address_bytes(&tcp->here);
    tcp->listener = socket(tcp->here.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (tcp->listener < 0 || bind(tcp->listener, (struct sockaddr *)&tcp->here, length) != 0 ||
        listen(tcp->listener, 8) != 0) {
        return fail(error, error_bytes, "cannot listen at this node's address");
    }
    length = sizeof tcp->here;
    if (getsockname(tcp->listener, (struct sockaddr *)&tcp->here, &length) != 0) {
        return fail(error, error_bytes, "cannot read the port");
    }
    return 0;
}

static int tcp_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    struct tcp *tcp = malloc(sizeof *tcp);
    if (tcp == NULL) {
        return -ENOMEM;
    }
    *tcp = (struct tcp){.host = options->host, .role = options->role, .listener = -1, .fd = -1};
    int result = local_address(options, &tcp->here, error, error_bytes);
    if (result == 0 && getrandom(&tcp->key, sizeof tcp->key, 0) != (ssize_t)sizeof tcp->key) {
        result = fail(error, error_bytes, "no random numbers");
    }
    if (result == 0 && tcp->role == DRIVER_RESPONDER) {
        result = start_listening(tcp, error, error_bytes);
    }
    if (result != 0) {
        tcp_close(tcp);
        return result;
    }
    *session = tcp;
    return 0;
}

/* The responder: "KEY@IP:PORT"; the initiator is not connected to, and says only what it is. */
static int tcp_address(void *session, char *text, size_t text_bytes)
{
    const struct tcp *tcp = session;
    char where[LOCAL_TEXT_BYTES] = "initiator";
    int error = tcp->role == DRIVER_RESPONDER ? local_write(&tcp->here, where, sizeof where) : 0;
    if (error != 0) {
        return error;
    }
    int length = snprintf(text, text_bytes, "%016" PRIx64 "@%s", tcp->key, where);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

/* Waits until the descriptor is ready, at most `limit_ms` (-1: as long as the host allows). */
static int wait_for(const struct tcp *tcp, int fd, short events, int limit_ms)
{
    struct pollfd poller = {.fd = fd, .events = events};
    for (int waited_ms = 0; limit_ms < 0 || waited_ms < limit_ms; waited_ms += WAIT_MS) {
        int ready = poll(&poller, 1, WAIT_MS);
        if (ready > 0) {
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return -errno;
        }
        if (stopped(tcp)) {
            return -ECANCELED;
        }
    }
    return -ETIMEDOUT;
}

static int connect_out(struct tcp *tcp, const char *peer, char *error, size_t error_bytes)
{
    const char *where = peer;
    struct sockaddr_storage there;
    uint64_t key;
    if (!text_number(&where, 16, '@', UINT64_MAX, &key)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    int result = local_read(where, &tcp->here, &there, error, error_bytes);
    if (result != 0) {
        return result;
    }
    tcp->fd = socket(there.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (tcp->fd < 0 ||
        bind(tcp->fd, (struct sockaddr *)&tcp->here, local_address_bytes(&tcp->here)) != 0) {
        return fail(error, error_bytes, "cannot use this node's address");
    }
    if (connect(tcp->fd, (struct sockaddr *)&there, local_address_bytes(&there)) != 0) {
        if (errno != EINPROGRESS) {
            return fail(error, error_bytes, "cannot connect to the other end");
        }
        result = wait_for(tcp, tcp->fd, POLLOUT, -1);
        socklen_t length = sizeof(int);
        int pending = 0;
        if (result == 0 && getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &pending, &length) == 0 &&
            pending != 0) {
            errno = pending;
            return fail(error, error_bytes, "cannot connect to the other end");
        }
    }
    if (result == 0 && send(tcp->fd, &key, sizeof key, MSG_NOSIGNAL) != (ssize_t)sizeof key) {
        return fail(error, error_bytes, "the other end hung up");
    }
    return result;
}

/* Does the connection show our key? Bounded: a stranger who says nothing is given up. */
static bool shows_key(const struct tcp *tcp, int fd)
{
    uint64_t key = 0;
    size_t got = 0;
    while (got < sizeof key && wait_for(tcp, fd, POLLIN, KEY_WAIT_MS) == 0) {
        ssize_t count = recv(fd, (char *)&key + got, sizeof key - got, MSG_DONTWAIT);
        if (count <= 0) {
            return false;
        }
        got += (size_t)count;
    }
    return got == sizeof key && key == tcp->key;
}

static int connect_in(struct tcp *tcp, char *error, size_t error_bytes)
{
    while (tcp->fd < 0) {
        int result = wait_for(tcp, tcp->listener, POLLIN, -1);
        if (result != 0) {
            return result;
        }
        int fd = accept4(tcp->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 && shows_key(tcp, fd)) {
            tcp->fd = fd;
        } else if (fd >= 0) {
            close(fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            return fail(error, error_bytes, "cannot accept the connection");
        }
    }
    close(tcp->listener);
    tcp->listener = -1;
    return 0;
}

static int tcp_connect_in_mode(struct tcp *tcp, const char *peer, bool blocking, char *error,
                               size_t error_bytes)
{
    int result = tcp->role == DRIVER_RESPONDER ? connect_in(tcp, error, error_bytes)
                                               : connect_out(tcp, peer, error, error_bytes);
    if (result != 0) {
        return result;
    }
    const int on = 1;
    const int off = 0;
    const struct timeval wait = {.tv_sec = 0, .tv_usec = WAIT_MS * 1000L};
    if (setsockopt(tcp->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        setsockopt(tcp->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(tcp->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        (blocking && ioctl(tcp->fd, FIONBIO, &off) != 0)) {
        return fail(error, error_bytes, "cannot set up the connection");
    }
    return 0;
}

static int tcp_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    return tcp_connect_in_mode(session, peer, true, error, error_bytes);
}

static int tcp_spin_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    return tcp_connect_in_mode(session, peer, false, error, error_bytes);
}

/* What a failed send() or recv() means: 0 is "try again". */
static int trouble(void)
{
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int tcp_send(void *session, const void *data, uint64_t size)
{
    const struct tcp *tcp = session;
    const char *at = data;
    while (size > 0) {
        ssize_t count = send(tcp->fd, at, size, MSG_NOSIGNAL);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = trouble();
        if (error != 0) {
            return error;
        }
        if (stopped(tcp)) {
            return -ECANCELED;
        }
    }
    return 0;
}

static int tcp_receive(void *session, void *data, uint64_t size)
{
    const struct tcp *tcp = session;
    char *at = data;
    while (size > 0) {
        ssize_t count = recv(tcp->fd, at, size, 0);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : trouble();
        if (error != 0) {
            return error;
        }
        if (stopped(tcp)) {
            return -ECANCELED;
        }
    }
    return 0;
}

static int tcp_spin_send(void *session, const void *data, uint64_t size)
{
    const struct tcp *tcp = session;
    const char *at = data;
    struct spin spin = spin_start(tcp->host, SPIN_FOREVER);
    while (size > 0) {
        ssize_t count = send(tcp->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = trouble();
        error = error != 0 ? error : spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int tcp_spin_receive(void *session, void *data, uint64_t size)
{
    const struct tcp *tcp = session;
    char *at = data;
    struct spin spin = spin_start(tcp->host, SPIN_FOREVER);
    while (size > 0) {
        ssize_t count = recv(tcp->fd, at, size, MSG_DONTWAIT);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : trouble();
        error = error != 0 ? error : spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int64_t move_out(void *session, const struct post *post)
{
    const struct tcp *tcp = session;
    ssize_t count = send(tcp->fd, post->at.out, post->left, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count >= 0 ? count : trouble();
}

static int64_t move_in(void *session, const struct post *post)
{
    const struct tcp *tcp = session;
    ssize_t count = recv(tcp->fd, post->at.in, post->left, MSG_DONTWAIT);
    return count > 0 ? count : count == 0 ? -ECONNRESET : trouble();
}

static int tcp_post_send(void *session, const void *data, uint64_t size)
{
    struct tcp *tcp = session;
    return post_out(&tcp->sends, data, size, move_out, tcp);
}

static int tcp_post_receive(void *session, void *data, uint64_t size)
{
    struct tcp *tcp = session;
    return post_in(&tcp->receives, data, size);
}

/* What can move, moves. 0, or an error. */
static int move_both(struct tcp *tcp, struct driver_ended *ended)
{
    int64_t sent = post_push(&tcp->sends, move_out, tcp);
    int64_t received = sent < 0 ? sent : post_push(&tcp->receives, move_in, tcp);
    ended->sends += post_ended(&tcp->sends);
    ended->receives += post_ended(&tcp->receives);
    return received < 0 ? (int)received : 0;
}

static int tcp_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct tcp *tcp = session;
    const uint64_t before = ended->sends + ended->receives;
    int error = move_both(tcp, ended);
    while (error == 0 && wait && ended->sends + ended->receives == before) {
        const bool sends = tcp->sends.moving != tcp->sends.end;
        const bool receives = tcp->receives.moving != tcp->receives.end;
        error =
            wait_for(tcp, tcp->fd, (short)((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)), -1);
        error = error != 0 ? error : move_both(tcp, ended);
    }
    return error;
}

static int tcp_spin_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct tcp *tcp = session;
    const uint64_t before = ended->sends + ended->receives;
    struct spin spin = spin_start(tcp->host, SPIN_FOREVER);
    int error = move_both(tcp, ended);
    while (error == 0 && wait && ended->sends + ended->receives == before) {
        error = spin_turn(&spin);
        error = error != 0 ? error : move_both(tcp, ended);
    }
    return error;
}

static const struct driver TCP = {
    .abi = DRIVER_ABI,
    .name = "tcp",
    .summary = "TCP sockets, blocking, as an application uses them",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = false,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = tcp_probe,
    .open = tcp_open,
    .address = tcp_address,
    .connect = tcp_connect,
    .send = tcp_send,
    .receive = tcp_receive,
    .close = tcp_close,
    .post_send = tcp_post_send,
    .post_receive = tcp_post_receive,
    .progress = tcp_progress,
};

static const struct driver TCP_SPIN = {
    .abi = DRIVER_ABI,
    .name = "tcp-spin",
    .summary = "TCP sockets, polled without pause, as MPI libraries use them",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = tcp_probe,
    .open = tcp_open,
    .address = tcp_address,
    .connect = tcp_spin_connect,
    .send = tcp_spin_send,
    .receive = tcp_spin_receive,
    .close = tcp_close,
    .post_send = tcp_post_send,
    .post_receive = tcp_post_receive,
    .progress = tcp_spin_progress,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&TCP, &TCP_SPIN, NULL};
    return TABLE;
}
