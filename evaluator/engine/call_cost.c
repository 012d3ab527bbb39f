/* SPDX-License-Identifier: BSD-3-Clause */
#include "call_cost.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "exit.h"
#include "trial.h"

/* The minimum of this many groups, because other programs can only add to it. */
#define GROUPS 400
#define GROUP_CALLS 25

#define PS_PER_NS 1e3

/* Before the chain: load the argument, and store it as a factor; after it: return the verdict. */
#define OTHER_INSTRUCTIONS 3

static double call_ns(void)
{
    double least_ns = INFINITY;

    for (size_t group = 0; group < GROUPS; group++) {
        const uint64_t before_ns = clock_now_ns();
        for (size_t call = 0; call < GROUP_CALLS; call++) {
            (void)syscall(SYS_getppid); /* the C library does not cache it */
        }
        least_ns = fmin(least_ns, (double)(clock_now_ns() - before_ns) / GROUP_CALLS);
    }
    return least_ns;
}

/* SECCOMP_FILTER_FLAG_SPEC_ALLOW: otherwise older kernels disable some speculation for processes
 * with a filter, which would slow down everything. */
static int install(const struct sock_fprog *program)
{
    const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;

    long status = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

    if (status < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        status = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    }
    if (status > 0) {
        return -EBUSY; /* the thread of this number has a different filter */
    }
    return status == 0 ? 0 : -errno;
}

int call_cost_add(uint64_t steps, struct call_cost *cost, char *reason, size_t reason_bytes)
{
    static struct sock_filter code[CALL_COST_STEPS_MAX + OTHER_INSTRUCTIONS];
    const struct sock_fprog program = {.len = (unsigned short)(steps + OTHER_INSTRUCTIONS),
                                       .filter = code};
    struct sock_filter *next = code;

    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           (unsigned)offsetof(struct seccomp_data, args));
    *next++ = (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0);
    for (uint64_t step = 0; step < steps; step++) {
        *next++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0);
    }
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    cost->before_ns = call_ns();
    int error = install(&program);
    if (error != 0) {
        (void)snprintf(
            reason, reason_bytes,
            "the kernel accepts no seccomp filter (%s), which would add the cost to system "
            "calls: measure without %s",
            strerror(-error), CALL_COST_OPTION);
        return error;
    }
    cost->added_ns = call_ns() - cost->before_ns;
    return 0;
}

/* Runs in a child. @return picoseconds that a filter of `*context` steps adds. */
static int try_steps(const void *context, char *reason, size_t reason_bytes)
{
    struct call_cost cost;
    int error = call_cost_add(*(const uint64_t *)context, &cost, reason, reason_bytes);

    return error != 0 ? error : (int)(fmax(cost.added_ns, 0) * PS_PER_NS);
}

int call_cost_steps(uint64_t wanted_ns, uint64_t *steps, char *reason, size_t reason_bytes)
{
    const double wanted_ps = (double)wanted_ns * PS_PER_NS;
    const uint64_t none = 0;
    const uint64_t all = CALL_COST_STEPS_MAX;
    const int least_ps = trial(try_steps, &none, TRIAL_MS, reason, reason_bytes);
    const int most_ps =
        least_ps < 0 ? least_ps : trial(try_steps, &all, TRIAL_MS, reason, reason_bytes);

    if (most_ps < 0) {
        return most_ps;
    }
    if (wanted_ps < least_ps || wanted_ps > most_ps) {
        (void)snprintf(reason, reason_bytes,
                       "a filter can add %.0f to %.0f ns to a system call here, not %llu ns",
                       ceil(least_ps / PS_PER_NS), floor(most_ps / PS_PER_NS),
                       (unsigned long long)wanted_ns);
        return -ERANGE;
    }
    const double step_ps = fmax(most_ps - least_ps, 1) / CALL_COST_STEPS_MAX;
    *steps = (uint64_t)lround((wanted_ps - least_ps) / step_ps);
    /* The first steps are free: the processor executes them in parallel with the rest of the
     * call. */
    const int found_ps = trial(try_steps, steps, TRIAL_MS, reason, reason_bytes);
    if (found_ps < 0) {
        return found_ps;
    }
    const double better = (double)*steps + (wanted_ps - found_ps) / step_ps;
    *steps = (uint64_t)lround(fmin(fmax(better, 0), CALL_COST_STEPS_MAX));
    return 0;
}

int call_cost_main(const char *wanted, char *const command[])
{
    char reason[256] = "";
    char *end = NULL;
    struct call_cost cost;
    uint64_t steps = 0;
    errno = 0;
    const unsigned long wanted_ns = strtoul(wanted, &end, 10);

    if (errno != 0 || *wanted < '0' || *wanted > '9' || *end != '\0' || wanted_ns < 1 ||
        wanted_ns > CALL_COST_NS_MAX) {
        (void)fprintf(stderr, "beowire-engine: %s takes 1 to %d (ns), not '%s'\n", CALL_COST_OPTION,
                      CALL_COST_NS_MAX, wanted);
        return EXIT_USAGE;
    }
    if (call_cost_steps(wanted_ns, &steps, reason, sizeof reason) != 0 ||
        call_cost_add(steps, &cost, reason, sizeof reason) != 0) {
        (void)fprintf(stderr, "beowire-engine: %s\n", reason);
        return EXIT_USAGE;
    }
    (void)execvp(command[0], command);
    (void)fprintf(stderr, "beowire-engine: cannot start %s: %s\n", command[0], strerror(errno));
    return EXIT_USAGE;
}
