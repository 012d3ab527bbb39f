/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soaker.h - measures how much of a CPU is idle: a process of the lowest priority (SCHED_IDLE)
 * reads the clock in a loop. Any other work preempts it. The time between two consecutive readings
 * counts as idle, unless the gap is too long: then an interrupt, the kernel or another process ran.
 * So the measurement does not depend on the kernel's accounting and needs no calibration.
 *
 * There is one process per CPU, started from a program whose main() calls soak_main(). They are
 * processes, so that their CPU time is not the caller's. They end with the thread that started
 * them. Their counts are in shared memory, so reading them is no system call.
 *
 * If the kernel groups processes by session (sched_autogroup) or cgroup, the lowest priority holds
 * within the caller's group.
 */
#ifndef BEOWIRE_ENGINE_SOAKER_H
#define BEOWIRE_ENGINE_SOAKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** The most CPUs that are measured; further ones are ignored. */
#define SOAKER_CPUS_MAX 256

/** argv[1] that makes a program a soaker; the argument of soak_main() follows. */
#define SOAKER_OPTION "--soak"

struct soaker_cell;

struct soaker {
    size_t count;              /**< CPUs, one process each; 0: not running */
    struct soaker_cell *cells; /**< shared with them */
    pid_t pids[SOAKER_CPUS_MAX];
};

/** Starts one on each CPU that this thread may use, and returns when all of them count. `program`
 *  is a path. 0 or a negative errno. */
int soaker_start(struct soaker *soaker, const char *program);

/** Idle time of all CPUs so far, in ns. */
uint64_t soaker_left_ns(const struct soaker *soaker);

/** Ends them. */
void soaker_stop(struct soaker *soaker);

/** The soaker itself, for a program started with SOAKER_OPTION. `where` is "CPU:CELL", two numbers;
 *  the cells are at descriptor 3. Returns only on failure, with an exit status. */
int soak_main(const char *where);

#endif
