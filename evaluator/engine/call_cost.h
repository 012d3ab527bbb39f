/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_cost.h - makes each system call of this process and its children slower, to measure as on a
 * machine where system calls are expensive.
 *
 * A seccomp filter allows every call after a chain of multiplications, each of which waits for the
 * one before. The filter reads an argument of the call, because the kernel caches the verdict of
 * filters that do not and then skips them (seccomp_cache_prepare()). A filter cannot be removed;
 * children and executed programs inherit it.
 */
#ifndef BEOWIRE_ENGINE_CALL_COST_H
#define BEOWIRE_ENGINE_CALL_COST_H

#include <stddef.h>
#include <stdint.h>

/** argv[1] that makes the engine a wrapper; nanoseconds and a command follow. */
#define CALL_COST_OPTION "--system-call-cost"

/** The longest chain of a filter. The kernel's limit is 4,096 instructions. */
#define CALL_COST_STEPS_MAX 4000

/** The largest cost that can be requested. What one filter can add depends on the processor. */
#define CALL_COST_NS_MAX 10000

struct call_cost {
    double before_ns; /**< of a getppid(2), the minimum of many */
    double added_ns;  /**< additional cost with the filter */
};

/** Finds the length of the chain that adds this cost, by trials in child processes. 0, or a
 *  negative errno with one line in `reason`. */
int call_cost_steps(uint64_t wanted_ns, uint64_t *steps, char *reason, size_t reason_bytes);

/** Adds a filter of at most CALL_COST_STEPS_MAX steps to all threads of this process, and measures
 *  the cost that it adds. Without CAP_SYS_ADMIN it sets no_new_privs. 0, or a negative errno with
 *  one line in `reason`. */
int call_cost_add(uint64_t steps, struct call_cost *cost, char *reason, size_t reason_bytes);

/** The wrapper: adds `wanted` (a number of ns) to each system call, and executes the command.
 *  Returns only on failure, with an exit status. */
int call_cost_main(const char *wanted, char *const command[]);

#endif
