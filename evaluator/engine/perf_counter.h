/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_counter.h - one counter of the kernel's perf events, for all present and future threads of
 * this process (perf_event_open(2)).
 */
#ifndef BEOWIRE_ENGINE_PERF_COUNTER_H
#define BEOWIRE_ENGINE_PERF_COUNTER_H

#include <stddef.h>
#include <stdint.h>

/** The most threads that may exist when a counter is opened. */
#define PERF_THREADS_MAX 64

struct perf_counter {
    size_t count;
    int threads[PERF_THREADS_MAX]; /**< this thread's is the first */
};

/** Starts counting. `type` and `config` as in perf_event_attr. 0 or a negative errno. */
int perf_counter_open(struct perf_counter *counter, uint32_t type, uint64_t config);

/** The count so far. If there are more events than hardware counters, the kernel multiplexes them,
 *  and this is an estimate. One system call per thread. */
uint64_t perf_counter_read(const struct perf_counter *counter);

void perf_counter_close(struct perf_counter *counter);

/** Why opening one failed with this errno (of either sign), and what to do, in one line. */
void perf_counter_explain(int error, const char *proc, char *reason, size_t bytes);

#endif
