/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp.c - drivers over TCP (connection.h):
 *
 *   tcp         blocks in recv() and send(), as applications do: the kernel wakes it up
 *   tcp-spin    polls with MSG_DONTWAIT, as the TCP modules of MPI libraries do: no wake-up
 *   tcp-nagle   as tcp, but without TCP_NODELAY, the default: data that does not fill a segment
 *               waits until earlier data is acknowledged (RFC 896)
 *   tcp-buffer  as tcp, with socket buffers of a fixed size, which otherwise grow
 */
#include <netinet/in.h>

#include "connection.h"
#include "driver.h"

/* Default of --socket-buffer, which every system allows. */
#define BUFFER_BYTES_DEFAULT (UINT64_C(128) << 10)

static int buffers(int fd, const struct driver_options *options, char *error, size_t error_bytes)
{
    struct driver_options chosen = *options;
    if (chosen.socket_buffer_bytes == 0) {
        chosen.socket_buffer_bytes = BUFFER_BYTES_DEFAULT;
    }
    return connection_fixed_buffers(fd, &chosen, error, error_bytes);
}

static const struct connection_kind BLOCKING = {
    .protocol = IPPROTO_TCP,
    .after = connection_no_delay,
};

static const struct connection_kind SPINNING = {
    .protocol = IPPROTO_TCP,
    .spins = true,
    .after = connection_no_delay,
};

static const struct connection_kind NAGLE = {
    .protocol = IPPROTO_TCP,
};

static const struct connection_kind BUFFERS = {
    .protocol = IPPROTO_TCP,
    .before = buffers,
    .after = connection_no_delay,
};

static int tcp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return connection_probe(&BLOCKING, options, "this kernel has no TCP", reason, reason_bytes);
}

static int buffers_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return connection_probe(&BUFFERS, options, "this kernel has no TCP", reason, reason_bytes);
}

static int tcp_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    return connection_open(&BLOCKING, sizeof(struct connection), options, session, error,
                           error_bytes);
}

static int tcp_spin_open(const struct driver_options *options, void **session, char *error,
                         size_t error_bytes)
{
    return connection_open(&SPINNING, sizeof(struct connection), options, session, error,
                           error_bytes);
}

static int tcp_nagle_open(const struct driver_options *options, void **session, char *error,
                          size_t error_bytes)
{
    return connection_open(&NAGLE, sizeof(struct connection), options, session, error, error_bytes);
}

static int tcp_buffer_open(const struct driver_options *options, void **session, char *error,
                           size_t error_bytes)
{
    return connection_open(&BUFFERS, sizeof(struct connection), options, session, error,
                           error_bytes);
}

static const struct driver TCP = {
    CONNECTION_DRIVER_POSTING,
    .name = "tcp",
    .summary = "TCP sockets, blocking, as an application uses them",
    .probe = tcp_probe,
    .open = tcp_open,
    .send = connection_send,
    .receive = connection_receive,
    .progress = connection_progress,
};

static const struct driver TCP_SPIN = {
    CONNECTION_DRIVER_POSTING,
    .name = "tcp-spin",
    .summary = "TCP sockets, polled without pause, as MPI libraries use them",
    .spins = true,
    .probe = tcp_probe,
    .open = tcp_spin_open,
    .send = connection_spin_send,
    .receive = connection_spin_receive,
    .progress = connection_spin_progress,
};

static const struct driver TCP_NAGLE = {
    CONNECTION_DRIVER_POSTING,
    .name = "tcp-nagle",
    .summary = "TCP sockets with Nagle's algorithm (no TCP_NODELAY), blocking",
    .probe = tcp_probe,
    .open = tcp_nagle_open,
    .send = connection_send,
    .receive = connection_receive,
    .progress = connection_progress,
};

static const struct driver TCP_BUFFER = {
    CONNECTION_DRIVER_POSTING,
    .name = "tcp-buffer",
    .summary = "TCP sockets with buffers of --socket-buffer bytes (128 KiB unless given)",
    .probe = buffers_probe,
    .open = tcp_buffer_open,
    .send = connection_send,
    .receive = connection_receive,
    .progress = connection_progress,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&TCP, &TCP_SPIN, &TCP_NAGLE, &TCP_BUFFER, NULL};
    return TABLE;
}
