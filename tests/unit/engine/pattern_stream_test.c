/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages one way, over a driver that does what the test says. */
#include "fake_driver.h"

#include <errno.h>
#include <string.h>

#include "clock.h"

FAKE_DRIVER_FOR(PATTERN_STREAM)

TEST_AROUND(stream__initiator_waits_for_the_answer, prepare, NULL)
{
    request.skip = 5;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 15);
    assert_int_equal(fake.receives, 2); /* that of what was skipped came before the clock started */
    assert_int_equal(fake.last_received_bytes, 8);
    assert_int_equal(result.elapsed_ns, 10 * 300 + 700);
    assert_int_equal(result.sent, 10);
    assert_int_equal(result.received, 0);
    assert_false(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(samples.samples, 0);
}

TEST_AROUND(stream__answer_is_no_larger_than_a_message, prepare, NULL)
{
    request.size = 3;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.last_received_bytes, 3);
}

TEST_AROUND(stream__unreliable_initiator_waits_for_nothing, prepare, NULL)
{
    driver.reliable = false;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 0);
    assert_int_equal(result.elapsed_ns, 3000);
}

TEST_AROUND(stream__initiator_cut_short_is_out_of_step, prepare, NULL)
{
    request.count = UINT64_C(1) << 40;
    request.deadline_ns = now_ns + 50 * NS_PER_MS;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_false(result.in_step);
    assert_true(result.sent > 0);
    assert_int_equal(fake.receives, 0);
}

TEST_AROUND(stream__responder_measures_from_the_last_skipped, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    request.skip = 5;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 15);
    assert_int_equal(fake.sends, 2);
    assert_int_equal(fake.last_sent_bytes, 8);
    assert_int_equal(result.elapsed_ns, 10 * 700);
    assert_int_equal(result.received, 10);
    assert_int_equal(result.sent, 0);
    assert_true(result.in_step);
}

TEST_AROUND(stream__responder_without_skip_measures_from_the_first, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.elapsed_ns, 9 * 700);
    assert_int_equal(result.received, 10);
}

TEST_AROUND(stream__unreliable_responder_ends_at_the_last_arrival, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    request.skip = 2;
    driver.reliable = false;
    fake.timeouts_after = 6;
    request.deadline_ns = now_ns + NS_PER_SECOND;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_int_equal(result.received, 4);
    assert_int_equal(result.elapsed_ns, 4 * 700); /* the second of silence does not count */
    assert_int_equal(fake.sends, 0);
}

TEST_AROUND(stream__responder_cut_short_is_out_of_step, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    fake.fail_receive = 4;
    fake.fail_with = -ECANCELED;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_false(result.in_step);
    assert_int_equal(result.received, 3);
    assert_int_equal(fake.sends, 0);
}

TEST_AROUND(stream__posted_in_advance_by_the_initiator, prepare, NULL)
{
    request.skip = 3;
    driver.stream_send = fake_stream_send;
    driver.stream_receive = fake_stream_receive;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 13);
    for (uint64_t i = 0; i < 13; i++) {
        assert_int_equal(fake.more[i], i < 3 ? 2 - i : 12 - i);
    }
    assert_int_equal(fake.receives, 2);
    assert_int_equal(result.elapsed_ns, 10 * 300 + 700);
}

TEST_AROUND(stream__posted_in_advance_by_the_responder, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    request.skip = 3;
    driver.stream_send = fake_stream_send;
    driver.stream_receive = fake_stream_receive;
    assert_int_equal(measure(), 0);
    for (uint64_t i = 0; i < 13; i++) {
        assert_int_equal(fake.more[i], 12 - i);
    }
    assert_int_equal(fake.sends, 2);
    assert_int_equal(result.received, 10);
    assert_true(result.in_step);
}

TEST_AROUND(stream__fails_at_the_answer_to_the_skipped, prepare, NULL)
{
    request.skip = 5;
    fake.fail_receive = 1;
    fake.fail_with = -ECONNRESET;
    assert_int_equal(measure(), -ECONNRESET);
    assert_int_equal(fake.sends, 5);
    assert_false(result.in_step);
}

TEST_AROUND(stream__without_another_end, prepare, NULL)
{
    driver.placement = DRIVER_PROCESS;
    driver.receive = NULL;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.elapsed_ns, 3000);
    assert_int_equal(result.received, 10);
    assert_true(result.in_step);
}
