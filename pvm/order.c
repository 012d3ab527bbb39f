/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

void arrivals_add(struct arrivals *arrivals, struct arrival *arrival)
{
    arrival->next = NULL;
    if (arrivals->last != NULL) {
        arrivals->last->next = arrival;
    } else {
        arrivals->first = arrival;
    }
    arrivals->last = arrival;
}

static struct arrival *take_after(struct arrivals *arrivals, struct arrival *before)
{
    struct arrival *taken = before != NULL ? before->next : arrivals->first;

    if (before != NULL) {
        before->next = taken->next;
    } else {
        arrivals->first = taken->next;
    }
    if (arrivals->last == taken) {
        arrivals->last = before;
    }
    taken->next = NULL;
    return taken;
}

struct arrival *arrivals_take(struct arrivals *arrivals)
{
    struct arrival *before = NULL;

    arrivals->walks++;
    for (struct arrival *arrival = arrivals->first; arrival != NULL; arrival = arrival->next) {
        struct source *source = arrival->source;
        if (source->blocked != arrivals->walks) {
            if (arrival->complete && arrival->mark <= source->mark) {
                return take_after(arrivals, before);
            }
            source->blocked = arrivals->walks;
        }
        before = arrival;
    }
    return NULL;
}

struct arrival *arrivals_drop(struct arrivals *arrivals)
{
    return arrivals->first != NULL ? take_after(arrivals, NULL) : NULL;
}
