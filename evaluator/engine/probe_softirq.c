/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_softirq.c - the CPU time that the kernel spends on interrupts and charges to no process.
 *
 * Most of the work of a network stack happens after an interrupt, and getrusage() may or may not
 * include it. So that nothing is counted twice, this depends on the kernel:
 *
 * - with IRQ_TIME_ACCOUNTING, interrupts are not charged to the interrupted process but to the
 *   columns `irq` and `softirq` of /proc/stat, in steps of 10 ms. Such a kernel counts every timer
 *   interrupt, so `irq` is above zero seconds after the start.
 * - without it, interrupts are charged to the interrupted process, and work deferred to the threads
 *   ksoftirqd/N is charged to them (/proc/PID/schedstat, in ns). Work that interrupts an idle CPU
 *   is not charged at all, and is missing here; so is `irq`.
 *
 * In a container the threads may not be visible.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "facts.h"
#include "probe.h"

#define THREAD_NAME "ksoftirqd/"
#define THREADS_MAX 1024

enum figure { IRQ, SOFTIRQ };

struct softirq {
    int stat;            /* /proc/stat, or -1: use the threads */
    size_t thread_count; /* 0 with `stat` */
    int threads[THREADS_MAX];
};

/* The first line of /proc/stat: "cpu user nice system idle iowait irq softirq ...", in ticks. */
static bool read_ticks(int stat, unsigned long long *irq, unsigned long long *softirq)
{
    char text[256];
    ssize_t count = pread(stat, text, sizeof text - 1, 0);
    if (count <= 0) {
        return false;
    }
    text[count] = '\0';
    unsigned long long columns[7];
    char *at = text;
    if (strncmp(at, "cpu ", 4) != 0) {
        return false;
    }
    at += 4;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        char *end = at;
        columns[i] = strtoull(at, &end, 10);
        if (end == at) {
            return false;
        }
        at = end;
    }
    *irq = columns[5];
    *softirq = columns[6];
    return true;
}

static void add_thread(struct softirq *softirq, const char *proc, const char *pid)
{
    char path[512];
    char name[64];
    (void)snprintf(path, sizeof path, "%s/%s/comm", proc, pid);
    if (!facts_read(path, name, sizeof name) ||
        strncmp(name, THREAD_NAME, sizeof THREAD_NAME - 1) != 0 ||
        softirq->thread_count == THREADS_MAX) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/%s/schedstat", proc, pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        softirq->threads[softirq->thread_count++] = file;
    }
}

static void find_threads(struct softirq *softirq, const char *proc)
{
    DIR *directory = opendir(proc);
    const struct dirent *entry = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            add_thread(softirq, proc, entry->d_name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

static void *softirq_open(const struct probe_place *place, probe_reasons reasons)
{
    char path[256];
    unsigned long long irq = 0;
    unsigned long long soft = 0;
    struct softirq *softirq = calloc(1, sizeof *softirq);
    if (softirq == NULL) {
        (void)snprintf(reasons[IRQ], PROBE_REASON_BYTES, "no memory");
        (void)snprintf(reasons[SOFTIRQ], PROBE_REASON_BYTES, "no memory");
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/stat", place->proc);
    softirq->stat = open(path, O_RDONLY | O_CLOEXEC);
    if (softirq->stat >= 0 && read_ticks(softirq->stat, &irq, &soft) && irq > 0) {
        return softirq;
    }
    if (softirq->stat >= 0) {
        close(softirq->stat);
        softirq->stat = -1;
    }
    (void)snprintf(reasons[IRQ], PROBE_REASON_BYTES,
                   "this kernel charges it to the interrupted process (no IRQ_TIME_ACCOUNTING)");
    find_threads(softirq, place->proc);
    if (softirq->thread_count == 0) {
        (void)snprintf(reasons[SOFTIRQ], PROBE_REASON_BYTES,
                       "the threads ksoftirqd/N are not visible: this is a container");
    }
    return softirq;
}

static void softirq_close(void *state)
{
    struct softirq *softirq = state;
    if (softirq == NULL) {
        return;
    }
    if (softirq->stat >= 0) {
        close(softirq->stat);
    }
    for (size_t i = 0; i < softirq->thread_count; i++) {
        close(softirq->threads[i]);
    }
    free(softirq);
}

static uint64_t thread_ns(const struct softirq *softirq)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < softirq->thread_count; i++) {
        char text[128];
        ssize_t count = pread(softirq->threads[i], text, sizeof text - 1, 0);
        if (count > 0) {
            text[count] = '\0';
            sum += strtoull(text, NULL, 10);
        }
    }
    return sum;
}

static void softirq_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    const struct softirq *softirq = state;
    unsigned long long irq = 0;
    unsigned long long soft = 0;
    if (softirq->stat < 0) {
        values[SOFTIRQ] = thread_ns(softirq);
    } else if (read_ticks(softirq->stat, &irq, &soft)) {
        const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
        values[IRQ] = irq * tick_ns;
        values[SOFTIRQ] = soft * tick_ns;
    }
}

const struct probe PROBE_SOFTIRQ = {
    .name = "softirq",
    .how = "/proc/stat if the kernel accounts interrupts apart, else the threads ksoftirqd/N",
    .of = PROBE_MACHINE,
    .figures =
        {
            [IRQ] = {"irq_ns", "ns", PROBE_PER_MESSAGE,
                     "CPU time in interrupts, charged to no process"},
            [SOFTIRQ] = {"softirq_ns", "ns", PROBE_PER_MESSAGE,
                         "CPU time after interrupts, charged to no process"},
        },
    .open = softirq_open,
    .read = softirq_read,
    .close = softirq_close,
};
