/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc_rdm.c - each message is one connectionless TIPC message (SOCK_RDM), blocking (datagram.h).
 * TIPC retransmits what a link loses, but drops messages for a full receive buffer, so a message
 * may be lost.
 *
 * The two ends exchange the addresses of their sockets, which the kernel has chosen. When they send
 * greetings, links between nodes may not be up yet. Messages from elsewhere are ignored.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/tipc.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datagram.h"
#include "driver.h"
#include "fail.h"
#include "local.h"
#include "text.h"
#include "tipc_socket.h"

/* Messages from elsewhere, and truncated ones, are ignored. */
static ssize_t take(const struct datagram *datagram, void *data, size_t size, int flags)
{
    const struct sockaddr_tipc *there = (const void *)&datagram->there;
    struct sockaddr_tipc from = {.family = 0};
    struct iovec place = {.iov_base = data, .iov_len = size};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &place, .msg_iovlen = 1};
    ssize_t length = recvmsg(datagram->fd, &message, flags);
    bool ours = from.addr.id.ref == there->addr.id.ref &&
                from.addr.id.node == there->addr.id.node && (message.msg_flags & MSG_TRUNC) == 0;
    return length < 0 || ours ? length : 0;
}

static const struct datagram_kind KIND = {
    .take = take,
    .message_bytes_max = TIPC_MAX_USER_MSG_SIZE,
    .unheard = "no message of the other node arrives: see `tipc link list`, and `tipc bearer enable"
               " media eth device NAME` on both",
};

static int rdm_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    /* A message for a full receive buffer is dropped, not returned to its sender. */
    const int droppable = 1;
    char interface[IF_NAMESIZE];
    int result = local_interface(options, interface, error, error_bytes);
    if (result != 0) {
        return result;
    }
    struct datagram *rdm = malloc(sizeof *rdm);
    if (rdm == NULL) {
        return -ENOMEM;
    }
    *rdm = (struct datagram){.kind = &KIND, .host = options->host};
    rdm->fd = tipc_socket(SOCK_RDM, 0, error, error_bytes);
    if (rdm->fd < 0) {
        result = rdm->fd;
    } else if (datagram_set_waits(rdm, options->loss_timeout_ns) != 0 ||
               setsockopt(rdm->fd, SOL_TIPC, TIPC_DEST_DROPPABLE, &droppable, sizeof droppable) !=
                   0) {
        result = fail(error, error_bytes, "cannot set up a TIPC socket");
    }
    if (result != 0) {
        datagram_close(rdm);
        return result;
    }
    *session = rdm;
    return 0;
}

/* "PORT@NODE" */
static int rdm_address(void *session, char *text, size_t text_bytes)
{
    const struct datagram *rdm = session;
    struct sockaddr_tipc here = {.family = 0};
    socklen_t length = sizeof here;
    if (getsockname(rdm->fd, (struct sockaddr *)&here, &length) != 0) {
        return -errno;
    }
    int written =
        snprintf(text, text_bytes, "%08" PRIx32 "@%08" PRIx32, here.addr.id.ref, here.addr.id.node);
    return written > 0 && (size_t)written < text_bytes ? 0 : -ENOSPC;
}

static int rdm_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct datagram *rdm = session;
    const char *text = peer;
    uint64_t port;
    uint64_t node;
    if (!text_number(&text, 16, '@', UINT32_MAX, &port) ||
        !text_number(&text, 16, '\0', UINT32_MAX, &node)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    struct sockaddr_tipc there = {.family = AF_TIPC, .addrtype = TIPC_SOCKET_ADDR};
    there.addr.id.ref = (uint32_t)port;
    there.addr.id.node = (uint32_t)node;
    memcpy(&rdm->there, &there, sizeof there);
    rdm->there_bytes = sizeof there;
    return datagram_meet(rdm, error, error_bytes);
}

const struct driver TIPC_RDM = {
    .abi = DRIVER_ABI,
    .name = "tipc-rdm",
    .summary = "TIPC messages without a connection, blocking; a full receiver loses them",
    .placement = DRIVER_PAIR,
    .reliable = false,
    .min_size = 1,
    .max_size = TIPC_MAX_USER_MSG_SIZE,
    .probe = tipc_probe,
    .open = rdm_open,
    .address = rdm_address,
    .connect = rdm_connect,
    .prepare = datagram_prepare,
    .send = datagram_send,
    .receive = datagram_receive,
    .close = datagram_close,
};
