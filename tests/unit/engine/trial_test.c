/* SPDX-License-Identifier: BSD-3-Clause */
#include "trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

static char reason[256];

static int says(const void *context, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s", (const char *)context);
    return -ENOENT;
}

static int is_well(const void *context, char *text, size_t bytes)
{
    return 0;
}

static int is_killed(const void *context, char *text, size_t bytes)
{
    return raise(SIGKILL);
}

static _Noreturn void leave(void)
{
    _exit(7);
}

static int leaves(const void *context, char *text, size_t bytes)
{
    if (context == NULL) {
        leave();
    }
    return 0;
}

static int hangs(const void *context, char *text, size_t bytes)
{
    while (context == NULL) {
        (void)pause();
    }
    return 0;
}

static int prints(const void *context, char *text, size_t bytes)
{
    const char *word = context;
    return write(STDOUT_FILENO, word, strlen(word)) > 0 ? 0 : -EIO;
}

TEST(trial__hands_on_what_was_returned)
{
    assert_int_equal(trial(is_well, NULL, TRIAL_MS, reason, sizeof reason), 0);
    assert_int_equal(trial(says, "not here", TRIAL_MS, reason, sizeof reason), -ENOENT);
    assert_string_equal(reason, "not here");
}

TEST(trial__work_that_ends_its_process)
{
    assert_int_equal(trial(is_killed, NULL, TRIAL_MS, reason, sizeof reason), -ECHILD);
    assert_string_equal(reason, "it ends the process that tries it: SIGKILL");
    assert_int_equal(trial(leaves, NULL, TRIAL_MS, reason, sizeof reason), -ECHILD);
    assert_string_equal(reason, "it ends the process that tries it: exit status 7");
}

TEST(trial__work_that_hangs)
{
    assert_int_equal(trial(hangs, NULL, 50, reason, sizeof reason), -ETIMEDOUT);
    assert_non_null(strstr(reason, "hangs"));
}

TEST(trial__output_leads_nowhere)
{
    int ends[2];
    int kept = dup(STDOUT_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    int status = trial(prints, "noise", TRIAL_MS, reason, sizeof reason);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(kept);
    (void)close(ends[1]);
    char byte = 0;
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
}
