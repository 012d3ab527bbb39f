/* SPDX-License-Identifier: BSD-3-Clause */
#include "environment.h"

#include <string.h>

#include "capture.h"
#include "testing.h"

static const char *answer(const char *line)
{
    capture_start();
    environment_answer(command_of(line));
    return capture_end();
}

static void answer__one_line_of_facts(void **state)
{
    (void)state;
    const char *text = answer("environment");
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    expect_part(text, "{\"event\":\"environment\",\"fields\":{\"hostname\":");
    expect_part(text, "\"net_ipv4_tcp_rmem\":");
    assert_null(strstr(text, "\"interface\":"));
}

static void answer__with_an_interface(void **state)
{
    (void)state;
    expect_part(answer("environment interface=lo"), "\"interface\":\"lo\"");
}

static void answer__unknown_interface(void **state)
{
    (void)state;
    const char *text = answer("environment interface=nonexistent0");
    expect_part(text, "\"code\":\"ENODEV\"");
    expect_part(text, "nonexistent0");
    expect_part(text, "\"fatal\":false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__one_line_of_facts),
        cmocka_unit_test(answer__with_an_interface),
        cmocka_unit_test(answer__unknown_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
