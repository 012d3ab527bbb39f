/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - the parts of patterns: messages, the clock, and when to end.
 *
 * A loop that reads the clock for each sample uses the end of one sample as the start of the next,
 * so no time is lost between them. About every 10 ms, between two samples, it checks whether to end
 * (a system call), and then reads the clock again, so that the check is in no sample. The other
 * loops do not read the clock for each message. They count messages, and adapt the number between
 * two checks (`struct pace`).
 *
 * One thread. Functions used in a loop of messages are inline.
 */
#ifndef BEOWIRE_ENGINE_RUN_H
#define BEOWIRE_ENGINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "measure.h"

/** Time between two checks whether the run should end. */
#define RUN_LOOK_INTERVAL_NS UINT64_C(10000000)

/** Bytes of the running number in a message, and of an answer. */
#define RUN_STAMP_BYTES 8

/** The most messages posted at once at each end, of each kind, as in OSU's benchmarks. */
#define RUN_WINDOW 64

struct run {
    const struct measure_request *request;
    struct measure_result *result;
    struct histogram *samples;
    uint8_t *outgoing; /**< the next message: `size` bytes (at least 8) of content */
    uint8_t *incoming; /**< the buffer for the next one */
    /** Bytes of a message that this end sends, and of one that it receives: `size`, or
     *  run_answer_bytes() if the pattern says so. Drivers know both. */
    uint64_t send_bytes;
    uint64_t receive_bytes;
    /** Moves `outgoing` and `incoming` for the next messages; NULL: they stay. */
    void (*place)(struct run *run);
    uint64_t placed;     /**< calls of place() */
    uint64_t stamp;      /**< running number of the last message sent */
    size_t stamp_bytes;  /**< the part of it that fits into a message */
    uint64_t started_ns; /**< clock at the first measured message */
    bool stop;           /**< the run should end before its count */
};

/** Call run_begin_probes() first: reading probes takes time, which must not be measured. */
void run_begin_probes(struct run *run);
void run_begin_clock(struct run *run);
void run_begin_measured(struct run *run);

/** Sets the result's time, from run_begin_clock() to `end_ns`, and the values of the probes. */
void run_end_measured(struct run *run, uint64_t end_ns);

/** Whether the deadline has passed, or the caller wants the run to end. A system call. */
bool run_should_end(const struct run *run, uint64_t now_ns);

/** Gives the outgoing message the next running number, as far as it fits. */
void run_stamp(struct run *run);

/** Send or receive one message, as in driver.h. */
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

/** Sends the received message back, from its buffer. */
static inline int run_echo(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->send(request->session, run->incoming, run->send_bytes);
}

/** Whether one end can confirm the arrival of all: over a reliable driver with two ends. */
bool run_is_answered(const struct run *run);

/** An answer: a message of min(size, 8) bytes, or of the driver's smallest size. */
uint64_t run_answer_bytes(const struct run *run);
int run_send_answer(const struct run *run);
int run_receive_answer(const struct run *run);

/** Pacing of loops that do not read the clock for each message: they check after as many messages
 *  as take about a millisecond. */
struct pace {
    uint64_t left;
    uint64_t messages;
    uint64_t last_read_ns;
    uint64_t last_look_ns;
};

struct pace pace_start(void);

/** Reads the clock, adapts the pace, and sometimes sets `run->stop`. */
void pace_look(struct pace *pace, struct run *run);

/** Call after each message. */
static inline void pace_message(struct pace *pace, struct run *run)
{
    if (--pace->left == 0) {
        pace_look(pace, run);
    }
}

#endif
