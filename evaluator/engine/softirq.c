/* SPDX-License-Identifier: BSD-3-Clause */
#include "softirq.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "facts.h"

#define THREAD_NAME "ksoftirqd/"

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
        softirq->thread_count == SOFTIRQ_THREADS_MAX) {
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
    softirq->threads = calloc(SOFTIRQ_THREADS_MAX, sizeof *softirq->threads);
    const struct dirent *entry = NULL;
    while (softirq->threads != NULL && directory != NULL && (entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            add_thread(softirq, proc, entry->d_name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

void softirq_open(struct softirq *softirq, const char *proc)
{
    char path[256];
    unsigned long long irq = 0;
    unsigned long long soft = 0;
    *softirq = (struct softirq){.stat = -1};
    (void)snprintf(path, sizeof path, "%s/stat", proc);
    int stat = open(path, O_RDONLY | O_CLOEXEC);
    if (stat >= 0 && read_ticks(stat, &irq, &soft) && irq > 0) {
        softirq->stat = stat;
        return;
    }
    if (stat >= 0) {
        close(stat);
    }
    find_threads(softirq, proc);
}

void softirq_close(struct softirq *softirq)
{
    if (softirq->stat >= 0) {
        close(softirq->stat);
    }
    for (size_t i = 0; i < softirq->thread_count; i++) {
        close(softirq->threads[i]);
    }
    free(softirq->threads);
    *softirq = (struct softirq){.stat = -1};
}

bool softirq_known(const struct softirq *softirq)
{
    return softirq->stat >= 0 || softirq->thread_count > 0;
}

uint64_t softirq_ns(const struct softirq *softirq)
{
    unsigned long long irq = 0;
    unsigned long long soft = 0;
    if (softirq->stat >= 0) {
        uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
        return read_ticks(softirq->stat, &irq, &soft) ? (irq + soft) * tick_ns : 0;
    }
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
