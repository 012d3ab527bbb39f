/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.h - one connection between two ends over a stream socket of the Internet protocols:
 * what drivers over TCP, MPTCP and SCTP share.
 *
 * The responder listens on a port of the kernel's choice and accepts one connection, from the end
 * that knows the random key in its address; a stranger's connection is closed. What is sent is a
 * stream of bytes: a message is so many of them.
 *
 * One thread. All functions return 0 or a negative errno value; -ECANCELED: the host asked to stop.
 */
#ifndef BEOWIRE_DRIVERS_CONNECTION_H
#define BEOWIRE_DRIVERS_CONNECTION_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "driver.h"
#include "post.h"

/** How long a blocking call may wait before the host is asked whether to stop. */
#define CONNECTION_WAIT_MS 100

/** What makes one protocol, or one way to use it, different from the others. */
struct connection_kind {
    int protocol; /**< IPPROTO_TCP, ... */
    bool spins;   /**< the socket never blocks, once it is connected */

    /** Sets options of a socket that is about to listen or to connect; NULL: there are none. */
    int (*before)(int fd, const struct driver_options *options, char *error, size_t error_bytes);

    /** The same of the connection. */
    int (*after)(int fd, char *error, size_t error_bytes);
};

/** A driver's session, or its beginning. */
struct connection {
    const struct connection_kind *kind;
    const struct driver_host *host;
    enum driver_role role;
    int listener; /**< the responder's until it is connected, else -1 */
    int waiting;  /**< the initiator's socket until it is connected, else -1 */
    int fd;       /**< the connection, or -1 */
    uint64_t key; /**< what the initiator has to show */
    struct sockaddr_storage here;
    struct post_queue sends; /**< what was posted */
    struct post_queue receives;
};

/** Can sockets of this kind be used here? Leaves nothing open. `missing` is said when the kernel
 *  does not know the protocol. */
int connection_probe(const struct connection_kind *kind, const struct driver_options *options,
                     const char *missing, char *reason, size_t reason_bytes);

/** driver.open: makes this end ready. The session has `bytes`, begins with a struct connection, and
 *  is otherwise zero. */
int connection_open(const struct connection_kind *kind, size_t bytes,
                    const struct driver_options *options, void **session, char *error,
                    size_t error_bytes);

/** The other functions of a driver, as they are. */
int connection_address(void *session, char *text, size_t text_bytes);
int connection_connect(void *session, const char *peer, char *error, size_t error_bytes);
void connection_close(void *session);

/** Those that move messages, blocking ... */
int connection_send(void *session, const void *data, uint64_t size);
int connection_receive(void *session, void *data, uint64_t size);

/** ... and polling without pause. */
int connection_spin_send(void *session, const void *data, uint64_t size);
int connection_spin_receive(void *session, void *data, uint64_t size);

/** What is posted, and goes on meanwhile; progress that waits blocks, or polls without pause. */
int connection_post_send(void *session, const void *data, uint64_t size);
int connection_post_receive(void *session, void *data, uint64_t size);
int connection_progress(void *session, bool wait, struct driver_ended *ended);
int connection_spin_progress(void *session, bool wait, struct driver_ended *ended);

/** Waits until the descriptor is ready, at most `limit_ms` (-1: as long as the host allows).
 *  -ETIMEDOUT: it is not. */
int connection_wait_for(const struct connection *connection, int fd, short events, int limit_ms);

/** What a failed send() or recv() means: 0 is "try again". */
static inline int connection_trouble(void)
{
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/** For protocols with addresses of another kind, the parts of connection_connect(): the initiator
 *  goes to `there` over its `waiting` socket and shows the key, the responder lets in who does, and
 *  both set up what has come of it. */
int connection_reach(struct connection *connection, const struct sockaddr *there, socklen_t length,
                     uint64_t key, char *error, size_t error_bytes);
int connection_accept(struct connection *connection, char *error, size_t error_bytes);
int connection_set_up(struct connection *connection, char *error, size_t error_bytes);

/** Has the host asked to stop? */
bool connection_stopped(const struct connection *connection);

/** For a kind whose only option is TCP_NODELAY: what is sent goes at once. */
int connection_no_delay(int fd, char *error, size_t error_bytes);

/** For `before`: gives both buffers exactly `options->socket_buffer_bytes`, or says that the system
 *  does not allow it. */
int connection_fixed_buffers(int fd, const struct driver_options *options, char *error,
                             size_t error_bytes);

#endif
