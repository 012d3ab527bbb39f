/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp.c - one datagram a message over connected UDP sockets, blocking, as an application uses
 * them. Nothing is repeated: a lost datagram is a lost message.
 *
 * Both ends are bound before their addresses are exchanged. To connect, each sends a greeting every
 * few milliseconds until it hears the other's, and then some more, for the other's sake.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "local.h"

/* Largest payload of an IPv4 datagram: 65535 less the IP and UDP headers. */
#define UDP_MESSAGE_BYTES_MAX 65507

/* Datagrams that arrive while the receiver is not running wait in this much memory. */
#define RECEIVE_BUFFER_BYTES (8 << 20)

/* How long a blocking call may wait before the host is asked whether to stop. */
#define WAIT_MS 100

#define GREETING_INTERVAL_MS 5
#define GREETING_REPEATS 8

/* Datagrams that are no messages, between two questions to the host. */
#define STRAYS_A_QUESTION 64

/* Unlikely content of an unlikely length, so that a late greeting is no message. */
static const char GREETING[] = "beowire udp driver: greeting";

struct udp {
    const struct driver_host *host;
    int fd;
    uint64_t waits; /* that make up the loss timeout */
    struct sockaddr_storage here;
};

static bool stopped(const struct udp *udp)
{
    return udp->host->stopped(udp->host->context);
}

static int udp_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    struct sockaddr_storage address;
    return local_address(options, &address, reason, reason_bytes);
}

static void udp_close(void *session)
{
    struct udp *udp = session;
    if (udp->fd >= 0) {
        close(udp->fd);
    }
    free(udp);
}

/* A large receive buffer: above the system's limit where we may, else as large as it allows. */
static void enlarge_buffer(int fd)
{
    const int bytes = RECEIVE_BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
}

/* The loss timeout as a number of waits, each short enough to ask the host in between. */
static struct timeval set_waits(struct udp *udp, uint64_t loss_timeout_ns)
{
    const uint64_t longest_us = UINT64_C(1000) * WAIT_MS;
    uint64_t timeout_us = (loss_timeout_ns + 999) / 1000;
    udp->waits = (timeout_us + longest_us - 1) / longest_us;
    udp->waits = udp->waits == 0 ? 1 : udp->waits;
    uint64_t wait_us = timeout_us / udp->waits;
    wait_us = wait_us == 0 ? 1 : wait_us;
    return (struct timeval){.tv_sec = 0, .tv_usec = (suseconds_t)wait_us};
}

static int udp_open(const struct driver_options *options, void **session, char *error,
                    size_t error_bytes)
{
    struct udp *udp = malloc(sizeof *udp);
    if (udp == NULL) {
        return -ENOMEM;
    }
    *udp = (struct udp){.host = options->host, .fd = -1};
    const struct timeval receive_wait = set_waits(udp, options->loss_timeout_ns);
    const struct timeval send_wait = {.tv_sec = 0, .tv_usec = WAIT_MS * 1000L};
    int result = local_address(options, &udp->here, error, error_bytes);
    socklen_t length = local_address_bytes(&udp->here);
    if (result == 0) {
        udp->fd = socket(udp->here.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (udp->fd < 0 || bind(udp->fd, (struct sockaddr *)&udp->here, length) != 0 ||
            getsockname(udp->fd, (struct sockaddr *)&udp->here, &length) != 0 ||
            setsockopt(udp->fd, SOL_SOCKET, SO_RCVTIMEO, &receive_wait, sizeof receive_wait) != 0 ||
            setsockopt(udp->fd, SOL_SOCKET, SO_SNDTIMEO, &send_wait, sizeof send_wait) != 0) {
            result = fail(error, error_bytes, "cannot use this node's address");
        }
    }
    if (result != 0) {
        udp_close(udp);
        return result;
    }
    enlarge_buffer(udp->fd);
    *session = udp;
    return 0;
}

static int udp_address(void *session, char *text, size_t text_bytes)
{
    const struct udp *udp = session;
    return local_write(&udp->here, text, text_bytes);
}

/* Throws away all that has come. True when a greeting was among it. */
static bool drain(const struct udp *udp)
{
    char datagram[sizeof GREETING];
    bool greeted = false;
    ssize_t length;
    while ((length = recv(udp->fd, datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC)) >= 0) {
        greeted = greeted || (length == (ssize_t)sizeof GREETING &&
                              memcmp(datagram, GREETING, sizeof GREETING) == 0);
    }
    return greeted;
}

static int udp_connect(void *session, const char *peer, char *error, size_t error_bytes)
{
    struct udp *udp = session;
    struct sockaddr_storage there;
    int result = local_read(peer, &udp->here, &there, error, error_bytes);
    if (result != 0) {
        return result;
    }
    if (connect(udp->fd, (struct sockaddr *)&there, local_address_bytes(&there)) != 0) {
        return fail(error, error_bytes, "cannot reach the other end");
    }
    struct pollfd poller = {.fd = udp->fd, .events = POLLIN};
    while (!drain(udp)) {
        /* An error here means that the other host said "no such port": it may be about to go, or
         * a firewall may be at work. Asking again settles it, within the host's limit. */
        (void)send(udp->fd, GREETING, sizeof GREETING, MSG_NOSIGNAL);
        (void)poll(&poller, 1, GREETING_INTERVAL_MS);
        if (stopped(udp)) {
            (void)snprintf(error, error_bytes,
                           "no datagram of the other end arrives: check that UDP passes");
            return -ECANCELED;
        }
    }
    for (int repeat = 0; repeat < GREETING_REPEATS; repeat++) {
        (void)send(udp->fd, GREETING, sizeof GREETING, MSG_NOSIGNAL);
    }
    return 0;
}

static int udp_prepare(void *session, uint64_t size)
{
    const struct udp *udp = session;
    if (size > UDP_MESSAGE_BYTES_MAX) {
        return -EMSGSIZE;
    }
    (void)drain(udp);
    return 0;
}

static int udp_send(void *session, const void *data, uint64_t size)
{
    const struct udp *udp = session;
    while (send(udp->fd, data, size, MSG_NOSIGNAL) < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
            return -errno;
        }
        if (stopped(udp)) {
            return -ECANCELED;
        }
    }
    return 0;
}

static bool is_message(const void *data, ssize_t length, uint64_t size)
{
    return (uint64_t)length == size &&
           (size != sizeof GREETING || memcmp(data, GREETING, sizeof GREETING) != 0);
}

static int udp_receive(void *session, void *data, uint64_t size)
{
    const struct udp *udp = session;
    uint64_t waits = 0;
    uint64_t strays = 0;
    for (;;) {
        /* MSG_TRUNC: the length that the datagram has, not what fits. */
        ssize_t length = recv(udp->fd, data, size, MSG_TRUNC);
        if (length >= 0 && is_message(data, length, size)) {
            return 0;
        }
        if (length < 0 && errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        /* Behind a late greeting there may be messages: they come first. */
        if (length >= 0 && ++strays % STRAYS_A_QUESTION != 0) {
            continue;
        }
        bool waited = length < 0 && errno == EAGAIN;
        if (stopped(udp)) {
            return -ECANCELED;
        }
        if (waited && ++waits >= udp->waits) {
            return -ETIMEDOUT;
        }
    }
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
    .prepare = udp_prepare,
    .send = udp_send,
    .receive = udp_receive,
    .close = udp_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&UDP, NULL};
    return TABLE;
}
