/* SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

#include <stdlib.h>

void schedule_open(struct schedule *schedule, uint32_t sources)
{
    *schedule = (struct schedule){
        .heap = calloc(sources, sizeof *schedule->heap),
        .place = calloc(sources, sizeof *schedule->place),
    };
    if (schedule->heap == NULL || schedule->place == NULL) {
        abort();
    }
}

void schedule_close(struct schedule *schedule)
{
    free(schedule->heap);
    free(schedule->place);
}

static bool is_before(const struct schedule_entry *one, const struct schedule_entry *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->serial < other->serial;
}

static void put(struct schedule *schedule, uint32_t at, const struct schedule_entry *entry)
{
    schedule->heap[at] = *entry;
    schedule->place[entry->source] = at + 1;
}

/** Moves an entry to where it belongs, from the place `at`, which is free. */
static void settle(struct schedule *schedule, uint32_t at, struct schedule_entry entry)
{
    while (at > 0 && is_before(&entry, &schedule->heap[(at - 1) / 2])) {
        put(schedule, at, &schedule->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (uint32_t child = 2 * at + 1; child < schedule->count; child = 2 * at + 1) {
        if (child + 1 < schedule->count &&
            is_before(&schedule->heap[child + 1], &schedule->heap[child])) {
            child++;
        }
        if (!is_before(&schedule->heap[child], &entry)) {
            break;
        }
        put(schedule, at, &schedule->heap[child]);
        at = child;
    }
    put(schedule, at, &entry);
}

static void take_out(struct schedule *schedule, uint32_t at)
{
    struct schedule_entry last = schedule->heap[--schedule->count];

    schedule->place[schedule->heap[at].source] = 0;
    if (at < schedule->count) {
        settle(schedule, at, last);
    }
}

void schedule_set(struct schedule *schedule, uint32_t source, uint64_t at_ns)
{
    uint32_t place = schedule->place[source];

    if (at_ns == UINT64_MAX) {
        if (place != 0) {
            take_out(schedule, place - 1);
        }
        return;
    }
    settle(schedule, place != 0 ? place - 1 : schedule->count++,
           (struct schedule_entry){at_ns, schedule->serial++, source});
}

void schedule_by(struct schedule *schedule, uint32_t source, uint64_t at_ns)
{
    uint32_t place = schedule->place[source];

    if (place == 0 || at_ns < schedule->heap[place - 1].at_ns) {
        schedule_set(schedule, source, at_ns);
    }
}

bool schedule_take(struct schedule *schedule, uint32_t *source, uint64_t *at_ns)
{
    if (schedule->count == 0) {
        return false;
    }
    *source = schedule->heap[0].source;
    *at_ns = schedule->heap[0].at_ns;
    take_out(schedule, 0);
    return true;
}
