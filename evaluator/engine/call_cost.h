/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_cost.h - makes every system call of this process, and of those that it starts, cost more, so
 * that what is measured here can be seen as on a machine whose kernel is expensive to enter.
 *
 * A seccomp filter does it that allows everything, after a chain of multiplications of which each
 * waits for the one before. It reads an argument of the call: the kernel remembers the verdict of a
 * filter that does not, for each number of a call, and runs it no more (seccomp_cache_prepare()). A
 * filter cannot be taken away again; children and programs that are executed inherit it.
 */
#ifndef BEOWIRE_ENGINE_CALL_COST_H
#define BEOWIRE_ENGINE_CALL_COST_H

#include <stddef.h>
#include <stdint.h>

/** The word that makes the engine a wrapper: argv[1], before nanoseconds and a command. */
#define CALL_COST_OPTION "--system-call-cost"

/** The longest chain of a filter: the kernel takes 4,096 instructions. */
#define CALL_COST_STEPS_MAX 4000

/** No more can be asked for; how much one filter can add, the processor decides. */
#define CALL_COST_NS_MAX 10000

struct call_cost {
    double before_ns; /**< of a getppid(2), the least of many */
    double added_ns;  /**< by how much it costs more with the filter */
};

/** How long the chain has to be that adds so many nanoseconds: found in children, which end. 0, or
 * a negative errno with one line in `reason`. */
int call_cost_steps(uint64_t wanted_ns, uint64_t *steps, char *reason, size_t reason_bytes);

/** Adds a filter of so many steps (CALL_COST_STEPS_MAX at most) to all threads of this process, and
 *  measures what it adds. 0, or a negative errno with one line in `reason`. Where the process may
 * not (no CAP_SYS_ADMIN), it gains no privileges by executing a program any more. */
int call_cost_add(uint64_t steps, struct call_cost *cost, char *reason, size_t reason_bytes);

/** The wrapper: adds what `wanted` (a number of ns) says, and executes the command. Returns an exit
 *  status, but only if it cannot. */
int call_cost_main(const char *wanted, char *const command[]);

#endif
