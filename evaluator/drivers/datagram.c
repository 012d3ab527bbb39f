/* SPDX-License-Identifier: BSD-3-Clause */
#include "datagram.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* How long a blocking call waits before it asks the host whether to stop. */
#define WAIT_MS 100

#define GREETING_INTERVAL_MS 5
#define GREETING_REPEATS 8

/* Datagrams other than messages between two calls of the host. */
#define STRAYS_A_QUESTION 64

/* Unlikely contents and length, so that a late greeting is not taken for a message. */
static const char GREETING[] = "beowire driver: greeting";

static bool stopped(const struct datagram *datagram)
{
    return datagram->host->stopped(datagram->host->context);
}

int datagram_set_waits(struct datagram *datagram, uint64_t loss_timeout_ns)
{
    const uint64_t longest_us = UINT64_C(1000) * WAIT_MS;
    uint64_t timeout_us = (loss_timeout_ns + 999) / 1000;
    datagram->waits = (timeout_us + longest_us - 1) / longest_us;
    datagram->waits = datagram->waits == 0 ? 1 : datagram->waits;
    uint64_t wait_us = timeout_us / datagram->waits;
    const struct timeval receive = {.tv_usec = (suseconds_t)(wait_us == 0 ? 1 : wait_us)};
    const struct timeval send = {.tv_usec = WAIT_MS * 1000L};
    return setsockopt(datagram->fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive) != 0
               ? -1
               : setsockopt(datagram->fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
}

static ssize_t put(const struct datagram *datagram, const void *data, size_t size)
{
    const struct sockaddr *there = (const struct sockaddr *)&datagram->there;
    return sendto(datagram->fd, data, size, MSG_NOSIGNAL, datagram->there_bytes == 0 ? NULL : there,
                  datagram->there_bytes);
}

static bool is_greeting(const void *data, uint64_t size)
{
    return size == sizeof GREETING && memcmp(data, GREETING, sizeof GREETING) == 0;
}

/* Discards all datagrams that have arrived. True if a greeting was among them. */
static bool drain(const struct datagram *datagram)
{
    char data[sizeof GREETING];
    bool greeted = false;
    ssize_t length;
    while ((length = datagram->kind->take(datagram, data, sizeof data, MSG_DONTWAIT)) >= 0) {
        greeted = greeted || is_greeting(data, (uint64_t)length);
    }
    return greeted;
}

int datagram_meet(struct datagram *datagram, char *error, size_t error_bytes)
{
    struct pollfd poller = {.fd = datagram->fd, .events = POLLIN};
    while (!drain(datagram)) {
        /* An error here means that the other end is not ready or gone, that there is no link, or a
         * firewall. Repeating decides, until the host asks to stop. */
        (void)put(datagram, GREETING, sizeof GREETING);
        (void)poll(&poller, 1, GREETING_INTERVAL_MS);
        if (stopped(datagram)) {
            (void)snprintf(error, error_bytes, "%s", datagram->kind->unheard);
            return -ECANCELED;
        }
    }
    for (int repeat = 0; repeat < GREETING_REPEATS; repeat++) {
        (void)put(datagram, GREETING, sizeof GREETING);
    }
    return 0;
}

int datagram_prepare(void *session, uint64_t size)
{
    const struct datagram *datagram = session;
    if (size > datagram->kind->message_bytes_max) {
        return -EMSGSIZE;
    }
    (void)drain(datagram);
    return 0;
}

int datagram_send(void *session, const void *data, uint64_t size)
{
    const struct datagram *datagram = session;
    while (put(datagram, data, size) < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
            return -errno;
        }
        if (stopped(datagram)) {
            return -ECANCELED;
        }
    }
    return 0;
}

int datagram_receive(void *session, void *data, uint64_t size)
{
    const struct datagram *datagram = session;
    uint64_t waits = 0;
    uint64_t strays = 0;
    for (;;) {
        ssize_t length = datagram->kind->take(datagram, data, size, 0);
        if (length >= 0 && (uint64_t)length == size && !is_greeting(data, size)) {
            return 0;
        }
        if (length < 0 && errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
        /* Messages behind late greetings come first, before the host is asked. */
        if (length >= 0 && ++strays % STRAYS_A_QUESTION != 0) {
            continue;
        }
        bool waited = length < 0 && errno == EAGAIN;
        if (stopped(datagram)) {
            return -ECANCELED;
        }
        if (waited && ++waits >= datagram->waits) {
            return -ETIMEDOUT;
        }
    }
}

void datagram_close(void *session)
{
    const struct datagram *datagram = session;
    if (datagram->fd >= 0) {
        close(datagram->fd);
    }
    free(session);
}
