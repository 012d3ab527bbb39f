/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_counter.h - one counter of the kernel's perf events, over all threads of this process, those
 * that are yet to come included (perf_event_open(2)).
 */
#ifndef BEOWIRE_ENGINE_PERF_COUNTER_H
#define BEOWIRE_ENGINE_PERF_COUNTER_H

#include <stddef.h>
#include <stdint.h>

/** Threads that are there when a counter is opened, at most. */
#define PERF_THREADS_MAX 64

struct perf_counter {
    size_t count;
    int threads[PERF_THREADS_MAX]; /**< this thread's first */
};

/** Starts to count. `type` and `config` are perf_event_attr's. 0 or a negative errno. */
int perf_counter_open(struct perf_counter *counter, uint32_t type, uint64_t config);

/** The count so far. Where the processor has fewer counters than there are events, the kernel
 *  takes turns, and this is what it comes to. A system call a thread. */
uint64_t perf_counter_read(const struct perf_counter *counter);

void perf_counter_close(struct perf_counter *counter);

/** Why opening one failed with this errno (of either sign): one line, what to do. */
void perf_counter_explain(int error, const char *proc, char *reason, size_t bytes);

#endif
