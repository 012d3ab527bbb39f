/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datagram.h - one datagram a message over a socket that loses some, blocking, for the drivers udp
 * and tipc-rdm. Nothing is repeated: a lost datagram is a lost message.
 *
 * Both ends are bound before their addresses are exchanged. To connect, each sends a greeting every
 * few milliseconds until it hears the other's, and then some more, for the other's sake.
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
    /** Receives what is there, or comes within the socket's time, if it is for us. Returns the
     *  length that it has, or -1 with errno; 0: it is nobody's business here. */
    ssize_t (*take)(const struct datagram *datagram, void *data, size_t size, int flags);
    uint64_t message_bytes_max;
    const char *unheard; /**< why the other end may not be heard, in a line */
};

/** What a session has first. */
struct datagram {
    const struct datagram_kind *kind;
    const struct driver_host *host;
    int fd;
    uint64_t waits; /**< that make up the loss timeout */
    struct sockaddr_storage there;
    socklen_t there_bytes; /**< 0: the socket is connected */
};

/** Has calls of the socket wait only so long that the host can be asked in between whether to stop.
 *  0, or -1 with errno. */
int datagram_set_waits(struct datagram *datagram, uint64_t loss_timeout_ns);

/** Finds the other end, whose address is known by now. */
int datagram_meet(struct datagram *datagram, char *error, size_t error_bytes);

/* The functions of a driver (driver.h). */
int datagram_prepare(void *session, uint64_t size);
int datagram_send(void *session, const void *data, uint64_t size);
int datagram_receive(void *session, void *data, uint64_t size);
void datagram_close(void *session);

#endif
