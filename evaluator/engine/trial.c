/* SPDX-License-Identifier: BSD-3-Clause */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../drivers/driver.h"
#include "names.h"

/* The child's result, in shared memory. */
struct outcome {
    bool done;
    int status;
    char reason[DRIVER_REASON_BYTES];
};

static _Noreturn void be_the_child(trial_work *work, const void *context, struct outcome *outcome)
{
    const struct rlimit none = {0};
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none); /* an expected crash leaves no core file */
    if (nowhere >= 0) {                  /* not the engine's input and output */
        (void)dup2(nowhere, STDIN_FILENO);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
    }
    outcome->status = work(context, outcome->reason, sizeof outcome->reason);
    outcome->done = true;
    _exit(0);
}

/* Waits for the end of the child, or kills it. @return its wait status, or -1 after the time
 * limit. */
static int await(pid_t child, int ended, int longest_ms)
{
    struct pollfd end = {.fd = ended, .events = POLLIN};
    int status = 0;
    bool late = false;

    int ready = poll(&end, 1, longest_ms);
    if (ready == 0) {
        late = waitpid(child, &status, WNOHANG) == 0;
        if (!late) {
            return status;
        }
        (void)kill(child, SIGKILL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return late ? -1 : status;
}

static int conclude(int ending, const struct outcome *outcome, int longest_ms, char *reason,
                    size_t reason_bytes)
{
    if (outcome->done) {
        (void)snprintf(reason, reason_bytes, "%.*s", DRIVER_REASON_BYTES - 1, outcome->reason);
        return outcome->status;
    }
    if (ending == -1) {
        (void)snprintf(reason, reason_bytes, "it hangs: no result after %d ms", longest_ms);
        return -ETIMEDOUT;
    }
    if (WIFSIGNALED(ending)) {
        const char *name = signal_name(WTERMSIG(ending));
        (void)snprintf(reason, reason_bytes, "it ends the process that tries it: %s",
                       name == NULL ? "SIG?" : name);
    } else {
        (void)snprintf(reason, reason_bytes, "it ends the process that tries it: exit status %d",
                       WEXITSTATUS(ending));
    }
    return -ECHILD;
}

int trial(trial_work *work, const void *context, int longest_ms, char *reason, size_t reason_bytes)
{
    int ends[2];
    struct outcome *outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
        int error = errno;
        if (outcome != MAP_FAILED) {
            (void)munmap(outcome, sizeof *outcome);
        }
        (void)snprintf(reason, reason_bytes, "it cannot be tried: %s", strerror(error));
        return -error;
    }
    pid_t child = fork();
    int error = errno;
    if (child == 0) {
        (void)close(ends[0]);
        be_the_child(work, context, outcome);
    }
    (void)close(ends[1]);
    int status = -error;
    if (child < 0) {
        (void)snprintf(reason, reason_bytes, "it cannot be tried: %s", strerror(error));
    } else {
        status =
            conclude(await(child, ends[0], longest_ms), outcome, longest_ms, reason, reason_bytes);
    }
    (void)close(ends[0]);
    (void)munmap(outcome, sizeof *outcome);
    return status;
}
