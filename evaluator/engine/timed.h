/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed.h - messages that carry the time when they were sent or due, and answers that carry the
 * time when the message arrived.
 *
 *      bytes   a message                an answer, of the same size
 *      0-7     a time of the sender     the same
 *      8-15    not used                 when the message arrived, by the answering end's clock
 *
 * in the byte order of the ends, which must be the same. One thread.
 */
#ifndef BEOWIRE_ENGINE_TIMED_H
#define BEOWIRE_ENGINE_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/** Bytes of the smallest message that holds this. */
#define TIMED_BYTES 16

struct timed_exchange {
    uint64_t sent_ns; /**< our clock, before it was sent */
    uint64_t came_ns; /**< the other end's clock */
    uint64_t done_ns; /**< our clock, when the answer arrived */
};

/** Sends a message and receives its answer. Late answers to earlier ones, which an unreliable
 *  driver may deliver, are discarded. 0, -ETIMEDOUT (lost), or the driver's error; -EBADMSG:
 *  another message than the answer, over a reliable driver. */
int timed_exchange(struct run *run, struct timed_exchange *exchange);

/** The answering end: `skip + count` messages, or until `stop`. */
int timed_respond(struct run *run);

/** Whether a message was lost, over an unreliable driver. */
bool timed_lost(const struct run *run, int error);

#endif
