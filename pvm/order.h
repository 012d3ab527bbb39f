/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.h - messages that have begun to come over Beowire and may not be delivered to libpvm3 yet.
 *
 * PVM promises that messages from one task to another arrive in sending order. Over Beowire a short
 * message may complete before an earlier long one. And when a task changes from the daemons to
 * Beowire, later messages may overtake earlier ones. So it then sends a numbered *mark* the stock
 * way, after its earlier messages. Every message over Beowire has the number of the mark sent
 * before it, and waits for that mark.
 *
 *      arrivals_add()   in the order in which Beowire has them
 *      arrivals_take()  the next one that is complete, whose mark has come, and that is the first
 *                       of its source
 *
 * Pure. Arrivals and sources are the caller's.
 */
#ifndef BEOWIRE_PVM_ORDER_H
#define BEOWIRE_PVM_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A sender of messages. */
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

/** Sources with waiting messages; only the oldest message of each is checked. */
struct arrivals {
    struct source *first; /**< NULL: nothing waits */
    uint64_t added;
};

void arrivals_add(struct arrivals *arrivals, struct arrival *arrival);

/** Removes the next one. @return NULL: none can be delivered yet. */
struct arrival *arrivals_take(struct arrivals *arrivals);

/** Removes one, complete or not. @return NULL: there is none. */
struct arrival *arrivals_drop(struct arrivals *arrivals);

#endif
