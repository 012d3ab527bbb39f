/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.h - one connection between two ends over a stream socket of TCP, MPTCP or SCTP, shared
 * by the drivers over these.
 *
 * The responder listens on a port chosen by the kernel, and accepts one connection, from the end
 * that knows the random key in its address; others are closed. Data is a stream of bytes, and the
 * size of each message is known.
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

/** How long a blocking call waits before it asks the host whether to stop. */
#define CONNECTION_WAIT_MS 100

/** What differs between protocols, or between ways to use one. */
struct connection_kind {
    int protocol; /**< IPPROTO_TCP, ... */
    bool spins;   /**< polls: the connected socket never blocks */

    /** Sets options before the socket listens or connects; may be NULL. */
    int (*before)(int fd, const struct driver_options *options, char *error, size_t error_bytes);

    /** Sets options of the connection; may be NULL. */
    int (*after)(int fd, char *error, size_t error_bytes);
};

/** A driver's session, or its first member. */
struct connection {
    const struct connection_kind *kind;
    const struct driver_host *host;
    enum driver_role role;
    int listener; /**< the responder's until it is connected, else -1 */
    int waiting;  /**< the initiator's socket until it is connected, else -1 */
    int fd;       /**< the connection, or -1 */
    uint64_t key; /**< the initiator must send it */
    struct sockaddr_storage here;
    struct post_queue sends; /**< posted messages */
    struct post_queue receives;
};

/** Can sockets of this kind be used here? Leaves nothing open. `missing` is the reason if the
 *  kernel lacks the protocol. */
int connection_probe(const struct connection_kind *kind, const struct driver_options *options,
                     const char *missing, char *reason, size_t reason_bytes);

/** driver.open: opens this end. The session has `bytes`, begins with a struct connection, and is
 *  otherwise zero. */
int connection_open(const struct connection_kind *kind, size_t bytes,
                    const struct driver_options *options, void **session, char *error,
                    size_t error_bytes);

/** What a driver over one connection has; and what one has whose messages are posted, too. */
#define CONNECTION_DRIVER                                                                          \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .min_size = 1,                  \
    .max_size = UINT64_C(1) << 30, .address = connection_address, .connect = connection_connect
#define CONNECTION_DRIVER_POSTING                                                                  \
    CONNECTION_DRIVER, .close = connection_close, .post_send = connection_post_send,               \
                       .post_receive = connection_post_receive

/** Complete functions of a driver. */
int connection_address(void *session, char *text, size_t text_bytes);
int connection_connect(void *session, const char *peer, char *error, size_t error_bytes);
void connection_close(void *session);

/** Blocking functions that move messages. */
int connection_send(void *session, const void *data, uint64_t size);
int connection_receive(void *session, void *data, uint64_t size);

/** The same, polling. */
int connection_spin_send(void *session, const void *data, uint64_t size);
int connection_spin_receive(void *session, void *data, uint64_t size);

/** Posted messages. If progress waits, the first blocks and the second polls. */
int connection_post_send(void *session, const void *data, uint64_t size);
int connection_post_receive(void *session, void *data, uint64_t size);
int connection_progress(void *session, bool wait, struct driver_ended *ended);
int connection_spin_progress(void *session, bool wait, struct driver_ended *ended);

/** Waits until the descriptor is ready, at most `limit_ms` (-1: as long as the host allows).
 *  -ETIMEDOUT: it is not. */
int connection_wait_for(const struct connection *connection, int fd, short events, int limit_ms);

/** The error of a failed send() or recv(); 0: try again. */
static inline int connection_trouble(void)
{
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/** The parts of connection_connect(), for protocols with other addresses: the initiator connects
 *  its `waiting` socket to `there` and sends the key, the responder accepts a connection with the
 *  key, and both set up the connection. */
int connection_reach(struct connection *connection, const struct sockaddr *there, socklen_t length,
                     uint64_t key, char *error, size_t error_bytes);
int connection_accept(struct connection *connection, char *error, size_t error_bytes);
int connection_set_up(struct connection *connection, char *error, size_t error_bytes);

/** Has the host asked to stop? */
bool connection_stopped(const struct connection *connection);

/** For a kind whose only option is TCP_NODELAY: sends data at once. */
int connection_no_delay(int fd, char *error, size_t error_bytes);

/** For `before`: sets both buffers to exactly `options->socket_buffer_bytes`, or fails if the
 *  system does not allow it. */
int connection_fixed_buffers(int fd, const struct driver_options *options, char *error,
                             size_t error_bytes);

#endif
