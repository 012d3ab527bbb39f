/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "testing.h"

static struct probes probes;
static struct probe_values before;
static struct probe_values after;

static int prepare(void **state)
{
    const struct probe_place here = {
        .proc = "/proc",
        .sys = "/sys",
        .tracing = "/nonexistent",
        .program = getenv("BEOWIRE_TEST_ENGINE"),
    };
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    probes_open(&probes, &here);
    return 0;
}

static int finish(void **state)
{
    probes_close(&probes);
    return 0;
}

#define STARTED_TEST(name) TEST_AROUND(name, prepare, finish)

static const char *report(void)
{
    struct json json;
    capture_start();
    output_begin(&json, "test");
    probes_report(&probes, &json, &before, &after);
    output_send(&json);
    return capture_end();
}

static const char *run(void)
{
    probes_start(&probes);
    probes_read_before(&probes, &before);
    probes_read_after(&probes, &after);
    const char *text = report();
    probes_stop(&probes);
    return text;
}

TEST(table__each_row_is_whole)
{
    for (const struct probe *const *at = probe_table(); *at != NULL; at++) {
        const struct probe *probe = *at;
        assert_non_null(probe->name);
        assert_non_null(probe->how);
        assert_non_null(probe->open);
        assert_non_null(probe->read);
        assert_int_equal(probe->start == NULL, probe->stop == NULL);
        assert_true(probe->start == NULL || probe->disturbs);
        assert_non_null(probe->figures[0].name);
        for (int i = 0; i < PROBE_FIGURES_MAX && probe->figures[i].name != NULL; i++) {
            const struct probe_figure *figure = &probe->figures[i];
            assert_non_null(figure->summary);
            const size_t length = strlen(figure->name);
            assert_int_equal(strcmp(figure->unit, "ns") == 0,
                             length > 3 && strcmp(figure->name + length - 3, "_ns") == 0);
        }
    }
}

STARTED_TEST(run__only_those_that_disturb_nothing)
{
    const char *text = run();
    expect_part(text, "\"probes\":{\"window_ns\":");
    expect_part(text, "\"user_ns\":");
    expect_part(text, "\"interrupts\":");
    assert_null(strstr(text, "syscalls"));
    assert_null(strstr(text, "taken_ns"));
    assert_true(after.at_ns >= before.at_ns);
}

STARTED_TEST(run__those_that_are_asked_for_once)
{
    char reason[PROBE_REASON_BYTES] = "";
    assert_int_equal(probes_choose(&probes, "soaker,syscalls", reason), 0);
    const char *text = run();
    expect_part(text, "\"syscalls\":null"); /* there is no tracefs */
    expect_part(text, "\"taken_ns\":");
    assert_null(strstr(text, "\"taken_ns\":null"));
    assert_int_equal(probes_choose(&probes, "", reason), 0);
    assert_null(strstr(run(), "taken_ns"));
}

STARTED_TEST(choose__unknown_name)
{
    char reason[PROBE_REASON_BYTES] = "";
    assert_int_equal(probes_choose(&probes, "usage,moon", reason), -EINVAL);
    assert_string_equal(reason, "probes must be of soaker, syscalls, hardware, usage, softirq, "
                                "interrupts, card");
    assert_int_equal(probes_choose(&probes, "soak", reason), -EINVAL);
}

STARTED_TEST(report__differences)
{
    size_t usage = 0;
    while (probe_table()[usage] != &PROBE_USAGE) {
        usage++;
    }
    probes_start(&probes);
    before.at_ns = 1000;
    after.at_ns = 1700;
    before.values[usage][0] = 50;
    after.values[usage][0] = 80;
    before.values[usage][1] = 9; /* a total that falls is not to be believed */
    const char *text = report();
    expect_part(text, "\"window_ns\":700,");
    expect_part(text, "\"user_ns\":30,\"system_ns\":0,");
    after.at_ns = 0;
    expect_part(report(), "\"window_ns\":0,");
    probes_stop(&probes);
}

STARTED_TEST(answer__the_table_with_reasons)
{
    capture_start();
    probes_answer(&probes);
    const char *text = capture_end();
    expect_part(text, "{\"event\":\"probes\",\"figures\":[{\"name\":\"taken_ns\",");
    expect_part(text,
                "{\"name\":\"user_ns\",\"summary\":\"CPU time in user mode\",\"unit\":\"ns\","
                "\"per\":\"message\",\"probe\":\"usage\",\"how\":\"getrusage() of the engine, "
                "all its threads\",\"of\":\"process\",\"disturbs\":false,\"ready\":true,"
                "\"reason\":\"\"}");
    expect_part(text, "\"disturbs\":true,\"ready\":false,\"reason\":\"cannot read "
                      "/nonexistent/events/raw_syscalls/sys_enter/id: ");
}
