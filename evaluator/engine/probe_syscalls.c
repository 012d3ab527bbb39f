/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_syscalls.c - the system calls of this process, counted at a tracepoint in the kernel. While
 * it is enabled, each system call of every process takes about 0.1 us longer.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "facts.h"
#include "perf_counter.h"
#include "probe.h"

struct syscalls {
    uint64_t id;       /* the tracepoint's */
    uint64_t read_own; /* calls made by reading the counter */
    struct perf_counter counter;
};

static void *syscalls_open(const struct probe_place *place, probe_reasons reasons)
{
    char path[256];
    char text[32];
    (void)snprintf(path, sizeof path, "%s/events/raw_syscalls/sys_enter/id", place->tracing);
    if (!facts_read(path, text, sizeof text)) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES,
                       "cannot read %.70s: run as root, mount -t tracefs none %.40s", path,
                       place->tracing);
        return NULL;
    }
    struct syscalls *syscalls = calloc(1, sizeof *syscalls);
    if (syscalls == NULL) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES, "no memory");
        return NULL;
    }
    syscalls->id = strtoull(text, NULL, 10);
    int error = perf_counter_open(&syscalls->counter, PERF_TYPE_TRACEPOINT, syscalls->id);
    perf_counter_close(&syscalls->counter);
    if (error != 0) {
        perf_counter_explain(error, place->proc, reasons[0], PROBE_REASON_BYTES);
    }
    return syscalls;
}

static int syscalls_start(void *state)
{
    struct syscalls *syscalls = state;
    syscalls->read_own = 0;
    return perf_counter_open(&syscalls->counter, PERF_TYPE_TRACEPOINT, syscalls->id);
}

/* The first read counts itself, and the others come after their counters were read: so all of them
 * are in the next reading. */
static void syscalls_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    struct syscalls *syscalls = state;
    values[0] = perf_counter_read(&syscalls->counter) - syscalls->read_own;
    syscalls->read_own += syscalls->counter.count;
}

static void syscalls_stop(void *state)
{
    struct syscalls *syscalls = state;
    perf_counter_close(&syscalls->counter);
}

const struct probe PROBE_SYSCALLS = {
    .name = "syscalls",
    .how = "tracepoint raw_syscalls:sys_enter, by perf_event_open()",
    .of = PROBE_PROCESS,
    .disturbs = true,
    .figures = {{"syscalls", "", PROBE_PER_MESSAGE, "system calls"}},
    .open = syscalls_open,
    .start = syscalls_start,
    .read = syscalls_read,
    .stop = syscalls_stop,
    .close = free,
};
