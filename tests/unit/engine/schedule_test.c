/* SPDX-License-Identifier: BSD-3-Clause */
/* When messages are due: by the real clock, of which only the order of times is looked at. What a
 * pattern shows of it is in pattern_incast_test.c and pattern_open_loop_test.c. */
#include "schedule.h"

#include <stdbool.h>

#include "clock.h"
#include "run.h"
#include "testing.h"

static bool interrupted(void *context)
{
    return false;
}

static uint64_t due_ns[8];
static uint64_t sent_ns[8];
static uint64_t sent;

static int note(struct run *running, const struct schedule *schedule, bool measured)
{
    assert_int_equal(measured, sent >= running->request->skip);
    due_ns[sent] = schedule->due_ns;
    sent_ns[sent++] = clock_now_ns();
    return 0;
}

/* So what they count is of the measured messages, and none of these is late for them. */
TEST(schedule_run__probes_are_read_in_a_pause_behind_what_is_skipped)
{
    static struct probes probes;
    static struct measure_result result;
    const struct probe_place here = {.proc = "/proc", .tracing = "", .program = ""};
    const struct measure_request request = {
        .interrupted = interrupted,
        .deadline_ns = clock_now_ns() + 10 * NS_PER_SECOND,
        .probes = &probes,
        .interval_ns = 50000,
        .skip = 3,
        .count = 4,
    };
    struct run run = {.request = &request, .result = &result};
    probes_open(&probes, &here);
    probes_start(&probes);
    assert_int_equal(schedule_run(&run, note), 0);
    probes_stop(&probes);
    probes_close(&probes);
    assert_int_equal(sent, 7);
    assert_true(sent_ns[2] <= result.before.at_ns);
    assert_true(result.before.at_ns <= sent_ns[3]);
    for (uint64_t i = 1; i < 7; i++) {
        assert_int_equal(due_ns[i] - due_ns[i - 1], i == 3 ? 1050000 : 50000);
    }
    assert_true(result.started_ns >= due_ns[3]);
    assert_true(result.in_step && !result.stopped);
}
