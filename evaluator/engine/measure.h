/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.h - one end of a run: every driver is measured by the same patterns (pattern.h), which
 * are made of the same parts (run.h).
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
#include "probe.h"

struct pattern;
struct walk;

/** Bytes that a pattern may move a message up in its buffer; as many are the user's. */
#define MEASURE_SLACK_BYTES (DRIVER_SLACK_BYTES / 2)

/** Longest line that says what was wrong with a message, with its end. */
#define MEASURE_FAULT_BYTES 128

/** Most messages of a run that are reported one by one. */
#define MEASURE_FINISHED_MAX 64

struct measure_request {
    const struct driver *driver;
    void *session; /**< the driver's; prepare() for `size` has been called */
    enum driver_role role;
    const struct pattern *pattern; /**< one that the driver can carry (pattern_obstacle()) */
    uint64_t size;                 /**< bytes of a message */
    uint64_t skip;                 /**< messages that go first and are not measured */
    uint64_t count;                /**< messages that are measured */
    uint64_t batch;                /**< round trips of one sample */
    uint64_t deadline_ns;          /**< CLOCK_MONOTONIC: after this, end before the next message */
    uint8_t *outgoing;    /**< `size` bytes (at least 8) of content to send, which changes, and
                               MEASURE_SLACK_BYTES more; twice `size` where the driver has
                               collective() */
    uint8_t *incoming;    /**< as large as `outgoing`, not overlapping */
    uint64_t serial;      /**< the same at both ends, another one for each run of a session */
    uint64_t start_ns;    /**< CLOCK_MONOTONIC: the initiator begins then; 0: at once */
    uint64_t interval_ns; /**< between the times at which two messages are due; 0: at once */
    bool one_clock;       /**< the two ends' clocks can be compared: */
    /** the responder's minus the initiator's, modulo 2^64; 0 on one kernel */
    uint64_t clock_offset_ns;
    struct walk *walk; /**< memory for patterns that need much; the caller's to end */

    const struct probes *probes; /**< read at the begin and the end; NULL: none is */

    /** Should the run end now? A system call; must stay true once it was true. */
    bool (*interrupted)(void *context);
    void *context;
};

/** Medians over the measured transfers: of those that this end sent, and of those it received. */
struct measure_overlap {
    uint64_t alone_ns[2];  /**< what they took without computing; 0: this was not measured */
    uint64_t beside_ns[2]; /**< what they took beyond the computing beside which they went on */
};

/** Of the offset of the responder's clock against the initiator's. */
struct measure_clock {
    bool known;
    int64_t low_ns;  /**< it is not less */
    int64_t high_ns; /**< it is not more */
};

struct measure_result {
    uint64_t sent;     /**< measured messages that this end has sent */
    uint64_t received; /**< measured messages that have arrived at this end */
    uint64_t lost;     /**< measured messages without an answer (unreliable ping-pong) */
    uint64_t elapsed_ns;
    struct probe_values before; /**< what probes said before the first measured message */
    struct probe_values after;  /**< and after the last */
    uint64_t walk_bytes;        /**< memory that messages walked through; 0: they did not */
    uint64_t cache_bytes;       /**< of the last-level cache that this was to be more than */
    struct measure_overlap overlap;
    struct measure_clock clock;
    uint64_t started_ns; /**< CLOCK_MONOTONIC, when `elapsed_ns` began */
    uint64_t late;       /**< measured messages that left more than an interval after their time */
    /** What the first measured messages took from when they were due until they were answered. */
    uint64_t finished_ns[MEASURE_FINISHED_MAX];
    uint64_t finished; /**< how many of them; 0: it was not measured */
    bool stopped;      /**< ended before its count */
    /** The two ends agree on which message is next. False after a run that was cut short inside
     *  a message: a reliable session cannot be used for another run then. */
    bool in_step;
    char fault[MEASURE_FAULT_BYTES]; /**< with -EBADMSG: what was wrong, if more is known */
};

/** Carries out one end of a run. Samples go into `samples` (the initiator's ping-pong only), which
 *  the caller has emptied. 0, or the driver's negative errno; -EBADMSG: a message came with other
 *  content than was sent. */
int measure_run(const struct measure_request *request, struct measure_result *result,
                struct histogram *samples);

#endif
