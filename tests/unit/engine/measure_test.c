/* SPDX-License-Identifier: BSD-3-Clause */
/* The measuring loop against a driver that does what the test says, in a time that passes only
 * when the driver says so: every figure is known exactly. */
#include "measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "testing.h"

#define MESSAGE_BYTES 100
#define FAKE_MORE 32

static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *time);

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    time->tv_sec = (time_t)(now_ns / NS_PER_SECOND);
    time->tv_nsec = (long)(now_ns % NS_PER_SECOND);
    return 0;
}

/* What the fake driver does and has seen. Calls are counted from 1. */
static struct fake {
    uint64_t send_ns;
    uint64_t receive_ns;
    uint64_t slow_every;    /* each n-th receive() takes 10 times as long; 0: none */
    uint64_t fail_receive;  /* this receive() fails ... */
    int fail_with;          /* ... with this, once */
    uint64_t stale_receive; /* this receive() brings an answer of long ago */
    uint64_t corrupt_receive;
    uint64_t timeouts_after; /* later receive()s all time out; 0: none do */
    uint64_t sends;
    uint64_t receives;
    uint64_t last_sent_bytes;
    uint64_t last_received_bytes;
    uint64_t flushes;
    uint64_t more[FAKE_MORE]; /* what followed each message of a posted stream */
    uint8_t wire[MESSAGE_BYTES];
} fake;

static int fake_send(void *session, const void *data, uint64_t size)
{
    (void)session;
    fake.sends++;
    fake.last_sent_bytes = size;
    now_ns += fake.send_ns;
    memcpy(fake.wire, data, size);
    return 0;
}

static int fake_receive(void *session, void *data, uint64_t size)
{
    (void)session;
    fake.receives++;
    fake.last_received_bytes = size;
    if (fake.timeouts_after != 0 && fake.receives > fake.timeouts_after) {
        now_ns += 20 * NS_PER_MS;
        return -ETIMEDOUT;
    }
    bool slow = fake.slow_every != 0 && fake.receives % fake.slow_every == 0;
    now_ns += slow ? 10 * fake.receive_ns : fake.receive_ns;
    if (fake.receives == fake.fail_receive) {
        return fake.fail_with;
    }
    memcpy(data, fake.wire, size);
    if (fake.receives == fake.stale_receive || fake.receives == fake.corrupt_receive) {
        *(uint8_t *)data ^= 1;
    }
    return 0;
}

/* A stream that is posted in advance: `more` must count down to 0 on each side. */
static int fake_stream_send(void *session, const void *data, uint64_t size, uint64_t more)
{
    fake.more[fake.sends % FAKE_MORE] = more;
    return fake_send(session, data, size);
}

static int fake_stream_receive(void *session, void *data, uint64_t size, uint64_t more)
{
    fake.more[fake.receives % FAKE_MORE] = more;
    return fake_receive(session, data, size);
}

static int fake_flush(void *session)
{
    (void)session;
    fake.flushes++;
    return 0;
}

static struct driver driver;
static struct histogram samples;
static struct measure_result result;
static uint8_t outgoing[MESSAGE_BYTES];
static uint8_t incoming[MESSAGE_BYTES];
static struct measure_request request;
static uint64_t interrupt_after; /* sends; 0: never */

static bool interrupted(void *context)
{
    (void)context;
    return interrupt_after != 0 && fake.sends >= interrupt_after;
}

static int prepare(void **state)
{
    (void)state;
    now_ns = 1000 * NS_PER_SECOND;
    interrupt_after = 0;
    fake = (struct fake){.send_ns = 300, .receive_ns = 700};
    driver = (struct driver){
        .placement = DRIVER_PAIR,
        .reliable = true,
        .min_size = 1,
        .max_size = MESSAGE_BYTES,
        .send = fake_send,
        .receive = fake_receive,
        .flush = fake_flush,
    };
    request = (struct measure_request){
        .driver = &driver,
        .role = DRIVER_INITIATOR,
        .pattern = MEASURE_PINGPONG,
        .size = MESSAGE_BYTES,
        .count = 10,
        .batch = 1,
        .deadline_ns = now_ns + 10 * NS_PER_SECOND,
        .outgoing = outgoing,
        .incoming = incoming,
        .interrupted = interrupted,
    };
    histogram_clear(&samples);
    return 0;
}

static int measure(void)
{
    return measure_run(&request, &result, &samples);
}

static void expect_samples(uint64_t value_ns, uint64_t count)
{
    assert_int_equal(samples.counts[histogram_index(value_ns)], count);
}

static void pingpong__each_round_trip_is_a_sample(void **state)
{
    (void)state;
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

static void pingpong__skipped_messages_are_not_measured(void **state)
{
    (void)state;
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

static void pingpong__batch_is_divided_and_rounded(void **state)
{
    (void)state;
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

static void pingpong__looking_for_a_stop_is_in_no_sample(void **state)
{
    (void)state;
    request.count = 100000; /* 100 ms: several looks */
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.min_ns, 1000);
    assert_int_equal(samples.max_ns, 1000);
    assert_int_equal(samples.samples, 100000);
}

static void pingpong__lost_message_is_counted(void **state)
{
    (void)state;
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

static void pingpong__lost_message_spoils_its_batch_only(void **state)
{
    (void)state;
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

static void pingpong__last_message_lost(void **state)
{
    (void)state;
    driver.reliable = false;
    fake.fail_receive = 10;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.lost, 1);
    assert_false(result.stopped);
}

static void pingpong__nothing_ever_arrives(void **state)
{
    (void)state;
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

static void pingpong__late_answer_is_thrown_away(void **state)
{
    (void)state;
    driver.reliable = false;
    fake.stale_receive = 3;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 11);
    assert_int_equal(result.received, 10);
    assert_int_equal(result.lost, 0);
    expect_samples(1700, 1);
    expect_samples(1000, 9);
}

static void pingpong__answer_of_an_earlier_run_is_thrown_away(void **state)
{
    (void)state;
    driver.reliable = false;
    request.count = 1;
    assert_int_equal(measure(), 0);
    uint8_t before[8];
    memcpy(before, outgoing, sizeof before);
    now_ns += 1;
    assert_int_equal(measure(), 0);
    assert_memory_not_equal(before, outgoing, sizeof before);
}

static void pingpong__wrong_content_is_found_out(void **state)
{
    (void)state;
    fake.corrupt_receive = 10;
    assert_int_equal(measure(), -EBADMSG);
}

static void pingpong__driver_fails(void **state)
{
    (void)state;
    fake.fail_receive = 4;
    fake.fail_with = -ECONNRESET;
    assert_int_equal(measure(), -ECONNRESET);
    /* For a reliable driver a timeout is a failure as well. */
    assert_int_equal(prepare(state), 0);
    fake.fail_receive = 4;
    fake.fail_with = -ETIMEDOUT;
    assert_int_equal(measure(), -ETIMEDOUT);
}

static void pingpong__deadline_between_two_messages(void **state)
{
    (void)state;
    request.count = UINT64_C(1) << 40;
    request.deadline_ns = now_ns + 2500;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(result.received, 3);
    assert_int_equal(result.elapsed_ns, 3000);
}

static void pingpong__deadline_while_skipping(void **state)
{
    (void)state;
    request.skip = 1000;
    request.deadline_ns = now_ns + 2500;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    assert_int_equal(result.received, 0);
    assert_int_equal(samples.samples, 0);
}

static void pingpong__interrupted(void **state)
{
    (void)state;
    request.count = UINT64_C(1) << 40;
    interrupt_after = 1;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_true(result.in_step);
    /* Seen at the first look, 10 ms after the start. */
    assert_int_equal(result.received, 10000);
}

static void pingpong__cancelled_inside_a_message(void **state)
{
    (void)state;
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

static void pingpong__without_another_end(void **state)
{
    (void)state;
    driver.placement = DRIVER_PROCESS;
    driver.receive = NULL;
    assert_int_equal(measure(), 0);
    assert_int_equal(samples.samples, 10);
    assert_int_equal(samples.max_ns, 300);
    assert_int_equal(result.received, 10);
}

static void pingpong__responder_echoes_what_came(void **state)
{
    (void)state;
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

static void pingpong__unreliable_responder_ends_after_the_last_message(void **state)
{
    (void)state;
    request.role = DRIVER_RESPONDER;
    driver.reliable = false;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.sends, 10);
    assert_int_equal(result.received, 10);
    assert_false(result.stopped);
    assert_true(result.in_step);
}

static void pingpong__unreliable_responder_waits_for_lost_messages_until_stopped(void **state)
{
    (void)state;
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

static void stream__initiator_waits_for_the_answer(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
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

static void stream__answer_is_no_larger_than_a_message(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    request.size = 3;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.last_received_bytes, 3);
}

static void stream__unreliable_initiator_waits_for_nothing(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    driver.reliable = false;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 0);
    assert_int_equal(result.elapsed_ns, 3000);
}

static void stream__initiator_cut_short_is_out_of_step(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    request.count = UINT64_C(1) << 40;
    request.deadline_ns = now_ns + 50 * NS_PER_MS;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_false(result.in_step);
    assert_true(result.sent > 0);
    assert_int_equal(fake.receives, 0);
}

static void stream__responder_measures_from_the_last_skipped(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
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

static void stream__responder_without_skip_measures_from_the_first(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    request.role = DRIVER_RESPONDER;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.elapsed_ns, 9 * 700);
    assert_int_equal(result.received, 10);
}

static void stream__unreliable_responder_ends_at_the_last_arrival(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
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

static void stream__responder_cut_short_is_out_of_step(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    request.role = DRIVER_RESPONDER;
    fake.fail_receive = 4;
    fake.fail_with = -ECANCELED;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_false(result.in_step);
    assert_int_equal(result.received, 3);
    assert_int_equal(fake.sends, 0);
}

static void stream__posted_in_advance_by_the_initiator(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
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

static void stream__posted_in_advance_by_the_responder(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
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

static void pingpong__posts_nothing_in_advance(void **state)
{
    (void)state;
    driver.stream_send = fake_stream_send;
    driver.stream_receive = fake_stream_receive;
    memset(fake.more, 0xFF, sizeof fake.more);
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.more[0], UINT64_MAX);
}

static void stream__fails_at_the_answer_to_the_skipped(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    request.skip = 5;
    fake.fail_receive = 1;
    fake.fail_with = -ECONNRESET;
    assert_int_equal(measure(), -ECONNRESET);
    assert_int_equal(fake.sends, 5);
    assert_false(result.in_step);
}

static void stream__without_another_end(void **state)
{
    (void)state;
    request.pattern = MEASURE_STREAM;
    driver.placement = DRIVER_PROCESS;
    driver.receive = NULL;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.elapsed_ns, 3000);
    assert_int_equal(result.received, 10);
    assert_true(result.in_step);
}

#define PREPARED(test) cmocka_unit_test_setup(test, prepare)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREPARED(pingpong__each_round_trip_is_a_sample),
        PREPARED(pingpong__skipped_messages_are_not_measured),
        PREPARED(pingpong__batch_is_divided_and_rounded),
        PREPARED(pingpong__looking_for_a_stop_is_in_no_sample),
        PREPARED(pingpong__lost_message_is_counted),
        PREPARED(pingpong__lost_message_spoils_its_batch_only),
        PREPARED(pingpong__last_message_lost),
        PREPARED(pingpong__nothing_ever_arrives),
        PREPARED(pingpong__late_answer_is_thrown_away),
        PREPARED(pingpong__answer_of_an_earlier_run_is_thrown_away),
        PREPARED(pingpong__wrong_content_is_found_out),
        PREPARED(pingpong__driver_fails),
        PREPARED(pingpong__deadline_between_two_messages),
        PREPARED(pingpong__deadline_while_skipping),
        PREPARED(pingpong__interrupted),
        PREPARED(pingpong__cancelled_inside_a_message),
        PREPARED(pingpong__without_another_end),
        PREPARED(pingpong__responder_echoes_what_came),
        PREPARED(pingpong__unreliable_responder_ends_after_the_last_message),
        PREPARED(pingpong__unreliable_responder_waits_for_lost_messages_until_stopped),
        PREPARED(stream__initiator_waits_for_the_answer),
        PREPARED(stream__answer_is_no_larger_than_a_message),
        PREPARED(stream__unreliable_initiator_waits_for_nothing),
        PREPARED(stream__initiator_cut_short_is_out_of_step),
        PREPARED(stream__responder_measures_from_the_last_skipped),
        PREPARED(stream__responder_without_skip_measures_from_the_first),
        PREPARED(stream__unreliable_responder_ends_at_the_last_arrival),
        PREPARED(stream__responder_cut_short_is_out_of_step),
        PREPARED(stream__posted_in_advance_by_the_initiator),
        PREPARED(stream__posted_in_advance_by_the_responder),
        PREPARED(pingpong__posts_nothing_in_advance),
        PREPARED(stream__fails_at_the_answer_to_the_skipped),
        PREPARED(stream__without_another_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
