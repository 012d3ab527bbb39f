/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soaker.h - how much of a CPU is left: a process of the lowest priority (SCHED_IDLE) that reads
 * the clock and never waits. Whoever wants the CPU gets it; what lies between two readings that
 * follow at once was left to the soaker, and what lies between two that do not was somebody else's:
 * a process's, an interrupt's, the kernel's. So it knows nothing of the kernel's accounting, and
 * needs no calibration.
 *
 * There is one process a CPU, started from a program whose main() calls soak_main(); processes, so
 * that what they use is not what the caller uses. They end with the thread that started them. What
 * they count is in memory that is shared with them: reading it is no system call.
 *
 * Where the kernel groups processes by session (sched_autogroup) or cgroup, the lowest priority is
 * that of the caller's group.
 */
#ifndef BEOWIRE_ENGINE_SOAKER_H
#define BEOWIRE_ENGINE_SOAKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** CPUs that are soaked, at most: the rest is not looked at. */
#define SOAKER_CPUS_MAX 256

/** The word that makes a program a soaker: argv[1], before what soak_main() takes. */
#define SOAKER_OPTION "--soak"

struct soaker_cell;

struct soaker {
    size_t count;              /**< CPUs, a process each; 0: not running */
    struct soaker_cell *cells; /**< shared with them */
    pid_t pids[SOAKER_CPUS_MAX];
};

/** Starts one on each CPU that this thread may use, and returns when all of them count. `program`:
 *  a path. 0 or a negative errno. */
int soaker_start(struct soaker *soaker, const char *program);

/** Time that was left to them so far, of all CPUs, in ns. */
uint64_t soaker_left_ns(const struct soaker *soaker);

/** Ends them. */
void soaker_stop(struct soaker *soaker);

/** What the program does that was started with SOAKER_OPTION. `where`: "CPU:CELL", both numbers;
 * the cells are at descriptor 3. Returns an exit status, but only if it cannot do that. */
int soak_main(const char *where);

#endif
