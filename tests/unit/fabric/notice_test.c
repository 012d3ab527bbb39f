/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes to standard error is read back from a file that takes its place. */
#include "notice.h"

#include "said.h"

#include "libfabric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct libfabric libfabric;
struct fi_provider fabric_provider;

static int shown;
static int logged;

static int log_enabled(const struct fi_provider *provider, enum fi_log_level level,
                       enum fi_log_subsys subsystem)
{
    (void)provider;
    (void)subsystem;
    return shown && level == FI_LOG_WARN;
}

static void log_line(const struct fi_provider *provider, enum fi_log_level level,
                     enum fi_log_subsys subsystem, const char *function, int line,
                     const char *format, ...)
{
    (void)provider;
    (void)level;
    (void)subsystem;
    (void)function;
    (void)line;
    (void)format;
    logged++;
}

static int setup(void **state)
{
    (void)state;
    libfabric.log_enabled = log_enabled;
    libfabric.log = log_line;
    shown = 0;
    logged = 0;
    return 0;
}

static void notice__once_each(void **state)
{
    char text[SAID_BYTES];
    char host[65] = "";
    char expected[256];

    (void)state;
    (void)gethostname(host, sizeof host - 1);
    said_begin();
    notice(FI_LOG_CORE, "number %d", 1);
    notice(FI_LOG_CORE, "number %d", 2);
    notice(FI_LOG_CORE, "number %d", 1);
    said_end(text);
    (void)snprintf(expected, sizeof expected, "beowire: %s: number 1\nbeowire: %s: number 2\n",
                   host, host);
    assert_string_equal(text, expected);
    assert_int_equal(logged, 0);
}

static void notice__where_warnings_are_shown(void **state)
{
    char text[SAID_BYTES];

    (void)state;
    shown = 1;
    said_begin();
    notice(FI_LOG_CORE, "number %d", 3);
    said_end(text);
    assert_string_equal(text, "");
    assert_int_equal(logged, 1);
}

static void notice__not_without_end(void **state)
{
    char text[SAID_BYTES];
    size_t lines = 0;

    (void)state;
    said_begin();
    for (int i = 0; i < 1000; i++) {
        notice(FI_LOG_CORE, "%d", i);
    }
    said_end(text);
    for (size_t i = 0; text[i] != '\0'; i++) {
        lines += text[i] == '\n';
    }
    assert_in_range(lines, 32, 64);
}

static void notice_first_of_host__as_the_launcher_says(void **state)
{
    (void)state;
    (void)unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    (void)unsetenv("MPI_LOCALRANKID");
    (void)unsetenv("SLURM_LOCALID");
    assert_true(notice_first_of_host());
    (void)setenv("MPI_LOCALRANKID", "3", 1);
    assert_false(notice_first_of_host());
    (void)setenv("MPI_LOCALRANKID", "0", 1);
    assert_true(notice_first_of_host());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(notice__once_each, setup),
        cmocka_unit_test_setup(notice__where_warnings_are_shown, setup),
        cmocka_unit_test_setup(notice__not_without_end, setup),
        cmocka_unit_test_setup(notice_first_of_host__as_the_launcher_says, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
