/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mptcp.c - Multipath TCP (RFC 8684), blocking (connection.h). The system chooses the paths of a
 * message (`ip mptcp`). A connection that fell back to TCP is refused, because TCP would be
 * measured under this name.
 */
#include <errno.h>
#include <linux/mptcp.h>
#include <netinet/in.h>
#include <unistd.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

static int multipath(int fd, char *error, size_t error_bytes)
{
    struct mptcp_info info = {0};
    socklen_t length = sizeof info;
    int result = connection_no_delay(fd, error, error_bytes);
    if (result != 0) {
        return result;
    }
    /* A socket that fell back does not know the option, or reports the fallback. */
    bool known = getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length) == 0;
    if (!known || (info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK) != 0) {
        (void)snprintf(error, error_bytes,
                       "the connection fell back to TCP: check net.mptcp.enabled at both ends, and"
                       " firewalls between them");
        return -EPROTO;
    }
    return 0;
}

static const struct connection_kind KIND = {.protocol = IPPROTO_MPTCP, .after = multipath};

static int mptcp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    bool built = access("/proc/sys/net/mptcp/enabled", F_OK) == 0;
    return connection_probe(&KIND, options,
                            built
                                ? "it is switched off here: sysctl net.mptcp.enabled=1"
                                : "this kernel has no MPTCP: it needs Linux 5.6 with CONFIG_MPTCP",
                            reason, reason_bytes);
}

static int mptcp_open(const struct driver_options *options, void **session, char *error,
                      size_t error_bytes)
{
    return connection_open(&KIND, sizeof(struct connection), options, session, error, error_bytes);
}

static const struct driver MPTCP = {
    CONNECTION_DRIVER_POSTING,
    .name = "mptcp",
    .summary = "Multipath TCP sockets, blocking; over the paths that `ip mptcp` allows",
    .probe = mptcp_probe,
    .open = mptcp_open,
    .send = connection_send,
    .receive = connection_receive,
    .progress = connection_progress,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&MPTCP, NULL};
    return TABLE;
}
