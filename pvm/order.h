/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.h - messages that have begun to come over Beowire, until libpvm3 may have them.
 *
 * PVM promises that two messages from one task to another arrive in the order in which they were
 * sent. Over Beowire a long one takes longer than a short one behind it; and a task that has sent
 * by the daemons before goes over to Beowire at some moment, where it would overtake itself. It
 * says that moment the old way, behind all that it has sent so (its *mark*), with a number; every
 * message over Beowire has the number of the mark that was before it, and waits for that.
 *
 *      arrivals_add()   in the order in which Beowire has them
 *      arrivals_take()  the next one that is complete, whose mark has come, and that no other one
 *                       of the same source is still before
 *
 * Pure. Arrivals and sources are the caller's.
 */
#ifndef BEOWIRE_PVM_ORDER_H
#define BEOWIRE_PVM_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whom messages come from. */
struct source {
    uint32_t mark;         /**< number of its last mark; 0: none has come */
    struct arrival *first; /**< order.c's own, as the next two: what waits */
    struct arrival *last;
    struct source *next;
};

struct arrival {
    struct arrival *next; /**< order.c's own, as the next one */
    uint64_t number;
    struct source *source;
    uint32_t mark; /**< that has to come before it */
    bool complete;
};

/** Sources from which something waits: each looks at its oldest only, however many are behind it.
 */
struct arrivals {
    struct source *first; /**< NULL: nothing waits */
    uint64_t added;
};

void arrivals_add(struct arrivals *arrivals, struct arrival *arrival);

/** Takes the next one out. @return NULL: none may be had yet. */
struct arrival *arrivals_take(struct arrivals *arrivals);

/** Takes one out, whatever it lacks. @return NULL: there is none. */
struct arrival *arrivals_drop(struct arrivals *arrivals);

#endif
