/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages at a rate: one way where the ends have one clock, else answered. */
#include "two_ends.h"

#include <errno.h>

#include "clock.h"

#define INTERVAL_NS UINT64_C(200000)

static int prepare(void **state)
{
    two_ends_prepare(&PATTERN_OPEN_LOOP);
    asked.interval_ns = INTERVAL_NS;
    asked.one_clock = true;
    return 0;
}

static void expect_in_step(void)
{
    assert_int_equal(initiator.error, 0);
    assert_int_equal(responder.error, 0);
    assert_true(initiator.result.in_step && responder.result.in_step);
}

TEST_AROUND(open_loop__one_clock__samples_are_of_who_receives, prepare, NULL)
{
    static const uint64_t SIZES[] = {16, 1000, 65537};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        asked.size = SIZES[i];
        for (asked.skip = 0; asked.skip <= 4; asked.skip += 4) {
            asked.start_ns = clock_now_ns() + NS_PER_MS;
            two_ends_run();
            expect_in_step();
            assert_int_equal(initiator.result.sent, 10);
            assert_int_equal(initiator.samples.samples, 0);
            assert_int_equal(responder.result.received, 10);
            assert_int_equal(responder.samples.samples, 10);
            assert_true(initiator.result.started_ns + initiator.result.elapsed_ns >=
                        asked.start_ns + (asked.skip + 9) * INTERVAL_NS);
            assert_true(responder.samples.min_ns < UINT64_C(1000000000));
        }
    }
}

/* At both ends: after the last that is skipped was due, before the first that is measured. */
TEST_AROUND(open_loop__probes_count_what_is_measured, prepare, NULL)
{
    static struct probes probes;
    const struct probe_place here = {.proc = "/proc", .sys = "/sys", .tracing = "", .program = ""};
    probes_open(&probes, &here);
    probes_start(&probes);
    asked.probes = &probes;
    asked.start_ns = clock_now_ns() + NS_PER_MS;
    two_ends_run();
    probes_stop(&probes);
    probes_close(&probes);
    expect_in_step();
    const uint64_t skipped_ns = asked.start_ns + (asked.skip - 1) * INTERVAL_NS;
    assert_true(initiator.result.before.at_ns >= skipped_ns);
    assert_true(responder.result.before.at_ns >= skipped_ns);
    assert_true(initiator.result.before.at_ns <= initiator.result.started_ns);
    assert_true(initiator.result.after.at_ns >= initiator.result.before.at_ns);
    /* The first one has its interval, too, however close the others follow. */
    assert_true(responder.result.elapsed_ns >= INTERVAL_NS);
}

/* A start in the past: everything is late, and counts from when it was due. */
TEST_AROUND(open_loop__what_is_late_counts_from_when_it_was_due, prepare, NULL)
{
    const uint64_t late_ns = UINT64_C(50000000);
    asked.start_ns = clock_now_ns() - late_ns;
    asked.skip = 0;
    asked.interval_ns = 1;
    two_ends_run();
    expect_in_step();
    assert_true(responder.samples.min_ns >= late_ns - 10);
    assert_int_equal(initiator.result.late, 10);
}

TEST_AROUND(open_loop__without_an_interval_nothing_is_late, prepare, NULL)
{
    asked.interval_ns = 0;
    asked.count = 500;
    two_ends_run();
    expect_in_step();
    assert_int_equal(initiator.result.late, 0);
    assert_int_equal(responder.samples.samples, 500);
}

TEST_AROUND(open_loop__stopped_it_says_so_and_both_ends_leave, prepare, NULL)
{
    stop_at_once = true;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    expect_in_step();
    assert_true(initiator.result.stopped && responder.result.stopped);
    assert_true(initiator.result.sent <= 60); /* of 10 ms, after which it looks */
}

/* The message before comes in its place: its number is of another run. */
TEST_AROUND(open_loop__a_message_of_another_run_ends_the_session, prepare, NULL)
{
    asked.serial = 1;
    two_ends_run();
    asked.serial = 2;
    lie = LIE_OLD_RUN;
    lie_at = 6;
    two_ends_run();
    assert_int_equal(responder.error, -EBADMSG);
    assert_string_equal(responder.result.fault, "a message of another run arrived");
}

TEST_AROUND(open_loop__two_clocks__each_is_answered, prepare, NULL)
{
    asked.one_clock = false;
    asked.start_ns = clock_now_ns() + NS_PER_MS;
    two_ends_run();
    expect_in_step();
    assert_int_equal(initiator.samples.samples, 10);
    assert_int_equal(initiator.result.received, 10);
    assert_int_equal(responder.result.received, 10);
    assert_int_equal(responder.samples.samples, 0);
    assert_true(initiator.result.started_ns + initiator.result.elapsed_ns >=
                asked.start_ns + (asked.skip + 9) * INTERVAL_NS);
}
