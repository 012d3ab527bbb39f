/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h - the one measuring loop: every driver is measured by this code and no other.
 *
 * Ping-pong, initiator: one clock read a sample, the end of a sample is the start of the next, so
 * no time falls between them. Between two samples, about every 10 ms, the loop looks whether it
 * should end (a system call), and reads the clock again after that: the look is in no sample.
 * The responder and a stream's sender have no clock read a message at all: they count messages,
 * and adapt how many to let pass between two looks.
 *
 * Stream: many messages are under way at once; a driver whose sends and receives can be posted in
 * advance has functions for that (driver.h). The skipped messages of a reliable stream are answered
 * before the clock starts, all of it before the clock stops: neither is what was skipped measured,
 * nor is anything that was measured still on its way.
 *
 * An unreliable driver may deliver an answer after its loss timeout, when the next message is
 * already on its way. Messages of unreliable drivers therefore carry a running number in their
 * first (up to 8) bytes, and an answer with another number is thrown away.
 *
 * One thread. The function blocks for as long as the run lasts, and relies on the driver to return
 * -ECANCELED when its host says `stopped`.
 */
#ifndef BEOWIRE_ENGINE_MEASURE_H
#define BEOWIRE_ENGINE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "../drivers/driver.h"
#include "histogram.h"
#include "softirq.h"

enum measure_pattern {
    MEASURE_PINGPONG,
    MEASURE_STREAM,
};

struct measure_request {
    const struct driver *driver;
    void *session; /**< the driver's; prepare() for `size` has been called */
    enum driver_role role;
    enum measure_pattern pattern;
    uint64_t size;        /**< bytes of a message */
    uint64_t skip;        /**< messages that go first and are not measured */
    uint64_t count;       /**< messages that are measured */
    uint64_t batch;       /**< round trips of one sample */
    uint64_t deadline_ns; /**< CLOCK_MONOTONIC: after this, end before the next message */
    uint8_t *outgoing; /**< `size` bytes (at least 8) of content to send; its first bytes change */
    uint8_t *incoming; /**< as large as `outgoing`, not overlapping */

    const struct softirq *softirq; /**< where to read softirq time; NULL: it is not read */

    /** Should the run end now? A system call; must stay true once it was true. */
    bool (*interrupted)(void *context);
    void *context;
};

struct measure_cpu {
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t softirq_ns; /**< the machine's, where it is not in the other two (softirq.h) */
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
};

struct measure_result {
    uint64_t sent;     /**< measured messages that this end has sent */
    uint64_t received; /**< measured messages that have arrived at this end */
    uint64_t lost;     /**< measured messages without an answer (unreliable ping-pong) */
    uint64_t elapsed_ns;
    struct measure_cpu cpu; /**< of the process, from the first measured message to the end */
    bool stopped;           /**< ended before its count */
    /** The two ends agree on which message is next. False after a run that was cut short inside
     *  a message: a reliable session cannot be used for another run then. */
    bool in_step;
};

/** Carries out one end of a run. Samples go into `samples` (the initiator's ping-pong only), which
 *  the caller has emptied. 0, or the driver's negative errno; -EBADMSG: an answer came back with
 *  other content than was sent. */
int measure_run(const struct measure_request *request, struct measure_result *result,
                struct histogram *samples);

#endif
