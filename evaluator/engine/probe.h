/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - what a run costs the machine that it is on: a table of probes, as there is one of
 * patterns.
 *
 * A probe is one C file, `probe_NAME.c`, with one `struct probe`, and one row in probe.c. It says
 * what it counts (its figures), how, and why it cannot here. What it gives are running totals: they
 * are read before the first measured message and after the last, and never in between. Nothing else
 * knows a probe by its name but what a figure means to everybody (CPU time of a message, in the
 * evaluator). docs/EXTENDING.md has the recipe.
 *
 * Those that cost what is measured something are off, but in runs that ask for them.
 *
 * One thread.
 */
#ifndef BEOWIRE_ENGINE_PROBE_H
#define BEOWIRE_ENGINE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

/** Rows of the table, and figures of a row, at most. */
#define PROBES_MAX 16
#define PROBE_FIGURES_MAX 4

/** Longest line that says why a figure cannot be had, with its end. */
#define PROBE_REASON_BYTES 160

/** Whose what is counted is. */
enum probe_of {
    PROBE_PROCESS, /**< this engine's alone */
    PROBE_CPUS,    /**< of the CPUs that this engine may use, whoever uses them */
    PROBE_MACHINE, /**< all of the machine's: two ends that share it count the same */
};

/** What people want it by. */
enum probe_per {
    PROBE_PER_MESSAGE,
    PROBE_PER_SECOND,
};

struct probe_figure {
    const char *name;    /**< in results; ends in its unit if it has one: "user_ns" */
    const char *unit;    /**< "ns", or "" for a number of things */
    enum probe_per per;  /**< messages or seconds */
    const char *summary; /**< a few words: what it is */
};

/** Where things are: others only in tests. */
struct probe_place {
    const char *proc;    /**< "/proc" */
    const char *sys;     /**< "/sys" */
    const char *tracing; /**< "/sys/kernel/tracing" */
    const char *program; /**< this engine's own, which is also a soaker */
};

/** Why each figure cannot be had; empty: it can. */
typedef char probe_reasons[PROBE_FIGURES_MAX][PROBE_REASON_BYTES];

struct probe {
    const char *name; /**< lower case and '-': what `run probes=` takes */
    const char *how;  /**< one line: where it is read */
    enum probe_of of;
    bool disturbs;                                  /**< it costs what is measured something */
    struct probe_figure figures[PROBE_FIGURES_MAX]; /**< ended by one without a name, or full */

    /** Gets what it needs for as long as the engine runs. `reasons` are empty, and filled in for
     *  what cannot be had. Returns the state for the other functions, which may be NULL. */
    void *(*open)(const struct probe_place *place, probe_reasons reasons);

    /** Begins to count, before a run that asks for it: 0, or a negative errno and nothing is read
     *  in this run. NULL if it always counts. */
    int (*start)(void *state);

    /** Running totals of the figures that can be had; the others are left alone. */
    void (*read)(void *state, uint64_t values[PROBE_FIGURES_MAX]);

    /** Undoes start(). NULL if that is. */
    void (*stop)(void *state);

    /** Undoes open(). NULL if there is nothing to give back. */
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

/** What all of them said at one moment. */
struct probe_values {
    uint64_t at_ns; /**< CLOCK_MONOTONIC */
    uint64_t values[PROBES_MAX][PROBE_FIGURES_MAX];
};

/** All probes, ended by NULL. Static storage. */
const struct probe *const *probe_table(void);

/** Opens those that disturb nothing; the others are when they are first asked for. Never fails. */
void probes_open(struct probes *probes, const struct probe_place *place);

void probes_close(struct probes *probes);

/** Chooses for the next run, beside those that disturb nothing: names with ',' between them, or
 *  empty. 0, or -EINVAL if one is none (`reason`: a line, at least PROBE_REASON_BYTES). */
int probes_choose(struct probes *probes, const char *names, char *reason);

/** Before a run, and after it. Those that disturb take their time here (some ms). */
void probes_start(struct probes *probes);
void probes_stop(struct probes *probes);

/** Reads all, so that what takes longest is farthest from the measured time. */
void probes_read_before(const struct probes *probes, struct probe_values *values);
void probes_read_after(const struct probes *probes, struct probe_values *values);

/** The difference as a member `probes` of an answer: an object with `window_ns` and each figure,
 *  null for one that cannot be had. Nothing of those that were not chosen. */
void probes_report(const struct probes *probes, struct json *json,
                   const struct probe_values *before, const struct probe_values *after);

/** Answers the command `probes`: the table, with what can be had here and why not. */
void probes_answer(struct probes *probes);

extern const struct probe PROBE_USAGE;
extern const struct probe PROBE_SOFTIRQ;
extern const struct probe PROBE_INTERRUPTS;
extern const struct probe PROBE_CARD;
extern const struct probe PROBE_SYSCALLS;
extern const struct probe PROBE_HARDWARE;
extern const struct probe PROBE_SOAKER;

#endif
