/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - records when a message passes places in the code, in a ring of time stamps.
 *
 * Disabled, each place costs a load and a branch never taken. Enabled, it costs a call, a read of
 * the processor's counter and 16 bytes written: under 20 ns. The ring keeps the latest points, in
 * memory that another process can read (endpoint/trace_file.h).
 *
 * One thread at a time, in the endpoint's turn.
 */
#ifndef BEOWIRE_ROUTE_TRACE_H
#define BEOWIRE_ROUTE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/** The places, in the order in which a message passes them. Files contain their numbers
 *  (evaluator/beowire/explain/timeline.py), so add new ones at the end. */
enum trace_place {
    TRACE_POSTED = 1,   /**< the application has posted a message; its bytes */
    TRACE_MADE,         /**< the message layer has made frames of it, or queued it */
    TRACE_SEALED,       /**< frames are sealed; their number */
    TRACE_OUT,          /**< frames are passed to a lane; their type */
    TRACE_LEFT,         /**< the lane has taken them; their number */
    TRACE_SEEN,         /**< a frame has arrived and can be read; its type */
    TRACE_ACKNOWLEDGED, /**< its acknowledgements are processed */
    TRACE_MATCHED,      /**< its message is matched and copied */
    TRACE_ACCEPTED,     /**< the flow has accepted it */
    TRACE_TAKEN,        /**< the application has taken completions; their number */
};

struct trace_point {
    uint64_t ticks;
    uint32_t place;  /**< enum trace_place */
    uint32_t detail; /**< number given by the place */
};

/** A ring, and its clock. */
struct trace {
    struct trace_point *points; /**< owned by the opener */
    uint64_t *noted;            /**< points recorded so far; owned by the opener */
    uint64_t (*ticks)(void);    /**< the time, in units of the opener */
    uint32_t mask;              /**< capacity, a power of 2, minus one */
};

/** Records a point. */
void trace_note(struct trace *trace, enum trace_place place, uint64_t detail);

/** Records a point if there is a ring. @param trace NULL: none. */
static inline void trace_here(struct trace *trace, enum trace_place place, uint64_t detail)
{
    if (__builtin_expect(trace != NULL, 0)) {
        trace_note(trace, place, detail);
    }
}

#endif /* BEOWIRE_ROUTE_TRACE_H */
