/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_soaker.c - another measure of a run's CPU time: the time that a process of the lowest
 * priority did not get (soaker.h). It includes time that the kernel charges to no process or to
 * others. It keeps the CPU from sleeping.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "probe.h"
#include "soaker.h"

struct soaking {
    const char *program;
    struct soaker soaker;
};

static void *soaker_probe_open(const struct probe_place *place, probe_reasons reasons)
{
    struct soaking *soaking = calloc(1, sizeof *soaking);
    if (soaking == NULL) {
        (void)snprintf(reasons[0], PROBE_REASON_BYTES, "no memory");
        return NULL;
    }
    soaking->program = place->program;
    return soaking;
}

static int soaker_probe_start(void *state)
{
    struct soaking *soaking = state;
    return soaker_start(&soaking->soaker, soaking->program);
}

static void soaker_probe_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    const struct soaking *soaking = state;
    values[0] = clock_now_ns() * soaking->soaker.count - soaker_left_ns(&soaking->soaker);
}

static void soaker_probe_stop(void *state)
{
    struct soaking *soaking = state;
    soaker_stop(&soaking->soaker);
}

const struct probe PROBE_SOAKER = {
    .name = "soaker",
    .how = "time that a process of the lowest priority on the engine's CPUs does not get",
    .of = PROBE_CPUS,
    .disturbs = true,
    .figures = {{"taken_ns", "ns", PROBE_PER_MESSAGE, "CPU time that was not idle"}},
    .open = soaker_probe_open,
    .start = soaker_probe_start,
    .read = soaker_probe_read,
    .stop = soaker_probe_stop,
    .close = free,
};
