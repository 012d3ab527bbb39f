/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed.h - messages that carry when they were sent, or due, and whose answers carry when they
 * came.
 *
 *      bytes   a message                an answer, of the same size
 *      0-7     a time of the sender's   the same
 *      8-15    what it is               when it came, by the clock of who answers
 *
 * in the byte order of the ends, which are of one kind of machine. One thread.
 */
#ifndef BEOWIRE_ENGINE_TIMED_H
#define BEOWIRE_ENGINE_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/** Bytes of the smallest message that can carry this. */
#define TIMED_BYTES 16

struct timed_exchange {
    uint64_t sent_ns; /**< our clock, before it was sent */
    uint64_t came_ns; /**< the other end's clock */
    uint64_t done_ns; /**< our clock, when the answer was here */
};

/** Sends a message and receives its answer; answers to others, which an unreliable driver may bring
 *  late, are thrown away. 0, -ETIMEDOUT (lost), or the driver's error; -EBADMSG: over a reliable
 *  driver it was not the answer. */
int timed_exchange(struct run *run, struct timed_exchange *exchange);

/** The end that answers: `skip + count` messages, or until `stop`. */
int timed_respond(struct run *run);

/** Whether a message was lost, over a driver on which that may be. */
bool timed_lost(const struct run *run, int error);

#endif
