/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture.h"
#include "environment.h"
#include "testing.h"

static char *facts(void)
{
    struct json json = {0};
    json_begin(&json, NULL, '{');
    environment_host(&json);
    json_end(&json, '}');
    json.text = realloc(json.text, json.length + 1);
    assert_non_null(json.text);
    json.text[json.length] = '\0';
    return json.text;
}

TEST(host__what_the_system_says_of_itself)
{
    char expected[512];
    struct utsname names;
    assert_int_equal(uname(&names), 0);
    char *text = facts();
    (void)snprintf(expected, sizeof expected, "\"kernel\":\"%s\"", names.release);
    expect_part(text, expected);
    (void)snprintf(expected, sizeof expected, "\"page_bytes\":%ld", sysconf(_SC_PAGESIZE));
    expect_part(text, expected);
    expect_part(text, "\"engine_version\":\"" BEOWIRE_VERSION "\"");
    free(text);
}

TEST(host__affinity_as_ranges)
{
    cpu_set_t before;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    char *text = facts();
    char expected[64];
    (void)snprintf(expected, sizeof expected, "\"affinity\":\"%zu\"", cpu);
    expect_part(text, expected);
    free(text);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
