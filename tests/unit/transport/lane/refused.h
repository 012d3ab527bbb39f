/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refused.h - runs a part of a test in a process whose kernel refuses a call.
 */
#ifndef BEOWIRE_TESTS_LANE_REFUSED_H
#define BEOWIRE_TESTS_LANE_REFUSED_H

#include "unit/test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/** A call; if `argument` is not 0, only where that one (1: the first) has this value. */
struct refused {
    long call;
    int error;
    unsigned argument;
    uint32_t value;
};

static inline bool refuse(const struct refused *refused)
{
    bool any = refused->argument == 0;
    uint32_t looked_at =
        any ? (uint32_t)offsetof(struct seccomp_data, nr)
            : (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (refused->argument - 1));
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused->call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, looked_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, any ? (uint32_t)refused->call : refused->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)refused->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/** In a child of this process in which these are refused, `run` has to be true. */
static inline void assert_true_without(const struct refused *refused, unsigned count,
                                       bool (*run)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        bool right = true;
        for (unsigned i = 0; i < count; i++) {
            right = right && refuse(&refused[i]);
        }
        _exit(right && run() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#endif /* BEOWIRE_TESTS_LANE_REFUSED_H */
