/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc.c - TIPC sockets with a connection, blocking: streams, and whole messages (SOCK_SEQPACKET).
 * The responder binds a service address of random type and instance, and the initiator connects to
 * it, on any node of the cluster. The key decides who may connect, as over TCP (connection.h).
 *
 * Each node must first enable a bearer: `tipc bearer enable media eth device eth0`. Within a node
 * none is needed.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/tipc.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "driver.h"
#include "fail.h"
#include "local.h"
#include "text.h"
#include "tipc_socket.h"

/* Lower types are reserved by the kernel. */
#define LEAST_TYPE UINT32_C(0x10000)

/* How long to wait until a service is known throughout the cluster. */
#define NEWS_MS 10

struct tipc {
    struct connection connection; /* first; connection.c moves the messages */
    int socket_type;
    uint32_t type;
    uint32_t instance;
};

static int no_delay(int fd, char *error, size_t error_bytes)
{
    (void)error;
    (void)error_bytes;
#ifdef TIPC_NODELAY
    const int on = 1;
    (void)setsockopt(fd, SOL_TIPC, TIPC_NODELAY, &on, sizeof on); /* before 5.8 there is no delay */
#else
    (void)fd;
#endif
    return 0;
}

static const struct connection_kind KIND = {.after = no_delay};

static struct sockaddr_tipc service(uint32_t type, uint32_t instance)
{
    struct sockaddr_tipc address = {
        .family = AF_TIPC, .addrtype = TIPC_SERVICE_ADDR, .scope = TIPC_CLUSTER_SCOPE};
    address.addr.name.name.type = type;
    address.addr.name.name.instance = instance;
    return address;
}

/* Creates the socket; the responder's offers the service. */
static int start(struct tipc *tipc, char *error, size_t error_bytes)
{
    int fd = tipc_socket(tipc->socket_type, SOCK_NONBLOCK, error, error_bytes);
    if (fd < 0) {
        return fd;
    }
    if (tipc->connection.role == DRIVER_INITIATOR) {
        tipc->connection.waiting = fd;
        return 0;
    }
    struct sockaddr_tipc here = service(tipc->type, tipc->instance);
    tipc->connection.listener = fd;
    return bind(fd, (struct sockaddr *)&here, sizeof here) == 0 && listen(fd, 8) == 0
               ? 0
               : fail(error, error_bytes, "cannot offer a TIPC service");
}

static int open_type(int socket_type, const struct driver_options *options, void **session,
                     char *error, size_t error_bytes)
{
    char interface[IF_NAMESIZE];
    int result = local_interface(options, interface, error, error_bytes);
    if (result != 0) {
        return result;
    }
    struct tipc *tipc = malloc(sizeof *tipc);
    if (tipc == NULL) {
        return -ENOMEM;
    }
    *tipc = (struct tipc){.connection = {.kind = &KIND,
                                         .host = options->host,
                                         .role = options->role,
                                         .listener = -1,
                                         .waiting = -1,
                                         .fd = -1},
                          .socket_type = socket_type};
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        result = fail(error, error_bytes, "no random numbers");
    } else {
        tipc->connection.key = random[0];
        tipc->type = (uint32_t)(random[1] >> 32) | LEAST_TYPE;
        tipc->instance = (uint32_t)random[1];
        result = start(tipc, error, error_bytes);
    }
    if (result != 0) {
        connection_close(tipc);
        return result;
    }
    *session = tipc;
    return 0;
}

static int open_stream(const struct driver_options *options, void **session, char *error,
                       size_t error_bytes)
{
    return open_type(SOCK_STREAM, options, session, error, error_bytes);
}

static int open_seqpacket(const struct driver_options *options, void **session, char *error,
                          size_t error_bytes)
{
    return open_type(SOCK_SEQPACKET, options, session, error, error_bytes);
}

/* "KEY@TYPE/INSTANCE" */
static int tipc_address(void *session, char *text, size_t text_bytes)
{
    const struct tipc *tipc = session;
    int length = snprintf(text, text_bytes, "%016" PRIx64 "@%08" PRIx32 "/%08" PRIx32,
                          tipc->connection.key, tipc->type, tipc->instance);
    return length > 0 && (size_t)length < text_bytes ? 0 : -ENOSPC;
}

static int reach(struct tipc *tipc, const char *peer, char *error, size_t error_bytes)
{
    const char *text = peer;
    uint64_t key;
    uint64_t type;
    uint64_t instance;
    if (!text_number(&text, 16, '@', UINT64_MAX, &key) ||
        !text_number(&text, 16, '/', UINT32_MAX, &type) ||
        !text_number(&text, 16, '\0', UINT32_MAX, &instance)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end", peer);
        return -EINVAL;
    }
    const struct sockaddr_tipc there = service((uint32_t)type, (uint32_t)instance);
    for (;;) {
        int result = connection_reach(&tipc->connection, (const struct sockaddr *)&there,
                                      sizeof there, key, error, error_bytes);
        if (result != -EHOSTUNREACH) {
            return result;
        }
        tipc->connection.waiting = tipc->connection.fd;
        tipc->connection.fd = -1;
        if (connection_stopped(&tipc->connection)) {
            (void)snprintf(error, error_bytes,
                           "the other node's service is not known here: see `tipc link list`, and"
                           " `tipc bearer enable media eth device NAME` on both");
            return -ECANCELED;
        }
        (void)poll(NULL, 0, NEWS_MS);
    }
}

static int tipc_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct tipc *tipc = session;
    int result = tipc->connection.role == DRIVER_RESPONDER
                     ? connection_accept(&tipc->connection, error, error_bytes)
                     : reach(tipc, peer, error, error_bytes);
    return result == 0 ? connection_set_up(&tipc->connection, error, error_bytes) : result;
}

static const struct driver STREAM = {
    .abi = DRIVER_ABI,
    .name = "tipc",
    .summary = "TIPC stream sockets, blocking; its bearers are the administrator's to enable",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = tipc_probe,
    .open = open_stream,
    .address = tipc_address,
    .connect = tipc_connect,
    .send = connection_send,
    .receive = connection_receive,
    .close = connection_close,
};

static const struct driver SEQPACKET = {
    .abi = DRIVER_ABI,
    .name = "tipc-seqpacket",
    .summary = "TIPC connections that carry whole messages, blocking",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .min_size = 1,
    .max_size = TIPC_MAX_USER_MSG_SIZE,
    .probe = tipc_probe,
    .open = open_seqpacket,
    .address = tipc_address,
    .connect = tipc_connect,
    .send = connection_send,
    .receive = connection_receive,
    .close = connection_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&STREAM, &SEQPACKET, &TIPC_RDM, NULL};
    return TABLE;
}
