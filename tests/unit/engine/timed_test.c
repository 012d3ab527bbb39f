/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that carry their times. The fake driver's answers are copies of what was sent. */
#include "timed.h"

#include <errno.h>

#include "fake_driver.h"

static struct run run;

static int prepare(void **state)
{
    fake_prepare(&PATTERN_ONEWAY);
    result = (struct measure_result){0};
    run = (struct run){
        FAKE_RUN,
    };
    return 0;
}

TEST_AROUND(timed_exchange__unreliable__an_old_answer_is_thrown_away, prepare, NULL)
{
    driver.reliable = false;
    fake.stale_receive = 1;
    struct timed_exchange one = {0};
    assert_int_equal(timed_exchange(&run, &one), 0);
    assert_int_equal(fake.receives, 2);
}

TEST_AROUND(timed_lost__only_where_messages_get_lost, prepare, NULL)
{
    assert_false(timed_lost(&run, -ETIMEDOUT));
    driver.reliable = false;
    assert_true(timed_lost(&run, -ETIMEDOUT));
    assert_false(timed_lost(&run, 0));
    assert_false(timed_lost(&run, -ECONNRESET));
}

TEST_AROUND(oneway__unreliable__what_is_lost_is_counted, prepare, NULL)
{
    driver.reliable = false;
    fake.timeouts_after = request.skip + 7;
    assert_int_equal(measure(), 0);
    assert_int_equal(result.received, 7);
    assert_int_equal(result.lost, request.count - 7);
    assert_int_equal(result.sent, request.count);
}
