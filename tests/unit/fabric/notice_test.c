/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes to standard error is read back from a file that takes its place. */
#include "notice.h"

#include "said.h"

#include "libfabric.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct libfabric libfabric;
struct fi_provider fabric_provider;

static int shown;
static int logged;

static int log_enabled(const struct fi_provider *provider, enum fi_log_level level,
                       enum fi_log_subsys subsystem)
{
    return shown && level == FI_LOG_WARN;
}

static void log_line(const struct fi_provider *provider, enum fi_log_level level,
                     enum fi_log_subsys subsystem, const char *function, int line,
                     const char *format, ...)
{
    logged++;
}

static int setup(void **state)
{
    libfabric.log_enabled = log_enabled;
    libfabric.log = log_line;
    shown = 0;
    logged = 0;
    return 0;
}

TEST_AROUND(notice__once_each, setup, NULL)
{
    char text[SAID_BYTES];
    char host[65] = "";
    char expected[256];

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

TEST_AROUND(notice__where_warnings_are_shown, setup, NULL)
{
    char text[SAID_BYTES];

    shown = 1;
    said_begin();
    notice(FI_LOG_CORE, "number %d", 3);
    said_end(text);
    assert_string_equal(text, "");
    assert_int_equal(logged, 1);
}

/** However long it is, and whatever stdio does: each write is a packet here. */
TEST_AROUND(notice__a_line_in_one_piece, setup, NULL)
{
    char buffer[128]; /* as much as glibc puts together from 2.37 on */
    char words[401];
    char said[SAID_BYTES];
    int ends[2];

    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(ends[0], STDERR_FILENO) >= 0);
    assert_int_equal(setvbuf(stderr, buffer, _IOFBF, sizeof buffer), 0);
    notice(FI_LOG_CORE, "%s", words);
    (void)fflush(stderr);
    assert_int_equal(setvbuf(stderr, NULL, _IONBF, 0), 0);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    ssize_t bytes = recv(ends[1], said, sizeof said - 1, MSG_DONTWAIT);
    assert_true(bytes > (ssize_t)sizeof words);
    said[bytes] = '\0';
    assert_non_null(strstr(said, words));
    assert_int_equal(said[bytes - 1], '\n');
    assert_true(recv(ends[1], said, sizeof said, MSG_DONTWAIT) < 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

TEST_AROUND(notice__not_without_end, setup, NULL)
{
    char text[SAID_BYTES];
    size_t lines = 0;

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

TEST_AROUND(notice_first_of_host__as_the_launcher_says, setup, NULL)
{
    (void)unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    (void)unsetenv("MPI_LOCALRANKID");
    (void)unsetenv("SLURM_LOCALID");
    assert_true(notice_first_of_host());
    (void)setenv("MPI_LOCALRANKID", "3", 1);
    assert_false(notice_first_of_host());
    (void)setenv("MPI_LOCALRANKID", "0", 1);
    assert_true(notice_first_of_host());
}
