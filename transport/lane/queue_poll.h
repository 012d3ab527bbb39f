/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue_poll.h - lets the kernel poll a network card's receive queue when we poll, instead of at
 * the card's interrupts (interrupt reaping).
 *
 * A system call that receives from a socket and finds nothing runs the queue's NAPI handler once,
 * which the card's interrupt would have run (SO_BUSY_POLL in socket(7)). It takes all frames for
 * this host: those of TCP go to their sockets, ours into our rings. With preferred busy polling
 * (SO_PREFER_BUSY_POLL, Linux 5.11) the interrupt stays disabled between two polls, if the host
 * permits that for this card:
 *
 *      /sys/class/net/CARD/napi_defer_hard_irqs    not 0, such as 2
 *      /sys/class/net/CARD/gro_flush_timeout       the kernel polls after this many ns without a
 *                                                  poll of ours, such as 200000
 *
 * Both belong to the host, are 0 by default, and stay set when a process dies, so they are not
 * written here.
 *
 * The kernel learns a socket's queue (its NAPI number) from received frames. AF_PACKET does not
 * tell it, nor does AF_XDP behind the kernel's generic hook. UDP does, and AF_XDP behind a driver's
 * own hook. So one socket may poll for another of the same card.
 *
 * Not thread-safe. Nothing here fails: if polling is not permitted (CAP_NET_ADMIN) or the kernel is
 * older, interrupts deliver the frames.
 */
#ifndef BEOWIRE_LANE_QUEUE_POLL_H
#define BEOWIRE_LANE_QUEUE_POLL_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct queue_poll {
    int socket;       /**< of the queue; valid if `is_wanted` */
    bool is_wanted;   /**< false in zeroed memory: nothing is polled */
    bool is_known;    /**< the kernel knows the queue */
    uint32_t passed;  /**< calls of queue_poll() */
    uint32_t unknown; /**< among them, calls that would have polled, but the queue was unknown */
};

/** Makes a socket poll for at most this long when it has nothing, with interrupts disabled between
 *  two polls if the host permits that; 0: disables polling. */
void queue_poll_allow(int socket, uint32_t time_us);

/** queue_poll() uses this socket from now on; it remains the caller's. */
void queue_poll_by(struct queue_poll *poll, int socket);

/** Stops polling. */
void queue_poll_stop(struct queue_poll *poll);

/** Asks the kernel whether it knows the socket's queue: a system call. */
bool queue_poll_ask(struct queue_poll *poll);

/** The system call that polls. Received data stays in the socket. */
void queue_poll_look(const struct queue_poll *poll);

/** Polls the queue once in LANE_POLL_LOOKS calls, if it is wanted and known. @return true: there
 *  may be frames now. */
static inline bool queue_poll(struct queue_poll *poll)
{
    if (!poll->is_wanted || ++poll->passed % LANE_POLL_LOOKS != 0 ||
        !(poll->is_known || queue_poll_ask(poll))) {
        return false;
    }
    queue_poll_look(poll);
    return true;
}

#endif /* BEOWIRE_LANE_QUEUE_POLL_H */
