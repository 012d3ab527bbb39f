/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp.c - one datagram a message over connected UDP sockets, blocking, as applications use them
 * (datagram.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "datagram.h"
#include "driver.h"
#include "fail.h"
#include "local.h"

/* Largest payload of an IPv4 datagram: 65535 less the IP and UDP headers. */
#define UDP_MESSAGE_BYTES_MAX 65507

/* Buffer for datagrams that arrive while the receiver is not running. */
#define RECEIVE_BUFFER_BYTES (8 << 20)

struct udp {
    struct datagram datagram; /* first */
    struct sockaddr_storage here;
};

/* MSG_TRUNC: returns the full length of the datagram. */
static ssize_t take(const struct datagram *datagram, void *data, size_t size, int flags)
{
    return recv(datagram->fd, data, size, flags | MSG_TRUNC);
}

static const struct datagram_kind KIND = {
    .take = take,
    .message_bytes_max = UDP_MESSAGE_BYTES_MAX,
    .unheard = "no datagram of the other end arrives: check that UDP passes",
};

static int udp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct sockaddr_storage address;
    return local_address(options, &address, reason, reason_bytes);
}

/* Enlarges the receive buffer: above the system's limit if permitted, else up to it. */
static void enlarge_buffer(int fd)
{
    const int bytes = RECEIVE_BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
}

static int udp_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    struct udp *udp = malloc(sizeof *udp);
    if (udp == NULL) {
        return -ENOMEM;
    }
    *udp = (struct udp){.datagram = {.kind = &KIND, .host = options->host, .fd = -1}};
    struct datagram *datagram = &udp->datagram;
    int result = local_address(options, &udp->here, error, error_bytes);
    socklen_t length = local_address_bytes(&udp->here);
    if (result == 0) {
        datagram->fd = socket(udp->here.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (datagram->fd < 0 || bind(datagram->fd, (struct sockaddr *)&udp->here, length) != 0 ||
            getsockname(datagram->fd, (struct sockaddr *)&udp->here, &length) != 0 ||
            datagram_set_waits(datagram, options->loss_timeout_ns) != 0) {
            result = fail(error, error_bytes, "cannot use this node's address");
        }
    }
    if (result != 0) {
        datagram_close(udp);
        return result;
    }
    enlarge_buffer(datagram->fd);
    *session = udp;
    return 0;
}

static int udp_address(void *session, char *text, size_t text_bytes)
{
    const struct udp *udp = session;
    return local_write(&udp->here, text, text_bytes);
}

static int udp_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct udp *udp = session;
    struct sockaddr_storage there;
    int result = local_read(peer, &udp->here, &there, error, error_bytes);
    if (result != 0) {
        return result;
    }
    if (connect(udp->datagram.fd, (struct sockaddr *)&there, local_address_bytes(&there)) != 0) {
        return fail(error, error_bytes, "cannot reach the other end");
    }
    return datagram_meet(&udp->datagram, error, error_bytes);
}

static const struct driver UDP = {
    .abi = DRIVER_ABI,
    .name = "udp",
    .summary = "UDP datagrams, blocking, as an application uses them",
    .placement = DRIVER_PAIR,
    .reliable = false,
    .spins = false,
    .min_size = 1,
    .max_size = UDP_MESSAGE_BYTES_MAX,
    .probe = udp_probe,
    .open = udp_open,
    .address = udp_address,
    .connect = udp_connect,
    .prepare = datagram_prepare,
    .send = datagram_send,
    .receive = datagram_receive,
    .close = datagram_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&UDP, NULL};
    return TABLE;
}
