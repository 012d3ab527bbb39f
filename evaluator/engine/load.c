/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "output.h"

#define SECONDS_MAX (UINT64_C(7) * 24 * 3600)
#define NICE_MAX 19

/* Turns between two looks at the clock: some 10 us, without a system call on most machines. */
#define TURNS 20000

struct hog {
    int cpu;
    int nice;
    uint64_t ends_at_ns;
};

/* One set of hogs a process: the threads outlive the call that starts them. */
static atomic_bool ended;
static atomic_size_t running;
static atomic_int failure;
static struct hog hogs[LOAD_HOGS_MAX];

static int settle(const struct hog *hog)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)hog->cpu, &one);
    /* Both calls are about this thread only. */
    if (sched_setaffinity(0, sizeof one, &one) != 0 ||
        setpriority(PRIO_PROCESS, (id_t)gettid(), hog->nice) != 0) {
        return errno;
    }
    return 0;
}

static void *be_hog(void *argument)
{
    const struct hog *hog = argument;
    volatile uint64_t product = 1;
    int error = settle(hog);
    if (error != 0) {
        atomic_store(&failure, error);
    }
    atomic_fetch_add(&running, 1);
    while (error == 0 && !atomic_load_explicit(&ended, memory_order_relaxed) &&
           clock_now_ns() < hog->ends_at_ns) {
        for (int turn = 0; turn < TURNS; turn++) {
            product = product * UINT64_C(6364136223846793005) + 1;
        }
    }
    return NULL;
}

/* The CPUs of this process's cpuset, whatever it is pinned to itself. */
static int usable_cpus(cpu_set_t *cpus)
{
    cpu_set_t own;
    cpu_set_t all;
    memset(&all, 0xFF, sizeof all);
    if (sched_getaffinity(0, sizeof own, &own) != 0 ||
        sched_setaffinity(0, sizeof all, &all) != 0) {
        return -errno;
    }
    int error = sched_getaffinity(0, sizeof *cpus, cpus) == 0 ? 0 : -errno;
    (void)sched_setaffinity(0, sizeof own, &own);
    return error;
}

static int start_hogs(struct load *load, int nice, uint64_t seconds)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    int error = usable_cpus(&cpus);
    if (error != 0) {
        return error;
    }
    load->hogs = calloc(LOAD_HOGS_MAX, sizeof *load->hogs);
    if (load->hogs == NULL) {
        return -ENOMEM;
    }
    atomic_store(&ended, false);
    atomic_store(&running, 0);
    atomic_store(&failure, 0);
    uint64_t ends_at_ns = clock_now_ns() + seconds * NS_PER_SECOND;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && load->count < LOAD_HOGS_MAX; cpu++) {
        if (!CPU_ISSET(cpu, &cpus)) {
            continue;
        }
        struct hog *hog = &hogs[load->count];
        *hog = (struct hog){.cpu = (int)cpu, .nice = nice, .ends_at_ns = ends_at_ns};
        error = -pthread_create(&load->hogs[load->count], NULL, be_hog, hog);
        if (error != 0) {
            return error;
        }
        load->count++;
    }
    while (atomic_load(&running) < load->count) {
        sched_yield();
    }
    return -atomic_load(&failure);
}

void load_answer(struct load *load, struct command *command)
{
    uint64_t nice = 0;
    uint64_t seconds = 0;
    if (load->hogs != NULL) {
        output_error(EBUSY, false, "this engine makes load already");
        return;
    }
    if (command_require(command, "nice") != 0 || command_require(command, "seconds") != 0 ||
        command_number(command, "nice", 0, NICE_MAX, &nice) != 0 ||
        command_number(command, "seconds", 1, SECONDS_MAX, &seconds) != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return;
    }
    int error = start_hogs(load, (int)nice, seconds);
    if (error != 0) {
        load_end(load);
        output_error(error, false, "cannot start the load: %s", strerror(-error));
        return;
    }
    struct json json;
    output_begin(&json, "load");
    json_unsigned(&json, "nice", nice);
    json_unsigned(&json, "hogs", load->count);
    output_send(&json);
}

void load_end(struct load *load)
{
    atomic_store(&ended, true);
    for (size_t i = 0; load->hogs != NULL && i < load->count; i++) {
        (void)pthread_join(load->hogs[i], NULL);
    }
    free(load->hogs);
    *load = (struct load){0};
}
