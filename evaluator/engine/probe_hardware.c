/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_hardware.c - the processor's counters of this process, in user mode and in the kernel. They
 * make each context switch slower.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf_counter.h"
#include "probe.h"

#define EVENTS 3

static const uint64_t CONFIGS[EVENTS] = {
    PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CACHE_MISSES,
};

struct hardware {
    bool here[EVENTS];
    struct perf_counter counters[EVENTS];
};

static void hardware_stop(void *state)
{
    struct hardware *hardware = state;
    for (size_t i = 0; i < EVENTS; i++) {
        perf_counter_close(&hardware->counters[i]);
    }
}

static void *hardware_open(const struct probe_place *place, probe_reasons reasons)
{
    struct hardware *hardware = calloc(1, sizeof *hardware);
    for (size_t i = 0; i < EVENTS; i++) {
        if (hardware == NULL) {
            (void)snprintf(reasons[i], PROBE_REASON_BYTES, "no memory");
            continue;
        }
        int error = perf_counter_open(&hardware->counters[i], PERF_TYPE_HARDWARE, CONFIGS[i]);
        hardware->here[i] = error == 0;
        if (error != 0) {
            perf_counter_explain(error, place->proc, reasons[i], PROBE_REASON_BYTES);
        }
    }
    if (hardware != NULL) {
        hardware_stop(hardware);
    }
    return hardware;
}

static int hardware_start(void *state)
{
    struct hardware *hardware = state;
    int error = 0;
    for (size_t i = 0; i < EVENTS && error == 0; i++) {
        if (hardware->here[i]) {
            error = perf_counter_open(&hardware->counters[i], PERF_TYPE_HARDWARE, CONFIGS[i]);
        }
    }
    if (error != 0) {
        hardware_stop(hardware);
    }
    return error;
}

static void hardware_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    const struct hardware *hardware = state;
    for (size_t i = 0; i < EVENTS; i++) {
        if (hardware->here[i]) {
            values[i] = perf_counter_read(&hardware->counters[i]);
        }
    }
}

const struct probe PROBE_HARDWARE = {
    .name = "hardware",
    .how = "the processor's counters, by perf_event_open()",
    .of = PROBE_PROCESS,
    .disturbs = true,
    .figures =
        {
            {"cycles", "", PROBE_PER_MESSAGE, "cycles of the processor"},
            {"instructions", "", PROBE_PER_MESSAGE, "instructions"},
            {"cache_misses", "", PROBE_PER_MESSAGE, "misses of the last-level cache"},
        },
    .open = hardware_open,
    .start = hardware_start,
    .read = hardware_read,
    .stop = hardware_stop,
    .close = free,
};
