/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h - one end of a run. Every driver is measured by the same patterns (pattern.h), which
 * use the same parts (run.h).
 *
 * One thread. The function blocks during the run. The driver must return -ECANCELED when its host
 * says `stopped`.
 */
#ifndef BEOWIRE_ENGINE_MEASURE_H
#define BEOWIRE_ENGINE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "../drivers/driver.h"
#include "histogram.h"
#include "probe.h"

struct pattern;
struct walk;

/** Bytes by which a pattern may move a message in its buffer; the user may move it by as many. */
#define MEASURE_SLACK_BYTES (DRIVER_SLACK_BYTES / 2)

/** Longest description of a wrong message, with its zero byte. */
#define MEASURE_FAULT_BYTES 128

/** The most messages of a run that are reported singly. */
#define MEASURE_FINISHED_MAX 64

struct measure_request {
    const struct driver *driver;
    void *session; /**< the driver's, after prepare() for `size` */
    enum driver_role role;
    const struct pattern *pattern; /**< supported by the driver (pattern_obstacle()) */
    uint64_t size;                 /**< of a message, in bytes */
    uint64_t skip;                 /**< messages sent first and not measured */
    uint64_t count;                /**< measured messages */
    uint64_t batch;                /**< round trips per sample */
    uint64_t deadline_ns;          /**< CLOCK_MONOTONIC: no message begins after it */
    uint8_t
        *outgoing; /**< contents to send: `size` bytes (at least 8), or twice as many if the driver
                      has collective(), and MEASURE_SLACK_BYTES more; changed by the run */
    uint8_t *incoming;    /**< as large as `outgoing`, not overlapping */
    uint64_t serial;      /**< the same at both ends, different for each run of a session */
    uint64_t start_ns;    /**< CLOCK_MONOTONIC: when the initiator begins; 0: at once */
    uint64_t interval_ns; /**< between the due times of two messages; 0: each is due at once */
    bool one_clock;       /**< the two ends' clocks can be compared */
    /** The responder's clock minus the initiator's, modulo 2^64; 0 on one kernel. */
    uint64_t clock_offset_ns;
    struct walk *walk; /**< memory for patterns that need much; the caller ends it */

    const struct probes *probes; /**< read at the beginning and the end; or NULL */

    /** Should the run end now? A system call. Once true, it must stay true. */
    bool (*interrupted)(void *context);
    void *context;
};

/** Medians over the measured transfers: [0] sent, [1] received by this end. */
struct measure_overlap {
    uint64_t alone_ns[2];  /**< duration without computing; 0: not measured */
    uint64_t beside_ns[2]; /**< duration beyond that of the simultaneous computing */
};

/** Bounds of the responder's clock minus the initiator's. */
struct measure_clock {
    bool known;
    int64_t low_ns;
    int64_t high_ns;
};

struct measure_result {
    uint64_t sent;     /**< measured messages that this end has sent */
    uint64_t received; /**< measured messages that have arrived at this end */
    uint64_t lost;     /**< measured messages without an answer (unreliable ping-pong) */
    uint64_t elapsed_ns;
    struct probe_values before; /**< of the probes, before the first measured message */
    struct probe_values after;  /**< of the probes, after the last one */
    uint64_t walk_bytes;        /**< memory that the messages used in turn; 0: one buffer */
    uint64_t cache_bytes;       /**< of the last-level cache that `walk_bytes` should exceed */
    struct measure_overlap overlap;
    struct measure_clock clock;
    uint64_t started_ns; /**< CLOCK_MONOTONIC, when `elapsed_ns` began */
    uint64_t late;       /**< measured messages sent more than an interval after they were due */
    /** From when each of the first measured messages was due until it was answered. */
    uint64_t finished_ns[MEASURE_FINISHED_MAX];
    uint64_t finished; /**< number of them; 0: not measured */
    bool stopped;      /**< ended before its count */
    /** Both ends agree on which message is next. False after a run that ended inside a message:
     *  then a reliable session cannot be used again. */
    bool in_step;
    char fault[MEASURE_FAULT_BYTES]; /**< with -EBADMSG: what was wrong, if known */
};

/** Carries out one end of a run. Adds samples to `samples`, which the caller has emptied, if the
 *  pattern reports times and this is the initiator. 0, or the driver's negative errno; -EBADMSG: a
 *  message has other contents than were sent. */
int measure_run(const struct measure_request *request, struct measure_result *result,
                struct histogram *samples);

#endif
