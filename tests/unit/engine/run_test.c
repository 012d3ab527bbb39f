/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that patterns are made of. */
#include "run.h"

#include <string.h>

#include "clock.h"
#include "fake_driver.h"

static struct run run;

static int prepare(void **state)
{
    fake_prepare(&PATTERN_PINGPONG);
    result = (struct measure_result){0};
    run = (struct run){
        FAKE_RUN,
        .stamp = UINT64_C(0x1122334455667788),
        .stamp_bytes = RUN_STAMP_BYTES,
    };
    return 0;
}

TEST_AROUND(measured__is_the_time_between, prepare, NULL)
{
    run_begin_measured(&run);
    now_ns += 12345;
    run_end_measured(&run, now_ns);
    assert_int_equal(result.elapsed_ns, 12345);
    assert_int_equal(result.before.at_ns, 0); /* nobody says that there are probes */
}

TEST_AROUND(measured__probes_are_read_outside_of_it, prepare, NULL)
{
    static struct probes probes;
    const struct probe_place here = {.proc = "/proc", .sys = "/sys", .tracing = "", .program = ""};
    probes_open(&probes, &here);
    probes_start(&probes);
    request.probes = &probes;
    run_begin_measured(&run);
    now_ns += 12345;
    run_end_measured(&run, now_ns);
    probes_stop(&probes);
    probes_close(&probes);
    assert_int_equal(result.after.at_ns - result.before.at_ns, 12345);
}

TEST_AROUND(stamp__is_the_next_number_as_far_as_it_fits, prepare, NULL)
{
    memset(outgoing, 0, sizeof outgoing);
    run_stamp(&run);
    const uint64_t next = UINT64_C(0x1122334455667789);
    assert_memory_equal(outgoing, &next, sizeof next);
    run.stamp_bytes = 2;
    outgoing[2] = 7;
    run_stamp(&run);
    assert_int_equal(outgoing[0], 0x8A);
    assert_int_equal(outgoing[2], 7);
}

TEST_AROUND(answer__has_eight_bytes_or_what_fits, prepare, NULL)
{
    assert_int_equal(run_send_answer(&run), 0);
    assert_int_equal(fake.last_sent_bytes, 8);
    request.size = 5;
    assert_int_equal(run_receive_answer(&run), 0);
    assert_int_equal(fake.last_received_bytes, 5);
    driver.min_size = 60;
    assert_int_equal(run_send_answer(&run), 0);
    assert_int_equal(fake.last_sent_bytes, 60);
}

TEST_AROUND(answer__only_where_it_arrives, prepare, NULL)
{
    assert_true(run_is_answered(&run));
    driver.reliable = false;
    assert_false(run_is_answered(&run));
    driver.reliable = true;
    driver.receive = NULL;
    assert_false(run_is_answered(&run));
}

TEST_AROUND(end__at_the_deadline_or_when_asked, prepare, NULL)
{
    assert_false(run_should_end(&run, request.deadline_ns - 1));
    assert_true(run_should_end(&run, request.deadline_ns));
    interrupt_after = 1;
    fake.sends = 1;
    assert_true(run_should_end(&run, now_ns));
}

/* Messages of 1 us: looks are soon a millisecond apart, and one in ten asks the caller. */
TEST_AROUND(pace__reads_the_clock_about_every_millisecond, prepare, NULL)
{
    struct pace pace = pace_start();
    for (int i = 0; i < 100000; i++) {
        now_ns += 1000;
        pace_message(&pace, &run);
    }
    assert_in_range(pace.messages, 500, 2000);
    assert_false(run.stop);
    interrupt_after = 1;
    fake.sends = 1;
    for (int i = 0; i < 12000; i++) {
        now_ns += 1000;
        pace_message(&pace, &run);
    }
    assert_true(run.stop);
}

TEST_AROUND(pace__slow_messages_are_looked_at_one_by_one, prepare, NULL)
{
    struct pace pace = pace_start();
    for (int i = 0; i < 20; i++) {
        now_ns += NS_PER_SECOND / 10;
        pace_message(&pace, &run);
    }
    assert_int_equal(pace.messages, 1);
    request.deadline_ns = now_ns + 1;
    now_ns += 1;
    pace_message(&pace, &run);
    assert_true(run.stop);
}
