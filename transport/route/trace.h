/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - when a message has passed which place of the code: a ring of time stamps.
 *
 * Off, each place costs a load and a branch that is never taken. On, it costs a call, a look at the
 * processor's counter and 16 bytes written: under 20 ns. The ring keeps the latest points; whoever
 * opens it (endpoint/trace_file.h) puts it where another process can read it.
 *
 * One thread at a time, in the endpoint's turn.
 */
#ifndef BEOWIRE_ROUTE_TRACE_H
#define BEOWIRE_ROUTE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/** The places, in the order in which a message comes by. Their numbers are in files that others
 *  read (evaluator/beowire/explain/timeline.py): a new one is the last. */
enum trace_place {
    TRACE_POSTED = 1,   /**< the application has posted a message; of so many bytes */
    TRACE_MADE,         /**< the message layer has made frames of it, or queued it */
    TRACE_SEALED,       /**< frames are sealed; so many */
    TRACE_OUT,          /**< frames go to a lane; of this type */
    TRACE_LEFT,         /**< the lane has taken them; so many */
    TRACE_SEEN,         /**< a frame has come, and can be read; of this type */
    TRACE_ACKNOWLEDGED, /**< what it acknowledges is done with */
    TRACE_MATCHED,      /**< it is a message's: matched, and copied */
    TRACE_ACCEPTED,     /**< the flow has it */
    TRACE_TAKEN,        /**< the application has taken completions; so many */
};

struct trace_point {
    uint64_t ticks;
    uint32_t place;  /**< enum trace_place */
    uint32_t detail; /**< what the place says of it */
};

/** A ring, and the clock of its points. */
struct trace {
    struct trace_point *points; /**< the owner's */
    uint64_t *noted;            /**< points that have been noted; the owner's */
    uint64_t (*ticks)(void);    /**< what time it is, in units of the owner's choice */
    uint32_t mask;              /**< how many points there is room for, a power of 2, less one */
};

/** Notes a point. */
void trace_note(struct trace *trace, enum trace_place place, uint64_t detail);

/** Notes a point if there is a ring. @param trace NULL: there is none. */
static inline void trace_here(struct trace *trace, enum trace_place place, uint64_t detail)
{
    if (__builtin_expect(trace != NULL, 0)) {
        trace_note(trace, place, detail);
    }
}

#endif /* BEOWIRE_ROUTE_TRACE_H */
