/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that carry their times. The fake driver's answers are copies of what was sent. */
#include "timed.h"

#include <errno.h>
#include <string.h>

#include "fake_driver.h"

static struct run run;

static int prepare(void **state)
{
    (void)state;
    fake_prepare(&PATTERN_ONEWAY);
    result = (struct measure_result){0};
    run = (struct run){
        .request = &request,
        .result = &result,
        .samples = &samples,
        .outgoing = outgoing,
        .incoming = incoming,
        .send_bytes = MESSAGE_BYTES,
        .receive_bytes = MESSAGE_BYTES,
    };
    return 0;
}

static void timed_exchange__has_our_times_and_theirs(void **state)
{
    (void)state;
    fake.send_ns = 100;
    fake.receive_ns = 900;
    const uint64_t theirs = 77;
    memcpy(outgoing + sizeof theirs, &theirs, sizeof theirs);
    const uint64_t begun_ns = now_ns;
    struct timed_exchange one = {0};
    assert_int_equal(timed_exchange(&run, &one), 0);
    assert_true(one.sent_ns >= begun_ns);
    assert_true(one.done_ns >= one.sent_ns + 1000);
    assert_int_equal(one.came_ns, theirs);
}

static void timed_exchange__reliable__another_answer_is_a_fault(void **state)
{
    (void)state;
    fake.stale_receive = 1;
    struct timed_exchange one = {0};
    assert_int_equal(timed_exchange(&run, &one), -EBADMSG);
}

static void timed_exchange__unreliable__an_old_answer_is_thrown_away(void **state)
{
    (void)state;
    driver.reliable = false;
    fake.stale_receive = 1;
    struct timed_exchange one = {0};
    assert_int_equal(timed_exchange(&run, &one), 0);
    assert_int_equal(fake.receives, 2);
}

static void timed_lost__only_where_messages_get_lost(void **state)
{
    (void)state;
    assert_false(timed_lost(&run, -ETIMEDOUT));
    driver.reliable = false;
    assert_true(timed_lost(&run, -ETIMEDOUT));
    assert_false(timed_lost(&run, 0));
    assert_false(timed_lost(&run, -ECONNRESET));
}

static void timed_respond__answers_all_and_ends(void **state)
{
    (void)state;
    request.role = DRIVER_RESPONDER;
    assert_int_equal(timed_respond(&run), 0);
    assert_int_equal(fake.sends, request.skip + request.count);
    assert_int_equal(result.received, request.count);
    assert_false(result.stopped);
}

static void oneway__unreliable__what_is_lost_is_counted(void **state)
{
    (void)state;
    driver.reliable = false;
    fake.timeouts_after = request.skip + 7;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.received, 7);
    assert_int_equal(result.lost, request.count - 7);
    assert_int_equal(result.sent, request.count);
}

#define PREPARED(test) cmocka_unit_test_setup(test, prepare)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREPARED(timed_exchange__has_our_times_and_theirs),
        PREPARED(timed_exchange__reliable__another_answer_is_a_fault),
        PREPARED(timed_exchange__unreliable__an_old_answer_is_thrown_away),
        PREPARED(timed_lost__only_where_messages_get_lost),
        PREPARED(timed_respond__answers_all_and_ends),
        PREPARED(oneway__unreliable__what_is_lost_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
