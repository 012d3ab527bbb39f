/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softirq.h - the CPU time that the kernel spends on interrupts for nobody in particular.
 *
 * Most of what a network stack does for a process happens after an interrupt: getrusage() may or
 * may not have it. There are two kinds of kernel, and each needs another complement so that
 * nothing is counted twice:
 *
 * - with IRQ_TIME_ACCOUNTING, processes are charged nothing of what interrupts them: it is in the
 *   columns `irq` and `softirq` of /proc/stat, in steps of 10 ms. Those of such a kernel count
 *   every timer interrupt, so `irq` is above zero seconds after the start.
 * - without it, what interrupts a process is charged to that process; what was put off to the
 *   threads ksoftirqd/N is charged to them (/proc/PID/schedstat, in ns). Work that interrupts an
 *   idle CPU is charged to nobody, and not in here either.
 *
 * The figure is the whole machine's: two ends that share a kernel share it, and so does whatever
 * else runs.
 */
#ifndef BEOWIRE_ENGINE_SOFTIRQ_H
#define BEOWIRE_ENGINE_SOFTIRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTIRQ_THREADS_MAX 1024

struct softirq {
    int stat;            /**< /proc/stat, or -1: look at the threads */
    size_t thread_count; /**< without `stat`; 0: the time is not known */
    int *threads;        /**< schedstat of each ksoftirqd */
};

/** Finds out what to read. `proc` is "/proc" but in tests. Never fails: see softirq_known(). */
void softirq_open(struct softirq *softirq, const char *proc);

void softirq_close(struct softirq *softirq);

/** Whether softirq_ns() means anything: in a container the threads may be out of sight. */
bool softirq_known(const struct softirq *softirq);

/** CPU time so far, in ns; only differences mean something. One system call a file. */
uint64_t softirq_ns(const struct softirq *softirq);

#endif
