/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe_interrupts.c - the machine's interrupts (of devices, timers and between CPUs) and softirqs,
 * as in mpstat. They are not zero on an idle machine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

/* /proc/stat has a line for each CPU, and one with a number for each interrupt. */
#define STAT_BYTES (256 << 10)

enum figure { INTERRUPTS, SOFTIRQS };

static const char *const LINES[] = {[INTERRUPTS] = "\nintr ", [SOFTIRQS] = "\nsoftirq "};

struct interrupts {
    int stat;
    char text[STAT_BYTES];
};

/* The first number of its line, the sum of the others. False: there is no such line. */
static bool find(const struct interrupts *interrupts, enum figure figure, uint64_t *value)
{
    const char *line = strstr(interrupts->text, LINES[figure]);
    if (line != NULL) {
        *value = strtoull(line + strlen(LINES[figure]), NULL, 10);
    }
    return line != NULL;
}

static void read_stat(struct interrupts *interrupts)
{
    ssize_t count = pread(interrupts->stat, interrupts->text, sizeof interrupts->text - 1, 0);
    interrupts->text[count > 0 ? count : 0] = '\0';
}

static void *interrupts_open(const struct probe_place *place, probe_reasons reasons)
{
    char path[256];
    uint64_t value = 0;
    struct interrupts *interrupts = malloc(sizeof *interrupts);
    (void)snprintf(path, sizeof path, "%s/stat", place->proc);
    if (interrupts != NULL) {
        interrupts->stat = open(path, O_RDONLY | O_CLOEXEC);
        read_stat(interrupts);
    }
    for (int i = 0; i <= SOFTIRQS; i++) {
        if (interrupts == NULL) {
            (void)snprintf(reasons[i], PROBE_REASON_BYTES, "no memory");
        } else if (!find(interrupts, (enum figure)i, &value)) {
            (void)snprintf(reasons[i], PROBE_REASON_BYTES, "%.100s has no line '%s'", path,
                           i == INTERRUPTS ? "intr" : "softirq");
        }
    }
    return interrupts;
}

static void interrupts_read(void *state, uint64_t values[PROBE_FIGURES_MAX])
{
    struct interrupts *interrupts = state;
    read_stat(interrupts);
    (void)find(interrupts, INTERRUPTS, &values[INTERRUPTS]);
    (void)find(interrupts, SOFTIRQS, &values[SOFTIRQS]);
}

static void interrupts_close(void *state)
{
    struct interrupts *interrupts = state;
    if (interrupts != NULL && interrupts->stat >= 0) {
        close(interrupts->stat);
    }
    free(interrupts);
}

const struct probe PROBE_INTERRUPTS = {
    .name = "interrupts",
    .how = "/proc/stat, lines intr and softirq",
    .of = PROBE_MACHINE,
    .figures =
        {
            [INTERRUPTS] = {"interrupts", "", PROBE_PER_SECOND,
                            "interrupts of devices, timers and CPUs"},
            [SOFTIRQS] = {"softirqs", "", PROBE_PER_SECOND, "softirqs served"},
        },
    .open = interrupts_open,
    .read = interrupts_read,
    .close = interrupts_close,
};
