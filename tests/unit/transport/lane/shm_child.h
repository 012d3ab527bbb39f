/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_child.h - another process, for tests of what happens between processes.
 */
#ifndef BEOWIRE_TESTS_LANE_SHM_CHILD_H
#define BEOWIRE_TESTS_LANE_SHM_CHILD_H

#include "unit/test.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/** A user who is not root. */
#define NOBODY 65534

struct child {
    pid_t process;
    int told; /* what it writes */
};

/** Starts a process that does `what`, with an end of a pipe to tell the test something. It ends
 *  with the test at the latest. */
static inline struct child start(void (*what)(int tell, uint64_t parent), uint64_t parent)
{
    struct child child;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    child.process = fork();
    assert_true(child.process >= 0);
    if (child.process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        what(ends[1], parent);
        for (;;) {
            pause();
        }
    }
    close(ends[1]);
    child.told = ends[0];
    return child;
}

static inline void tell(int end, const void *data, size_t bytes)
{
    if (write(end, data, bytes) != (ssize_t)bytes) {
        _exit(9);
    }
}

static inline void hear(const struct child *child, void *data, size_t bytes)
{
    assert_int_equal(read(child->told, data, bytes), bytes);
}

static inline void stop_child(const struct child *child)
{
    int status = 0;

    assert_int_equal(kill(child->process, SIGKILL), 0);
    assert_int_equal(waitpid(child->process, &status, 0), child->process);
    close(child->told);
}

#endif /* BEOWIRE_TESTS_LANE_SHM_CHILD_H */
