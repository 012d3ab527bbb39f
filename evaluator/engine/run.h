/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - what the patterns are made of: messages, the clock, and when to end.
 *
 * Whoever reads the clock a sample makes the end of one sample the start of the next, so no time
 * falls between them. Between two samples, about every 10 ms, such a loop looks whether it should
 * end (a system call), and reads the clock again after that: the look is in no sample. The others
 * have no clock read a message at all: they count messages, and adapt how many to let pass between
 * two looks (`struct pace`).
 *
 * One thread. What can be in a loop of messages is inline.
 */
#ifndef BEOWIRE_ENGINE_RUN_H
#define BEOWIRE_ENGINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "measure.h"

/** How often a loop looks whether it should end. */
#define RUN_LOOK_INTERVAL_NS UINT64_C(10000000)

/** Bytes of the running number in a message, and of an answer. */
#define RUN_STAMP_BYTES 8

/** Most messages that are posted at once, at each end, of each kind: as in OSU's tests. */
#define RUN_WINDOW 64

struct run {
    const struct measure_request *request;
    struct measure_result *result;
    struct histogram *samples;
    uint8_t *outgoing; /**< the next message: `size` bytes (at least 8) of content */
    uint8_t *incoming; /**< where the next one is put */
    /** Bytes of a message that this end sends, and of one that it receives: `size`, unless the
     *  pattern has it otherwise. Then it is run_answer_bytes(), which drivers know of. */
    uint64_t send_bytes;
    uint64_t receive_bytes;
    /** Moves the two to where the next messages lie; NULL: they stay. */
    void (*place)(struct run *run);
    uint64_t placed;     /**< how often it did */
    uint64_t stamp;      /**< running number of the last message sent */
    size_t stamp_bytes;  /**< as much of it as fits into a message */
    uint64_t started_ns; /**< clock at the first measured message */
    bool stop;           /**< the run should end before its count */
};

/** Probes first: reading them takes a while, and must not be in the time. */
void run_begin_probes(struct run *run);
void run_begin_clock(struct run *run);
void run_begin_measured(struct run *run);

/** Takes the result's time, from the begin of the clock to `end_ns`, and what probes say. */
void run_end_measured(struct run *run, uint64_t end_ns);

/** Whether the deadline has passed, or the caller wants an end. A system call. */
bool run_should_end(const struct run *run, uint64_t now_ns);

/** Gives the outgoing message the next running number, as far as it fits. */
void run_stamp(struct run *run);

/** One message, as driver.h has them. */
static inline int run_send(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->send(request->session, run->outgoing, run->send_bytes);
}

static inline int run_receive(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->receive(request->session, run->incoming, run->receive_bytes);
}

/** Sends back what came, from where it lies. */
static inline int run_echo(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->send(request->session, run->incoming, run->send_bytes);
}

/** Whether one end can tell the other that all is there: over a reliable driver with two ends. */
bool run_is_answered(const struct run *run);

/** An answer: a message of min(size, 8) bytes, or of the driver's smallest size. */
uint64_t run_answer_bytes(const struct run *run);
int run_send_answer(const struct run *run);
int run_receive_answer(const struct run *run);

/** Pacing of the loops that read no clock: they look after a number of messages that takes about a
 *  millisecond to pass. */
struct pace {
    uint64_t left;
    uint64_t messages;
    uint64_t last_read_ns;
    uint64_t last_look_ns;
};

struct pace pace_start(void);

/** Reads the clock, adapts the pace, and now and then sets `run->stop`. */
void pace_look(struct pace *pace, struct run *run);

/** To be called after each message. */
static inline void pace_message(struct pace *pace, struct run *run)
{
    if (--pace->left == 0) {
        pace_look(pace, run);
    }
}

#endif
