/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_counter.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "facts.h"

static int open_thread(struct perf_counter *counter, pid_t tid, uint32_t type, uint64_t config)
{
    struct perf_event_attr attributes = {
        .type = type,
        .size = sizeof attributes,
        .config = config,
        .inherit = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    int file = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) {
        return -errno;
    }
    counter->threads[counter->count++] = file;
    return 0;
}

int perf_counter_open(struct perf_counter *counter, uint32_t type, uint64_t config)
{
    *counter = (struct perf_counter){0};
    const pid_t own = (pid_t)syscall(SYS_gettid);
    int error = open_thread(counter, own, type, config);
    DIR *directory = error == 0 ? opendir("/proc/self/task") : NULL;
    const struct dirent *entry = NULL;
    while (error == 0 && directory != NULL && (entry = readdir(directory)) != NULL &&
           counter->count < PERF_THREADS_MAX) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && tid != own) {
            error = open_thread(counter, tid, type, config);
            error = error == -ESRCH ? 0 : error; /* the thread has ended */
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    if (error != 0) {
        perf_counter_close(counter);
    }
    return error;
}

uint64_t perf_counter_read(const struct perf_counter *counter)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < counter->count; i++) {
        struct {
            uint64_t value;
            uint64_t enabled_ns;
            uint64_t running_ns;
        } said;
        if (read(counter->threads[i], &said, sizeof said) != sizeof said) {
            continue;
        }
        if (said.running_ns > 0 && said.running_ns < said.enabled_ns) {
            said.value =
                (uint64_t)((double)said.value * (double)said.enabled_ns / (double)said.running_ns);
        }
        sum += said.value;
    }
    return sum;
}

void perf_counter_close(struct perf_counter *counter)
{
    for (size_t i = 0; i < counter->count; i++) {
        close(counter->threads[i]);
    }
    counter->count = 0;
}

void perf_counter_explain(int error, const char *proc, char *reason, size_t bytes)
{
    char path[256];
    char level[16] = "?";
    switch (abs(error)) {
    case EACCES:
    case EPERM:
        (void)snprintf(path, sizeof path, "%s/sys/kernel/perf_event_paranoid", proc);
        (void)facts_read(path, level, sizeof level);
        (void)snprintf(reason, bytes,
                       "not allowed (kernel.perf_event_paranoid is %s): run as root, or with "
                       "CAP_PERFMON",
                       level);
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        (void)snprintf(reason, bytes,
                       "this machine has no such counter (most virtual machines have none)");
        break;
    case ENOSYS:
        (void)snprintf(reason, bytes, "this kernel has no perf events");
        break;
    default:
        (void)snprintf(reason, bytes, "perf_event_open: %s", strerror(abs(error)));
    }
}
