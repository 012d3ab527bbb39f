/* SPDX-License-Identifier: BSD-3-Clause */
#include "route.h"

#include "capture.h"
#include "testing.h"

static const char *answer(const char *line)
{
    capture_start();
    route_answer(command_of(line));
    return capture_end();
}

static void answer__to_this_host(void **state)
{
    (void)state;
    expect_part(answer("route to=127.0.0.2"),
                "{\"event\":\"route\",\"source\":\"127.0.0.1\",\"destination\":\"127.0.0.2\","
                "\"interface\":\"lo\",\"mac\":\"00:00:00:00:00:00\",\"mtu\":");
}

static void answer__to_what_is_no_host(void **state)
{
    (void)state;
    expect_part(answer("route to=not%20a%20host"), "\"code\":\"EHOSTUNREACH\"");
    expect_part(answer("route to="), "\"event\":\"error\"");
}

static void answer__without_a_host(void **state)
{
    (void)state;
    expect_part(answer("route"), "route needs to=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__to_this_host),
        cmocka_unit_test(answer__to_what_is_no_host),
        cmocka_unit_test(answer__without_a_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
