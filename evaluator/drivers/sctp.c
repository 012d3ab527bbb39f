/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sctp.c - SCTP (RFC 9260), one-to-one sockets, blocking (connection.h). Messages use one ordered
 * stream, without delay to bundle them (SCTP_NODELAY).
 *
 * In Linux a TCP socket's buffers grow to 6 MB. An SCTP socket has a fixed 208 KiB, which includes
 * the kernel's memory for each queued packet. Long messages exceed it: packets are dropped, and
 * retransmitted after at least 1 s, compared with 0.2 s for TCP (observed in a ping-pong of 1 MiB).
 * So both are set to TCP's values.
 */
#include <netinet/in.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"

/* From linux/sctp.h, which cannot be included alone. */
#define SCTP_RTOINFO 0
#define SCTP_NODELAY 3
struct sctp_rtoinfo {
    int32_t association;
    uint32_t initial_ms; /* each: 0: unchanged */
    uint32_t max_ms;
    uint32_t min_ms;
};

/* TCP's values in Linux: the maximum of tcp_rmem, and TCP_RTO_MIN. */
#define BUFFER_BYTES (6 << 20)
#define REPEAT_MIN_MS 200

/* Without the privilege, as large as the system allows. */
static void enlarge(int fd, int forced, int plain)
{
    const int bytes = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
    }
}

static int as_tcp_has(int fd, const struct driver_options *options, char *error, size_t error_bytes)
{
    const struct sctp_rtoinfo repeat = {.min_ms = REPEAT_MIN_MS};
    (void)options;
    enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
    enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
    return setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &repeat, sizeof repeat) == 0
               ? 0
               : fail(error, error_bytes, "cannot set SCTP_RTOINFO");
}

static int no_delay(int fd, char *error, size_t error_bytes)
{
    const int on = 1;
    return setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) == 0
               ? 0
               : fail(error, error_bytes, "cannot set SCTP_NODELAY");
}

static const struct connection_kind KIND = {
    .protocol = IPPROTO_SCTP, .before = as_tcp_has, .after = no_delay};

static int sctp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return connection_probe(&KIND, options,
                            "this kernel has no SCTP: load it (modprobe sctp), or use a kernel"
                            " that was built with CONFIG_IP_SCTP",
                            reason, reason_bytes);
}

static int sctp_open(const struct driver_options *options, void **session, char *error,
                     size_t error_bytes)
{
    return connection_open(&KIND, sizeof(struct connection), options, session, error, error_bytes);
}

static const struct driver SCTP = {
    CONNECTION_DRIVER,
    .name = "sctp",
    .summary = "SCTP sockets, one to one, blocking",
    .probe = sctp_probe,
    .open = sctp_open,
    .send = connection_send,
    .receive = connection_receive,
    .close = connection_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&SCTP, NULL};
    return TABLE;
}
