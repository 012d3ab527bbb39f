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

TEST(answer__to_this_host)
{
    expect_part(answer("route to=127.0.0.2"),
                "{\"event\":\"route\",\"source\":\"127.0.0.1\",\"destination\":\"127.0.0.2\","
                "\"interface\":\"lo\",\"mac\":\"00:00:00:00:00:00\",\"mtu\":");
}

TEST(answer__to_what_is_no_host)
{
    expect_part(answer("route to=not%20a%20host"), "\"code\":\"EHOSTUNREACH\"");
    expect_part(answer("route to="), "\"event\":\"error\"");
}

TEST(answer__without_a_host)
{
    expect_part(answer("route"), "route needs to=");
}
