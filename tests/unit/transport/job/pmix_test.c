/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIX_LIBRARY in the environment names what pmix_library.c became. */
#include "job/pmix.h"
#include "unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/** Has the program more rights than its user? */
static bool is_privileged;

/* In place of the C library's, for all that is linked into this program. */
char *secure_getenv(const char *name)
{
    return is_privileged ? NULL : getenv(name);
}

static int prepare(void **state)
{
    const char *library = getenv("PMIX_LIBRARY");

    assert_non_null(library);
    if (library == NULL) {
        return -1; /* the assertion above has ended this; the linter does not know */
    }
    assert_int_equal(setenv("BEOWIRE_PMIX", library, 1), 0);
    assert_int_equal(unsetenv("FAIL"), 0);
    assert_int_equal(unsetenv("SMALL"), 0);
    assert_int_equal(unsetenv("NUMBER"), 0);
    return 0;
}

TEST_AROUND(pmix_is_present__names_a_process_of_a_job, prepare, NULL)
{
    assert_int_equal(unsetenv("PMIX_RANK"), 0);
    assert_int_equal(setenv("PMIX_NAMESPACE", "job", 1), 0);
    assert_false(pmix_is_present());
    assert_int_equal(setenv("PMIX_RANK", "2", 1), 0);
    assert_true(pmix_is_present());
}

TEST_AROUND(pmix_open__publishes_and_looks_up, prepare, NULL)
{
    struct beowire_job job = {0};
    struct reason reason = {0};
    char value[JOB_VALUE_BYTES];

    assert_int_equal(pmix_open(&job, reason), 0);
    assert_int_equal(job.rank, 2);
    assert_int_equal(job.size, 3);
    assert_int_equal(job.launcher->publish(job.context, "key", "abcd", reason), 0);
    assert_int_equal(job.launcher->look_up(job.context, 1, "key", value, reason), 0);
    assert_string_equal(value, "abcd");
    job.launcher->close(job.context);
}

TEST_AROUND(pmix_open__library_that_is_no_pmix, prepare, NULL)
{
    char text[BEOWIRE_JOB_REASON_BYTES] = "";
    struct reason reason = {text, sizeof text};
    struct beowire_job job = {0};

    assert_int_equal(setenv("BEOWIRE_PMIX", "/nonexistent/libpmix.so", 1), 0);
    assert_int_equal(pmix_open(&job, reason), -ELIBACC);
    assert_non_null(strstr(text, "install libpmix2"));
    assert_int_equal(setenv("BEOWIRE_PMIX", "libc.so.6", 1), 0);
    assert_int_equal(pmix_open(&job, reason), -ELIBACC);
    assert_string_equal(text, "the PMIx library has no PMIx_Init");
    assert_null(job.launcher);
}

TEST_AROUND(pmix_open__library_in_the_working_directory, prepare, NULL)
{
    char here[] = "/tmp/beowire-pmix-XXXXXX";
    char text[BEOWIRE_JOB_REASON_BYTES] = "";
    char said[BEOWIRE_JOB_REASON_BYTES] = "";
    struct reason named = {text, sizeof text};
    struct reason found = {said, sizeof said};
    struct beowire_job job = {0};
    const char *library = getenv("BEOWIRE_PMIX"); /* as prepare() has set it */

    assert_non_null(library);
    if (library == NULL) {
        return; /* the assertion above has ended this; the linter does not know */
    }
    assert_non_null(mkdtemp(here));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(mkdir("lib", 0700), 0);
    assert_int_equal(symlink(library, "lib/libpmix.so.2"), 0);
    assert_int_equal(setenv("FAIL", "PMIx_Init", 1), 0); /* then the test's library says so */
    assert_int_equal(setenv("BEOWIRE_PMIX", "lib/libpmix.so.2", 1), 0);
    int status = pmix_open(&job, named);
    assert_int_equal(unsetenv("BEOWIRE_PMIX"), 0);
    assert_int_equal(setenv("PMIX_PREFIX", ".", 1), 0);
    pid_t child = fork(); /* the system's library, if there is one, leaves things behind */
    if (child == 0) {
        (void)pmix_open(&job, found);
        _exit(strcmp(said, "PMIx_Init: NOT-FOUND (-1)") == 0 ? 1 : 0);
    }
    int ending = -1;
    assert_int_equal(waitpid(child, &ending, 0), child);
    assert_int_equal(unsetenv("PMIX_PREFIX"), 0);
    assert_int_equal(unlink("lib/libpmix.so.2") | rmdir("lib") | chdir("/") | rmdir(here), 0);
    assert_int_equal(status, -ELIBACC);
    assert_non_null(strstr(text, "a relative path is not loaded"));
    assert_int_equal(ending, 0);
}

TEST_AROUND(pmix_open__library_of_the_user_in_a_privileged_program, prepare, NULL)
{
    char said[BEOWIRE_JOB_REASON_BYTES] = "";
    struct reason reason = {said, sizeof said};
    struct beowire_job job = {0};
    int ending = -1;

    assert_int_equal(setenv("FAIL", "PMIx_Init", 1), 0); /* then the test's library says so */
    pid_t child = fork(); /* the system's library, if there is one, leaves things behind */
    if (child == 0) {
        is_privileged = true;
        (void)pmix_open(&job, reason);
        _exit(strcmp(said, "PMIx_Init: NOT-FOUND (-1)") == 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &ending, 0), child);
    assert_int_equal(ending, 0);
}

TEST_AROUND(pmix_open__launcher_that_refuses, prepare, NULL)
{
    char text[BEOWIRE_JOB_REASON_BYTES] = "";
    struct reason reason = {text, sizeof text};
    struct beowire_job job = {0};

    assert_int_equal(setenv("FAIL", "PMIx_Init", 1), 0);
    assert_int_equal(pmix_open(&job, reason), -EPROTO);
    assert_string_equal(text, "PMIx_Init: NOT-FOUND (-1)");
    assert_int_equal(setenv("FAIL", "PMIx_Get", 1), 0);
    assert_int_equal(pmix_open(&job, reason), -EPROTO);
    assert_non_null(strstr(text, "how many processes"));
    assert_int_equal(unsetenv("FAIL"), 0);
    assert_int_equal(setenv("SMALL", "1", 1), 0); /* a job of 2 has no process 2 */
    assert_int_equal(pmix_open(&job, reason), -EPROTO);
    assert_null(job.launcher);
}

TEST_AROUND(pmix_publish__calls_that_fail, prepare, NULL)
{
    static const char *const calls[] = {"PMIx_Put", "PMIx_Commit", "PMIx_Fence"};
    char text[BEOWIRE_JOB_REASON_BYTES] = "";
    struct reason reason = {text, sizeof text};
    struct beowire_job job = {0};
    char value[JOB_VALUE_BYTES];

    assert_int_equal(pmix_open(&job, reason), 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(setenv("FAIL", calls[i], 1), 0);
        assert_int_equal(job.launcher->publish(job.context, "key", "ab", reason), -EPROTO);
        assert_memory_equal(text, calls[i], strlen(calls[i]));
    }
    assert_int_equal(unsetenv("FAIL"), 0);
    assert_int_equal(job.launcher->look_up(job.context, 0, "other", value, reason), -EPROTO);
    assert_string_equal(text, "PMIx_Get: NOT-FOUND (-1)");
    assert_int_equal(job.launcher->publish(job.context, "key", "ab", reason), 0);
    assert_int_equal(setenv("NUMBER", "1", 1), 0);
    assert_int_equal(job.launcher->look_up(job.context, 0, "key", value, reason), -EPROTO);
    assert_non_null(strstr(text, "something else"));
    job.launcher->close(job.context);
}
