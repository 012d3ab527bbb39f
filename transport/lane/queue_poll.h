/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue_poll.h - has the kernel look into a network card's receive queue when we look, in place of
 * when the card interrupts (interrupt reaping).
 *
 * A system call that receives from a socket and finds nothing runs, once, what the card's interrupt
 * would have run: the queue's NAPI handler (SO_BUSY_POLL in socket(7)). That takes all frames that
 * have come for this host, whoever they are for: those of TCP go where they always go, ours into
 * our rings. Preferred busy polling (SO_PREFER_BUSY_POLL, Linux 5.11) is the other half: between
 * two such looks the interrupt stays off, if the host allows that for this card:
 *
 *      /sys/class/net/CARD/napi_defer_hard_irqs    not 0, such as 2
 *      /sys/class/net/CARD/gro_flush_timeout       after so many ns without a look the kernel looks
 *                                                  itself, such as 200000
 *
 * Both are the host's, 0 by default, and stay when a process dies, so nothing here writes them.
 *
 * The kernel knows a socket's queue (its NAPI number) by what has come through it. AF_PACKET never
 * says where a frame came from, nor does AF_XDP behind the kernel's generic hook; UDP does, and
 * AF_XDP behind a driver's own hook. So one socket may poll for another of the same card.
 *
 * No thread-safety; nothing here fails: where it is not allowed (CAP_NET_ADMIN) or the kernel is
 * older, interrupts bring the frames.
 */
#ifndef BEOWIRE_LANE_QUEUE_POLL_H
#define BEOWIRE_LANE_QUEUE_POLL_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct queue_poll {
    int socket;       /**< whose queue it is; valid if `is_wanted` */
    bool is_wanted;   /**< 0 in memory that is 0: nothing is polled */
    bool is_known;    /**< the kernel knows the queue */
    uint32_t passed;  /**< calls of queue_poll() */
    uint32_t unknown; /**< of those that would have looked, the queue not being known */
};

/** Has a socket poll for at most so long when it has nothing, and with interrupts off between two
 *  looks where the host allows that; 0: it does not. */
void queue_poll_allow(int socket, uint32_t time_us);

/** From now on queue_poll() is by this socket; it stays the caller's. */
void queue_poll_by(struct queue_poll *poll, int socket);

/** Nothing is polled from now on. */
void queue_poll_stop(struct queue_poll *poll);

/** Does the kernel know the socket's queue? It asks, which is a system call. */
bool queue_poll_ask(struct queue_poll *poll);

/** The system call. What has come through the socket stays there. */
void queue_poll_look(const struct queue_poll *poll);

/** Looks into the queue once in LANE_POLL_LOOKS calls, if it is wanted and known. @return true:
 *  there may be frames now. */
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
