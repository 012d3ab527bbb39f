/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datagram.h - one datagram a message over an unreliable socket, blocking, for the drivers udp and
 * tipc-rdm. Nothing is retransmitted: a lost datagram is a lost message.
 *
 * Both ends are bound before they exchange addresses. To connect, each sends a greeting every few
 * milliseconds until it receives the other's, and then some more, in case its own were lost.
 */
#ifndef BEOWIRE_DRIVERS_DATAGRAM_H
#define BEOWIRE_DRIVERS_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "driver.h"

struct datagram;

struct datagram_kind {
    /** Receives a datagram if it is from the other end, waiting at most the socket's timeout.
     *  Returns its full length; 0: it is from elsewhere; or -1 with errno. */
    ssize_t (*take)(const struct datagram *datagram, void *data, size_t size, int flags);
    uint64_t message_bytes_max;
    const char *unheard; /**< why nothing may arrive from the other end, in one line */
};

/** The first member of a session. */
struct datagram {
    const struct datagram_kind *kind;
    const struct driver_host *host;
    int fd;
    uint64_t waits; /**< timed-out waits that make up the loss timeout */
    struct sockaddr_storage there;
    socklen_t there_bytes; /**< 0: the socket is connected */
};

/** Sets the socket's timeout so that the host can be asked between waits whether to stop. 0, or -1
 *  with errno. */
int datagram_set_waits(struct datagram *datagram, uint64_t loss_timeout_ns);

/** Exchanges greetings with the other end, whose address is set. */
int datagram_meet(struct datagram *datagram, char *error, size_t error_bytes);

/* The functions of a driver (driver.h). */
int datagram_prepare(void *session, uint64_t size);
int datagram_send(void *session, const void *data, uint64_t size);
int datagram_receive(void *session, void *data, uint64_t size);
void datagram_close(void *session);

#endif
