/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sctp.c - SCTP (RFC 9260), one-to-one sockets, blocking (connection.h). The order is that of one
 * stream, and nothing waits to be bundled (SCTP_NODELAY).
 *
 * Linux gives a TCP socket up to 6 MB as it needs them, and an SCTP socket 208 KiB for ever, in
 * which each packet that waits counts with all the memory it takes. Long messages overflow that:
 * packets are dropped, and sent again when a timer says so, which takes at least 1 s where TCP's
 * takes 0.2 (seen in a ping-pong of 1 MiB). So both are set to what TCP has.
 */
#include <netinet/in.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"

/* Of linux/sctp.h, which stands alone nowhere. */
#define SCTP_RTOINFO 0
#define SCTP_NODELAY 3
struct sctp_rtoinfo {
    int32_t association;
    uint32_t initial_ms; /* each: 0: as it is */
    uint32_t max_ms;
    uint32_t min_ms;
};

/* TCP's in Linux: the largest that tcp_rmem lets a buffer grow to, and TCP_RTO_MIN. */
#define BUFFER_BYTES (6 << 20)
#define REPEAT_MIN_MS 200

/* Of what is not allowed there is as much as the system gives. */
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
    .abi = DRIVER_ABI,
    .name = "sctp",
    .summary = "SCTP sockets, one to one, blocking",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = sctp_probe,
    .open = sctp_open,
    .address = connection_address,
    .connect = connection_connect,
    .send = connection_send,
    .receive = connection_receive,
    .close = connection_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&SCTP, NULL};
    return TABLE;
}
