/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sctp.c - SCTP (RFC 9260), one-to-one sockets, blocking (connection.h). The order is that of one
 * stream, and nothing waits to be bundled (SCTP_NODELAY).
 */
#include <netinet/in.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"

/* Of linux/sctp.h, which stands alone nowhere. */
#define SCTP_NODELAY 3

static int no_delay(int fd, char *error, size_t error_bytes)
{
    const int on = 1;
    return setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) == 0
               ? 0
               : fail(error, error_bytes, "cannot set SCTP_NODELAY");
}

static const struct connection_kind KIND = {.protocol = IPPROTO_SCTP, .after = no_delay};

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
