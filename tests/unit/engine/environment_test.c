/* SPDX-License-Identifier: BSD-3-Clause */
#include "environment.h"

#include <string.h>
#include <sys/resource.h>

#include "capture.h"
#include "testing.h"

static const char *answer(const char *line)
{
    capture_start();
    environment_answer(command_of(line));
    return capture_end();
}

TEST(answer__one_line_of_facts)
{
    const char *text = answer("environment");
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    expect_part(text, "{\"event\":\"environment\",\"fields\":{\"hostname\":");
    expect_part(text, "\"net_ipv4_tcp_rmem\":");
    assert_null(strstr(text, "\"interface\":"));
}

TEST(answer__with_an_interface)
{
    expect_part(answer("environment interface=lo"), "\"interface\":\"lo\"");
}

TEST(answer__no_descriptor_left_is_no_missing_interface)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    capture_start();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    environment_answer(command_of("environment interface=lo"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    const char *text = capture_end();
    expect_part(text, "\"code\":\"EMFILE\"");
    expect_part(text, "Too many open files");
}

TEST(answer__unknown_interface)
{
    const char *text = answer("environment interface=nonexistent0");
    expect_part(text, "\"code\":\"ENODEV\"");
    expect_part(text, "nonexistent0");
    expect_part(text, "\"fatal\":false");
}
