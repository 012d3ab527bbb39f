/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds of every pattern, with one that does what the test says. */
#include "fake_driver.h"

#include <errno.h>

#include "run.h"

static int ends_with;
static const char *called;

static int initiate(struct run *run)
{
    called = "initiate";
    assert_ptr_equal(run->outgoing, outgoing);
    assert_ptr_equal(run->incoming, incoming);
    run->result->in_step = false;
    return ends_with;
}

static int respond(struct run *run)
{
    called = "respond";
    run->result->sent = run->stamp_bytes;
    return ends_with;
}

static const struct pattern SCRIPT = {.name = "script", .initiate = initiate, .respond = respond};

static int prepare(void **state)
{
    ends_with = 0;
    called = "";
    fake_prepare(&SCRIPT);
    return 0;
}

TEST_AROUND(run__each_end_does_its_part, prepare, NULL)
{
    assert_int_equal(measure(), 0);
    assert_string_equal(called, "initiate");
    assert_int_equal(fake.flushes, 1);
    assert_false(result.in_step);
    request.role = DRIVER_RESPONDER;
    request.size = 3;
    assert_int_equal(measure(), 0);
    assert_string_equal(called, "respond");
    assert_int_equal(result.sent, 3);
    assert_true(result.in_step);
}

TEST_AROUND(run__cancelled_is_stopped_and_no_failure, prepare, NULL)
{
    ends_with = -ECANCELED;
    assert_int_equal(measure(), 0);
    assert_true(result.stopped);
    assert_false(result.in_step);
    assert_int_equal(fake.flushes, 0);
}

TEST_AROUND(run__failure_of_the_driver, prepare, NULL)
{
    ends_with = -ECONNRESET;
    assert_int_equal(measure(), -ECONNRESET);
    assert_false(result.stopped);
}

TEST_AROUND(run__unreliable_driver_is_always_in_step, prepare, NULL)
{
    driver.reliable = false;
    assert_int_equal(measure(), 0);
    assert_true(result.in_step);
}
