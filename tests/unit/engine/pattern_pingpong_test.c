/* SPDX-License-Identifier: BSD-3-Clause */
/* One message there and back, over a driver that does what the test says. */
#include "fake_driver.h"

#include <errno.h>
#include <string.h>

#include "clock.h"

FAKE_DRIVER_FOR(PATTERN_PINGPONG)

TEST_AROUND(pingpong__each_round_trip_is_a_sample, prepare, NULL)
{
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.samples, 10);
    assert_int_equal(samples.min_ns, 1000);
    assert_int_equal(samples.max_ns, 1000);
    assert_int_equal(result.elapsed_ns, 10000);
    assert_int_equal(result.sent, 10);
    assert_int_equal(result.received, 10);
    assert_int_equal(result.lost, 0);
    assert_false(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(fake.flushes, 1);
}

TEST_AROUND(pingpong__skipped_messages_are_not_measured, prepare, NULL)
{
    request.skip = 5;
    fake.slow_every = 5; /* the last skipped one, and the last two fifths */
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 15);
    assert_int_equal(samples.samples, 10);
    expect_samples(1000, 8);
    expect_samples(7300, 2);
    assert_int_equal(result.elapsed_ns, 8 * 1000 + 2 * 7300);
    assert_int_equal(result.received, 10);
}

TEST_AROUND(pingpong__batch_is_divided_and_rounded, prepare, NULL)
{
    request.batch = 3;
    fake.slow_every = 9;
    fake.receive_ns = 10;
    fake.send_ns = 0;
    /* Batches of 10+10+10, 10+10+10, 10+10+100 (40), and one of a single message. */
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.samples, 4);
    expect_samples(10, 3);
    expect_samples(40, 1);
    assert_int_equal(result.received, 10);

    assert_int_equal(prepare(state), 0);
    request.batch = 2;
    request.count = 2;
    fake.receive_ns = 1;
    fake.send_ns = 0;
    fake.slow_every = 2; /* 1 + 10 = 11 ns for two: 5.5, rounded up */
    assert_int_equal(measure(), 0);
    expect_samples(6, 1);
}

TEST_AROUND(pingpong__looking_for_a_stop_is_in_no_sample, prepare, NULL)
{
    request.count = 100000; /* 100 ms: several looks */
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.min_ns, 1000);
    assert_int_equal(samples.max_ns, 1000);
    assert_int_equal(samples.samples, 100000);
}

TEST_AROUND(pingpong__lost_message_is_counted, prepare, NULL)
{
    driver.reliable = false;
    fake.fail_receive = 4;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.lost, 1);
    assert_int_equal(result.received, 9);
    assert_int_equal(result.sent, 10);
    assert_int_equal(samples.samples, 9);
    assert_int_equal(samples.max_ns, 1000);
    assert_false(result.stopped);
}

TEST_AROUND(pingpong__lost_message_spoils_its_batch_only, prepare, NULL)
{
    driver.reliable = false;
    request.batch = 4;
    fake.fail_receive = 3;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.received, 9);
    /* Lost: the third. Then a batch of four, and one of three. */
    assert_int_equal(samples.samples, 2);
    expect_samples(1000, 2);
}

TEST_AROUND(pingpong__last_message_lost, prepare, NULL)
{
    driver.reliable = false;
    fake.fail_receive = 10;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.lost, 1);
    assert_false(result.stopped);
}

TEST_AROUND(pingpong__nothing_ever_arrives, prepare, NULL)
{
    driver.reliable = false;
    request.count = 1000;
    request.deadline_ns = now_ns + NS_PER_SECOND;
    fake.receives = 1;
    fake.timeouts_after = 1;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_int_equal(result.received, 0);
    assert_int_equal(result.lost, 50); /* 1 s of 20 ms each */
    assert_int_equal(samples.samples, 0);
}

TEST_AROUND(pingpong__late_answer_is_thrown_away, prepare, NULL)
{
    driver.reliable = false;
    fake.stale_receive = 3;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 11);
    assert_int_equal(result.received, 10);
    assert_int_equal(result.lost, 0);
    expect_samples(1700, 1);
    expect_samples(1000, 9);
}

TEST_AROUND(pingpong__answer_of_an_earlier_run_is_thrown_away, prepare, NULL)
{
    driver.reliable = false;
    request.count = 1;
    assert_int_equal(measure(), 0);
    uint8_t before[8];
    memcpy(before, outgoing, sizeof before);
    now_ns += 1;
    assert_int_equal(measure(), 0);
    assert_memory_not_equal(before, outgoing, sizeof before);
}

TEST_AROUND(pingpong__wrong_content_is_found_out, prepare, NULL)
{
    fake.corrupt_receive = 10;
    assert_int_equal(measure(), -EBADMSG);
}

TEST_AROUND(pingpong__driver_fails, prepare, NULL)
{
    fake.fail_receive = 4;
    fake.fail_with = -ECONNRESET;
    assert_int_equal(measure(), -ECONNRESET);
    /* For a reliable driver a timeout is a failure as well. */
    assert_int_equal(prepare(state), 0);
    fake.fail_receive = 4;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), -ETIMEDOUT);
}

TEST_AROUND(pingpong__deadline_between_two_messages, prepare, NULL)
{
    request.count = UINT64_C(1) << 40;
    request.deadline_ns = now_ns + 2500;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(result.received, 3);
    assert_int_equal(result.elapsed_ns, 3000);
}

TEST_AROUND(pingpong__deadline_while_skipping, prepare, NULL)
{
    request.skip = 1000;
    request.deadline_ns = now_ns + 2500;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(result.received, 0);
    assert_int_equal(samples.samples, 0);
}

TEST_AROUND(pingpong__interrupted, prepare, NULL)
{
    request.count = UINT64_C(1) << 40;
    interrupt_after = 1;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    /* Seen at the first look, 10 ms after the start. */
    assert_int_equal(result.received, 10000);
}

TEST_AROUND(pingpong__cancelled_inside_a_message, prepare, NULL)
{
    fake.fail_receive = 4;
    fake.fail_with = -ECANCELED;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_int_equal(result.received, 3);
    assert_int_equal(samples.samples, 3);
    assert_false(result.in_step);

    assert_int_equal(prepare(state), 0);
    driver.reliable = false;
    fake.fail_receive = 4;
    fake.fail_with = -ECANCELED;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
}

TEST_AROUND(pingpong__without_another_end, prepare, NULL)
{
    driver.placement = DRIVER_PROCESS;
    driver.receive = NULL;
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.samples, 10);
    assert_int_equal(samples.max_ns, 300);
    assert_int_equal(result.received, 10);
}

TEST_AROUND(pingpong__responder_echoes_what_came, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    request.skip = 5;
    memset(fake.wire, 0x5A, sizeof fake.wire);
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 15);
    assert_int_equal(fake.sends, 15);
    assert_int_equal(fake.wire[0], 0x5A);
    assert_int_equal(result.received, 10);
    assert_int_equal(samples.samples, 0);
    assert_false(result.stopped);
    assert_true(result.in_step);
}

TEST_AROUND(pingpong__unreliable_responder_ends_after_the_last_message, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    driver.reliable = false;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 10);
    assert_int_equal(result.received, 10);
    assert_false(result.stopped);
    assert_true(result.in_step);
}

TEST_AROUND(pingpong__unreliable_responder_waits_for_lost_messages_until_stopped, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    driver.reliable = false;
    fake.timeouts_after = 7;
    interrupt_after = 7;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 7);
    assert_int_equal(result.received, 7);
    assert_true(result.stopped);
    assert_true(result.in_step);
}

TEST_AROUND(pingpong__posts_nothing_in_advance, prepare, NULL)
{
    driver.stream_send = fake_stream_send;
    driver.stream_receive = fake_stream_receive;
    memset(fake.more, 0xFF, sizeof fake.more);
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.more[0], UINT64_MAX);
}
