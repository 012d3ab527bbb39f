/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_usage.c - the CPU time that the kernel has charged to all threads of this process. The sum
 * of user and system time is exact; the kernel estimates their shares by sampling.
 */
#include <sys/resource.h>

#include "clock.h"
#include "probe.h"

static void *usage_open(const struct probe_place *place, probe_reasons reasons)
{
    (void)place;
    (void)reasons;
    return NULL;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static void usage_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    (void)state;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    values[0] = timeval_ns(usage.ru_utime);
    values[1] = timeval_ns(usage.ru_stime);
    values[2] = (uint64_t)usage.ru_nvcsw;
    values[3] = (uint64_t)usage.ru_nivcsw;
}

const struct probe PROBE_USAGE = {
    .name = "usage",
    .how = "getrusage() of the engine, all its threads",
    .of = PROBE_PROCESS,
    .figures =
        {
            {"user_ns", "ns", PROBE_PER_MESSAGE, "CPU time in user mode"},
            {"system_ns", "ns", PROBE_PER_MESSAGE, "CPU time in the kernel"},
            {"voluntary_switches", "", PROBE_PER_MESSAGE, "context switches: it waited"},
            {"involuntary_switches", "", PROBE_PER_MESSAGE, "context switches: it was displaced"},
        },
    .open = usage_open,
    .read = usage_read,
};
