/* SPDX-License-Identifier: BSD-3-Clause */
#include "connection.h"

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

#include "fail.h"
#include "local.h"
#include "spin.h"
#include "text.h"

/* How long a new connection may take to send the key. */
#define KEY_WAIT_MS 1000

/* The most that one call sends over SCTP, which refuses more than its buffer can hold. */
#define SCTP_PIECE_BYTES (UINT64_C(64) << 10)

bool connection_stopped(const struct connection *connection)
{
    return connection->host->stopped(connection->host->context);
}

static int new_socket(const struct connection_kind *kind, int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, kind->protocol);
}

int connection_probe(const struct connection_kind *kind, const struct driver_options *options,
                     const char *missing, char *reason, size_t reason_bytes)
{
    struct sockaddr_storage address;
    int result = local_address(options, &address, reason, reason_bytes);
    if (result != 0) {
        return result;
    }
    int fd = new_socket(kind, address.ss_family);
    if (fd < 0) {
        result = -errno;
        if (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT || errno == ENOPROTOOPT) {
            (void)snprintf(reason, reason_bytes, "%s", missing);
        } else {
            result = fail(reason, reason_bytes, "cannot make a socket");
        }
        return result;
    }
    result = kind->before == NULL ? 0 : kind->before(fd, options, reason, reason_bytes);
    close(fd);
    return result;
}

void connection_close(void *session)
{
    struct connection *connection = session;
    const int all[] = {connection->listener, connection->waiting, connection->fd};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] >= 0) {
            close(all[i]);
        }
    }
    free(session);
}

/* A socket bound to this node's address. Options are set before the connection exists: an accepted
 * connection inherits the listener's. */
static int bound_socket(struct connection *connection, const struct driver_options *options,
                        int *fd, char *error, size_t error_bytes)
{
    *fd = new_socket(connection->kind, connection->here.ss_family);
    if (*fd < 0 || bind(*fd, (struct sockaddr *)&connection->here,
                        local_address_bytes(&connection->here)) != 0) {
        return fail(error, error_bytes, "cannot use this node's address");
    }
    return connection->kind->before == NULL
               ? 0
               : connection->kind->before(*fd, options, error, error_bytes);
}

static int start_listening(struct connection *connection, const struct driver_options *options,
                           char *error, size_t error_bytes)
{
    int result = bound_socket(connection, options, &connection->listener, error, error_bytes);
    if (result != 0) {
        return result;
    }
    if (listen(connection->listener, 8) != 0) {
        return fail(error, error_bytes, "cannot listen at this node's address");
    }
    socklen_t length = sizeof connection->here;
    if (getsockname(connection->listener, (struct sockaddr *)&connection->here, &length) != 0) {
        return fail(error, error_bytes, "cannot read the port");
    }
    return 0;
}

int connection_open(const struct connection_kind *kind, size_t bytes,
                    const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    struct connection *connection = calloc(1, bytes);
    if (connection == NULL) {
        return -ENOMEM;
    }
    *connection = (struct connection){.kind = kind,
                                      .host = options->host,
                                      .role = options->role,
                                      .listener = -1,
                                      .waiting = -1,
                                      .fd = -1};
    int result = local_address(options, &connection->here, error, error_bytes);
    if (result == 0 &&
        getrandom(&connection->key, sizeof connection->key, 0) != (ssize_t)sizeof connection->key) {
        result = fail(error, error_bytes, "no random numbers");
    }
    if (result == 0) {
        result = connection->role == DRIVER_RESPONDER
                     ? start_listening(connection, options, error, error_bytes)
                     : bound_socket(connection, options, &connection->waiting, error, error_bytes);
    }
    if (result != 0) {
        connection_close(connection);
        return result;
    }
    *session = connection;
    return 0;
}

/* The responder's is "KEY@IP:PORT". Nothing connects to the initiator, so its address only names
 * it. */
int connection_address(void *session, char *text, size_t text_bytes)
{
    const struct connection *connection = session;
    char where[LOCAL_TEXT_BYTES] = "initiator";
    int error = connection->role == DRIVER_RESPONDER
                    ? local_write(&connection->here, where, sizeof where)
                    : 0;
    if (error != 0) {
        return error;
    }
    int length = snprintf(text, text_bytes, "%016" PRIx64 "@%s", connection->key, where);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

int connection_wait_for(const struct connection *connection, int fd, short events, int limit_ms)
{
    struct pollfd poller = {.fd = fd, .events = events};
    for (int waited_ms = 0; limit_ms < 0 || waited_ms < limit_ms; waited_ms += CONNECTION_WAIT_MS) {
        int ready = poll(&poller, 1, CONNECTION_WAIT_MS);
        if (ready > 0) {
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return -errno;
        }
        if (connection_stopped(connection)) {
            return -ECANCELED;
        }
    }
    return -ETIMEDOUT;
}

/* Waits until the connection is established, or returns the error. */
static int finish_connecting(const struct connection *connection, char *error, size_t error_bytes)
{
    int result = connection_wait_for(connection, connection->fd, POLLOUT, -1);
    socklen_t length = sizeof(int);
    int pending = 0;
    if (result == 0 && getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &pending, &length) == 0 &&
        pending != 0) {
        errno = pending;
        return fail(error, error_bytes, "cannot connect to the other end");
    }
    return result;
}

int connection_reach(struct connection *connection, const struct sockaddr *there, socklen_t length,
                     uint64_t key, char *error, size_t error_bytes)
{
    int result = 0;
    connection->fd = connection->waiting;
    connection->waiting = -1;
    if (connect(connection->fd, there, length) != 0) {
        result = errno == EINPROGRESS ? finish_connecting(connection, error, error_bytes)
                                      : fail(error, error_bytes, "cannot connect to the other end");
    }
    if (result == 0 &&
        send(connection->fd, &key, sizeof key, MSG_NOSIGNAL) != (ssize_t)sizeof key) {
        return fail(error, error_bytes, "the other end hung up");
    }
    return result;
}

static int connect_out(struct connection *connection, const char *peer, char *error,
                       size_t error_bytes)
{
    const char *where = peer;
    struct sockaddr_storage there;
    uint64_t key;
    if (!text_number(&where, 16, '@', UINT64_MAX, &key)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    int result = local_read(where, &connection->here, &there, error, error_bytes);
    return result != 0 ? result
                       : connection_reach(connection, (struct sockaddr *)&there,
                                          local_address_bytes(&there), key, error, error_bytes);
}

/* Does the connection send our key? Closed after KEY_WAIT_MS without it. */
static bool shows_key(const struct connection *connection, int fd)
{
    uint64_t key = 0;
    size_t got = 0;
    while (got < sizeof key && connection_wait_for(connection, fd, POLLIN, KEY_WAIT_MS) == 0) {
        ssize_t count = recv(fd, (char *)&key + got, sizeof key - got, MSG_DONTWAIT);
        if (count <= 0) {
            return false;
        }
        got += (size_t)count;
    }
    return got == sizeof key && key == connection->key;
}

int connection_accept(struct connection *connection, char *error, size_t error_bytes)
{
    while (connection->fd < 0) {
        int result = connection_wait_for(connection, connection->listener, POLLIN, -1);
        if (result != 0) {
            return result;
        }
        int fd = accept4(connection->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 && shows_key(connection, fd)) {
            connection->fd = fd;
        } else if (fd >= 0) {
            close(fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            return fail(error, error_bytes, "cannot accept the connection");
        }
    }
    close(connection->listener);
    connection->listener = -1;
    return 0;
}

int connection_set_up(struct connection *connection, char *error, size_t error_bytes)
{
    const struct connection_kind *kind = connection->kind;
    const int off = 0;
    const struct timeval wait = {.tv_sec = 0, .tv_usec = CONNECTION_WAIT_MS * 1000L};
    if (setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(connection->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        (!kind->spins && ioctl(connection->fd, FIONBIO, &off) != 0)) {
        return fail(error, error_bytes, "cannot set up the connection");
    }
    return kind->after == NULL ? 0 : kind->after(connection->fd, error, error_bytes);
}

int connection_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct connection *connection = session;
    int result = connection->role == DRIVER_RESPONDER
                     ? connection_accept(connection, error, error_bytes)
                     : connect_out(connection, peer, error, error_bytes);
    return result == 0 ? connection_set_up(connection, error, error_bytes) : result;
}

static size_t piece(const struct connection *connection, uint64_t size)
{
    bool whole = connection->kind->protocol != IPPROTO_SCTP || size <= SCTP_PIECE_BYTES;
    return (size_t)(whole ? size : SCTP_PIECE_BYTES);
}

int connection_send(void *session, const void *data, uint64_t size)
{
    const struct connection *connection = session;
    const char *at = data;
    while (size > 0) {
        ssize_t count = send(connection->fd, at, piece(connection, size), MSG_NOSIGNAL);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = connection_trouble();
        if (error != 0) {
            return error;
        }
        if (connection_stopped(connection)) {
            return -ECANCELED;
        }
    }
    return 0;
}

int connection_receive(void *session, void *data, uint64_t size)
{
    const struct connection *connection = session;
    char *at = data;
    while (size > 0) {
        ssize_t count = recv(connection->fd, at, size, 0);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : connection_trouble();
        if (error != 0) {
            return error;
        }
        if (connection_stopped(connection)) {
            return -ECANCELED;
        }
    }
    return 0;
}

int connection_spin_send(void *session, const void *data, uint64_t size)
{
    const struct connection *connection = session;
    const char *at = data;
    struct spin spin = spin_start(connection->host, SPIN_FOREVER);
    while (size > 0) {
        ssize_t count =
            send(connection->fd, at, piece(connection, size), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = connection_trouble();
        error = error != 0 ? error : spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int connection_spin_receive(void *session, void *data, uint64_t size)
{
    const struct connection *connection = session;
    char *at = data;
    struct spin spin = spin_start(connection->host, SPIN_FOREVER);
    while (size > 0) {
        ssize_t count = recv(connection->fd, at, size, MSG_DONTWAIT);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : connection_trouble();
        error = error != 0 ? error : spin_turn(&spin);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int connection_no_delay(int fd, char *error, size_t error_bytes)
{
    const int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0
               ? 0
               : fail(error, error_bytes, "cannot set TCP_NODELAY");
}

/* Sets one of the two buffers. The kernel doubles the size, for its own use, and silently limits
 * it. */
static int fix_buffer(int fd, int forced, int plain, int bytes, const char *limit, char *error,
                      size_t error_bytes)
{
    int got = 0;
    socklen_t length = sizeof got;
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0 &&
        setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes) != 0) {
        return fail(error, error_bytes, "cannot set the socket's buffers");
    }
    if (getsockopt(fd, SOL_SOCKET, plain, &got, &length) != 0) {
        return fail(error, error_bytes, "cannot read the socket's buffers");
    }
    if (got / 2 != bytes) {
        (void)snprintf(error, error_bytes,
                       "cannot have a socket buffer of %d bytes here, only %d: ask for that with"
                       " --socket-buffer, or raise net.core.%s",
                       bytes, got / 2, limit);
        return -ENOBUFS;
    }
    return 0;
}

int connection_fixed_buffers(int fd, const struct driver_options *options, char *error,
                             size_t error_bytes)
{
    const int bytes = (int)options->socket_buffer_bytes;
    int result = fix_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes, "wmem_max", error, error_bytes);
    return result != 0
               ? result
               : fix_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes, "rmem_max", error, error_bytes);
}
