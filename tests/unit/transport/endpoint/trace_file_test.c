/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/trace_file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beowire.h"
#include "unit/test.h"

static char directory[] = "/tmp/trace_file_test.XXXXXX";

static int make_directory(void **state)
{
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    return rmdir(directory);
}

/** The path that BEOWIRE_TRACE would name; and the file of this process with that number. */
static const char *name_of(int number)
{
    static char name[PATH_MAX];

    if (number < 0) {
        (void)snprintf(name, sizeof name, "%s/trace", directory);
    } else {
        (void)snprintf(name, sizeof name, "%s/trace.%d.%d", directory, (int)getpid(), number);
    }
    return name;
}

TEST(trace_file__unless_it_is_asked_for_there_is_none)
{
    struct trace_file file;

    assert_int_equal(trace_file_open(&file, NULL), 0);
    assert_null(trace_file_ring(&file));
    assert_int_equal(trace_file_open(&file, ""), 0);
    assert_null(trace_file_ring(&file));
    trace_file_close(&file);
}

TEST(trace_file__has_its_points_as_soon_as_they_are_noted)
{
    struct trace_file file;
    struct trace_header header;
    struct trace_point point;

    assert_int_equal(trace_file_open(&file, name_of(-1)), 0);
    trace_here(trace_file_ring(&file), TRACE_POSTED, 8);
    FILE *read = fopen(name_of(0), "rb");
    assert_non_null(read);
    assert_int_equal(fread(&header, sizeof header, 1, read), 1);
    assert_int_equal(fread(&point, sizeof point, 1, read), 1);
    assert_memory_equal(header.magic, TRACE_MAGIC, sizeof header.magic);
    assert_int_equal(header.noted, 1);
    assert_int_equal(header.last_ns, 0);
    assert_int_equal(header.pid, getpid());
    assert_int_equal(point.place, TRACE_POSTED);
    assert_int_equal(point.detail, 8);
    assert_true(point.ticks >= header.first_ticks);
    trace_file_close(&file);
    assert_null(trace_file_ring(&file));
    rewind(read);
    assert_int_equal(fread(&header, sizeof header, 1, read), 1);
    assert_true(header.last_ns >= header.first_ns);
    assert_true(header.last_ticks > point.ticks);
    assert_int_equal(fclose(read), 0);
    struct stat found;
    assert_int_equal(stat(name_of(0), &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_int_equal(unlink(name_of(0)), 0);
}

TEST(trace_file__each_has_a_number_of_its_own)
{
    struct trace_file one;
    struct trace_file other;

    assert_int_equal(trace_file_open(&one, name_of(-1)), 0);
    assert_int_equal(trace_file_open(&other, name_of(-1)), 0);
    trace_here(trace_file_ring(&other), TRACE_OUT, 0);
    assert_int_equal(one.header->noted, 0);
    trace_file_close(&one);
    trace_file_close(&other);
    assert_int_equal(unlink(name_of(0)), 0);
    assert_int_equal(unlink(name_of(1)), 0);
}

TEST(trace_file__where_none_can_be_it_says_why)
{
    struct trace_file file;
    char name[PATH_MAX + 1];

    assert_int_equal(trace_file_open(&file, "/nonexistent/trace"), -ENOENT);
    assert_null(trace_file_ring(&file));
    memset(name, 'x', PATH_MAX);
    name[PATH_MAX] = '\0';
    assert_int_equal(trace_file_open(&file, name), -ENAMETOOLONG);
    assert_null(trace_file_ring(&file));
}

TEST(trace_file__that_finds_no_room_says_why_and_leaves_none)
{
    struct rlimit before;
    struct trace_file file;
    char reason[512] = "";

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int opened = trace_file_open(&file, name_of(-1));
    int checked = trace_file_check(name_of(-1), reason, sizeof reason);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(opened, -EFBIG);
    assert_int_equal(checked, -EBADMSG);
    assert_non_null(strstr(reason, ": File too large"));
    assert_int_equal(access(name_of(0), F_OK), -1);
}

TEST(trace_file_discard__leaves_none)
{
    struct trace_file file;

    assert_int_equal(trace_file_open(&file, name_of(-1)), 0);
    assert_int_equal(access(name_of(0), F_OK), 0);
    trace_file_discard(&file);
    assert_int_equal(access(name_of(0), F_OK), -1);
    assert_null(trace_file_ring(&file));
    trace_file_discard(&file);
}

TEST(beowire_open__that_fails__leaves_no_trace)
{
    struct beowire_options options = {.size = sizeof options, .interface = "no-such0"};
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(setenv(TRACE_VARIABLE, name_of(-1), 1), 0);
    int status = beowire_open(&options, &endpoint);
    assert_int_equal(unsetenv(TRACE_VARIABLE), 0);
    assert_true(status < 0);
    assert_int_equal(access(name_of(0), F_OK), -1);
}

TEST(trace_file_check__says_why_there_can_be_none_and_leaves_none)
{
    char reason[512] = "";
    char expected[512];

    assert_int_equal(trace_file_check(NULL, NULL, 0), 0);
    assert_int_equal(trace_file_check("", NULL, 0), 0);
    assert_int_equal(trace_file_check(name_of(-1), reason, sizeof reason), 0);
    assert_string_equal(reason, "");
    assert_int_equal(access(name_of(0), F_OK), -1);
    assert_int_equal(trace_file_check("/nonexistent/t", NULL, 0), -EBADMSG);
    assert_int_equal(trace_file_check("/nonexistent/t", reason, sizeof reason), -EBADMSG);
    (void)snprintf(expected, sizeof expected,
                   "BEOWIRE_TRACE: cannot make /nonexistent/t.%d.0: No such file or directory",
                   (int)getpid());
    assert_string_equal(reason, expected);
}

int main(void)
{
    return run_listed_tests(make_directory, remove_directory);
}
