/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "testing.h"

static int ready(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return strcmp(options->interface, "eth7") == 0 ? 0 : -ENODEV;
}

static int crashes(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)raise(SIGKILL);
    return 0;
}

static int refuses(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)snprintf(reason, reason_bytes, "install it first");
    return -ENOENT;
}

static int fails_silently(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    return -EPERM;
}

/* An empty list of directories: the drivers are those that the test puts in. */
static const char *answer(const struct driver *driver, const char *line)
{
    struct modules modules;
    assert_int_equal(modules_open(&modules, ""), 0);
    if (driver != NULL) {
        modules.drivers[modules.driver_count++] = driver;
    }
    capture_start();
    catalogue_answer(&modules, command_of(line));
    const char *text = capture_end();
    modules_close(&modules);
    return text;
}

TEST(answer__no_drivers)
{
    assert_string_equal(answer(NULL, "drivers"),
                        "{\"event\":\"drivers\",\"drivers\":[],\"broken\":[]}\n");
}

TEST(answer__driver_that_is_ready)
{
    static const struct driver DRIVER = {.name = "good",
                                         .summary = "a \"good\" one",
                                         .placement = DRIVER_HOST,
                                         .reliable = true,
                                         .spins = true,
                                         .min_size = 2,
                                         .max_size = 9,
                                         .probe = ready};
    expect_part(answer(&DRIVER, "drivers interface=eth7"),
                "[{\"name\":\"good\",\"summary\":\"a \\\"good\\\" one\",\"placement\":\"host\","
                "\"reliable\":true,\"spins\":true,\"posts\":false,"
                "\"fixed\":false,\"collective\":false,\"min_size\":2,\"max_size\":9,"
                "\"ready\":true,\"reason\":\"\"}]");
}

TEST(answer__driver_whose_probe_crashes)
{
    static const struct driver CRASHES = {
        .name = "c", .summary = "", .placement = DRIVER_PAIR, .probe = crashes};
    expect_part(answer(&CRASHES, "drivers"),
                "\"ready\":false,\"reason\":\"it ends the process that tries it: SIGKILL\"");
}

TEST(answer__driver_that_is_not_ready)
{
    static const struct driver REFUSES = {
        .name = "a", .summary = "", .placement = DRIVER_PAIR, .probe = refuses};
    static const struct driver SILENT = {
        .name = "b", .summary = "", .placement = DRIVER_PROCESS, .probe = fails_silently};
    expect_part(answer(&REFUSES, "drivers"), "\"ready\":false,\"reason\":\"install it first\"");
    expect_part(answer(&REFUSES, "drivers"), "\"placement\":\"pair\"");
    expect_part(answer(&SILENT, "drivers"),
                "\"ready\":false,\"reason\":\"Operation not permitted\"");
    expect_part(answer(&SILENT, "drivers"), "\"placement\":\"process\"");
}
