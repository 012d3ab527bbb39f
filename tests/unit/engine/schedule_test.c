/* SPDX-License-Identifier: BSD-3-Clause */
/* When messages are due: by the real clock, of which only the order of times is looked at. */
#include "schedule.h"

#include <stdbool.h>

#include "clock.h"
#include "run.h"
#include "testing.h"

static bool ending;

static bool interrupted(void *context)
{
    return ending;
}

static struct measure_request request;
static struct run run;

static int prepare(void **state)
{
    ending = false;
    request = (struct measure_request){
        .interrupted = interrupted,
        .deadline_ns = clock_now_ns() + 10 * NS_PER_SECOND,
    };
    run = (struct run){.request = &request};
    return 0;
}

TEST_AROUND(schedule_wait__messages_are_due_an_interval_apart, prepare, NULL)
{
    request.start_ns = clock_now_ns() + NS_PER_MS;
    request.interval_ns = 50000;
    struct schedule schedule = schedule_begin(&run);
    for (uint64_t i = 0; i < 40; i++) {
        schedule_wait(&schedule, &run);
        assert_int_equal(schedule.due_ns, request.start_ns + i * request.interval_ns);
        assert_true(schedule.now_ns >= schedule.due_ns);
        assert_true(clock_now_ns() >= schedule.due_ns);
    }
    assert_false(run.stop);
}

/* What should have gone meanwhile goes at once, and is as late as it is. */
TEST_AROUND(schedule_wait__after_a_stall_nothing_is_left_out, prepare, NULL)
{
    request.interval_ns = 10000;
    struct schedule schedule = schedule_begin(&run);
    schedule_wait(&schedule, &run);
    const uint64_t first_ns = schedule.due_ns;
    const uint64_t over_ns = first_ns + 2 * NS_PER_MS;
    schedule_wait_until(&run, over_ns);
    for (uint64_t i = 1; i <= 200; i++) {
        schedule_wait(&schedule, &run);
        assert_int_equal(schedule.due_ns, first_ns + i * request.interval_ns);
        assert_true(schedule.now_ns >= over_ns);
    }
}

TEST_AROUND(schedule_wait__without_an_interval_a_message_is_due_when_asked_for, prepare, NULL)
{
    struct schedule schedule = schedule_begin(&run);
    for (int i = 0; i < 10; i++) {
        const uint64_t before_ns = clock_now_ns();
        schedule_wait(&schedule, &run);
        assert_true(schedule.due_ns >= before_ns && schedule.due_ns == schedule.now_ns);
    }
}

TEST_AROUND(schedule_wait__ends_with_the_run_long_before_a_message_is_due, prepare, NULL)
{
    request.start_ns = clock_now_ns() + 60 * NS_PER_SECOND;
    request.interval_ns = 1;
    ending = true;
    struct schedule schedule = schedule_begin(&run);
    schedule_wait(&schedule, &run);
    assert_true(run.stop);
    assert_true(clock_now_ns() < request.start_ns);
}

TEST_AROUND(schedule_wait_until__ends_at_the_deadline, prepare, NULL)
{
    request.deadline_ns = clock_now_ns();
    schedule_wait_until(&run, clock_now_ns() + 60 * NS_PER_SECOND);
    assert_true(run.stop);
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
TEST_AROUND(schedule_run__probes_are_read_in_a_pause_behind_what_is_skipped, prepare, NULL)
{
    static struct probes probes;
    static struct measure_result result;
    const struct probe_place here = {.proc = "/proc", .tracing = "", .program = ""};
    probes_open(&probes, &here);
    probes_start(&probes);
    request.probes = &probes;
    request.interval_ns = 50000;
    request.skip = 3;
    request.count = 4;
    run.result = &result;
    sent = 0;
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
