/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - what a run costs its machine: the table of probes.
 *
 * A probe is one C file, `probe_NAME.c`, with one `struct probe`, and one row in probe.c. It
 * defines its figures, how they are counted, and why they may be missing here. The values are
 * running totals, read before the first measured message and after the last, never in between. No
 * other code depends on a probe's name, except that the evaluator uses the CPU time of a message.
 * docs/EXTENDING.md has the recipe.
 *
 * Probes that slow down what is measured run only on request.
 *
 * One thread.
 */
#ifndef BEOWIRE_ENGINE_PROBE_H
#define BEOWIRE_ENGINE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

/** The most rows of the table, and figures of a row. */
#define PROBES_MAX 16
#define PROBE_FIGURES_MAX 4

/** Longest reason why a figure is missing, with its zero byte. */
#define PROBE_REASON_BYTES 160

/** What a figure counts. */
enum probe_of {
    PROBE_PROCESS, /**< this engine only */
    PROBE_CPUS,    /**< all use of the CPUs that this engine may use */
    PROBE_MACHINE, /**< the whole machine: two ends on one machine count the same */
};

/** The unit by which a figure is divided. */
enum probe_per {
    PROBE_PER_MESSAGE,
    PROBE_PER_SECOND,
};

struct probe_figure {
    const char *name; /**< in results; ends in its unit if it has one: "user_ns" */
    const char *unit; /**< "ns", or "" for a number of things */
    enum probe_per per;
    const char *summary; /**< what it counts, in a few words */
};

/** Paths and the engine's program. Only tests use other values. */
struct probe_place {
    const char *proc;    /**< "/proc" */
    const char *sys;     /**< "/sys" */
    const char *tracing; /**< "/sys/kernel/tracing" */
    const char *program; /**< path of this engine, which is also a soaker */
};

/** Why each figure is missing; empty: it is available. */
typedef char probe_reasons[PROBE_FIGURES_MAX][PROBE_REASON_BYTES];

struct probe {
    const char *name; /**< lower case and '-': what `run probes=` takes */
    const char *how;  /**< one line: the source of the values */
    enum probe_of of;
    bool disturbs;                                  /**< slows down what is measured */
    struct probe_figure figures[PROBE_FIGURES_MAX]; /**< ended by one without a name, unless full */

    /** Allocates what the probe needs while the engine runs. `reasons` are empty, and set for
     *  missing figures. Returns the state for the other functions; may be NULL. */
    void *(*open)(const struct probe_place *place, probe_reasons reasons);

    /** Starts counting, before a run that requests it. 0, or a negative errno, and then nothing is
     *  read in this run. NULL if it always counts. */
    int (*start)(void *state);

    /** Writes the running totals of the available figures; leaves the others alone. */
    void (*read)(void *state, uint64_t values[PROBE_FIGURES_MAX]);

    /** Undoes start(). NULL if start() is. */
    void (*stop)(void *state);

    /** Undoes open(). NULL if there is nothing to free. */
    void (*close)(void *state);
};

/** All probes of an engine. */
struct probes {
    struct probe_place place;
    struct {
        bool opened;
        bool chosen; /**< for the next run */
        bool reads;  /**< in this run */
        void *state;
        probe_reasons reasons;
    } slots[PROBES_MAX];
};

/** The values of all probes at one time. */
struct probe_values {
    uint64_t at_ns; /**< CLOCK_MONOTONIC */
    uint64_t values[PROBES_MAX][PROBE_FIGURES_MAX];
};

/** All probes, and NULL at the end. Static storage. */
const struct probe *const *probe_table(void);

/** Opens those that disturb nothing; the others are opened at their first request. Never fails. */
void probes_open(struct probes *probes, const struct probe_place *place);

void probes_close(struct probes *probes);

/** Chooses probes for the next run, besides those that disturb nothing: names separated by ',',
 *  or empty. 0, or -EINVAL for an unknown name, with a line in `reason` (at least
 *  PROBE_REASON_BYTES). */
int probes_choose(struct probes *probes, const char *names, char *reason);

/** Called before and after a run. Takes some ms for probes that disturb. */
void probes_start(struct probes *probes);
void probes_stop(struct probes *probes);

/** Reads all. The slowest to read are farthest from the measured time. */
void probes_read_before(const struct probes *probes, struct probe_values *values);
void probes_read_after(const struct probes *probes, struct probe_values *values);

/** Adds the differences to an answer as the member `probes`: an object with `window_ns` and each
 *  figure, null if it is missing. Leaves out probes that were not chosen. */
void probes_report(const struct probes *probes, struct json *json,
                   const struct probe_values *before, const struct probe_values *after);

/** Answers the command `probes`: the table, and for each figure why it is missing here, if it
 *  is. */
void probes_answer(struct probes *probes);

extern const struct probe PROBE_USAGE;
extern const struct probe PROBE_SOFTIRQ;
extern const struct probe PROBE_INTERRUPTS;
extern const struct probe PROBE_CARD;
extern const struct probe PROBE_SYSCALLS;
extern const struct probe PROBE_HARDWARE;
extern const struct probe PROBE_SOAKER;

#endif
