/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

void arrivals_add(struct arrivals *arrivals, struct arrival *arrival)
{
    struct source *source = arrival->source;

    arrival->next = NULL;
    arrival->number = arrivals->added++;
    if (source->first != NULL) {
        source->last->next = arrival;
    } else {
        source->first = arrival;
        source->next = arrivals->first;
        arrivals->first = source;
    }
    source->last = arrival;
}

/* Takes a source's oldest out, and the source if that was its last. */
static struct arrival *take(struct source **link)
{
    struct source *source = *link;
    struct arrival *taken = source->first;

    source->first = taken->next;
    if (source->first == NULL) {
        *link = source->next;
    }
    taken->next = NULL;
    return taken;
}

struct arrival *arrivals_take(struct arrivals *arrivals)
{
    struct source **oldest = NULL;

    for (struct source **link = &arrivals->first; *link != NULL; link = &(*link)->next) {
        const struct arrival *first = (*link)->first;
        if (first->complete && first->mark <= (*link)->mark &&
            (oldest == NULL || first->number < (*oldest)->first->number)) {
            oldest = link;
        }
    }
    return oldest != NULL ? take(oldest) : NULL;
}

struct arrival *arrivals_drop(struct arrivals *arrivals)
{
    return arrivals->first != NULL ? take(&arrivals->first) : NULL;
}
