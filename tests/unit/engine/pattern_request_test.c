/* SPDX-License-Identifier: BSD-3-Clause */
/* A short request, and an answer of the size: over a driver that does what the test says. */
#include "fake_driver.h"

#include <errno.h>
#include <string.h>

#define REQUEST_BYTES 8

FAKE_DRIVER_FOR(PATTERN_REQUEST)

TEST_AROUND(request__goes_with_few_bytes_and_what_comes_has_the_size, prepare, NULL)
{
    request.skip = 3;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.last_sent_bytes, REQUEST_BYTES);
    assert_int_equal(fake.last_received_bytes, MESSAGE_BYTES);
    assert_int_equal(samples.samples, 10);
    assert_int_equal(samples.min_ns, 1000); /* of both messages: it is not halved */
    assert_int_equal(samples.max_ns, 1000);
    assert_int_equal(result.received, 10);
    assert_true(result.in_step);
}

TEST_AROUND(request__the_other_end_answers_with_the_size, prepare, NULL)
{
    request.role = DRIVER_RESPONDER;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 10);
    assert_int_equal(fake.last_received_bytes, REQUEST_BYTES);
    assert_int_equal(fake.last_sent_bytes, MESSAGE_BYTES);
    assert_int_equal(samples.samples, 0);
    assert_int_equal(result.sent, 10);
}

/* Answers shorter than a request: then both are as long. A driver may have no messages so short. */
TEST_AROUND(request__is_no_longer_than_its_answer, prepare, NULL)
{
    request.size = 5;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.last_sent_bytes, 5);
    assert_int_equal(fake.last_received_bytes, 5);
    driver.min_size = 20;
    request.size = MESSAGE_BYTES;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.last_sent_bytes, 20);
}

TEST_AROUND(request__an_answer_that_does_not_begin_as_it_did_is_found_out, prepare, NULL)
{
    fake.corrupt_receive = 10; /* its first byte */
    assert_int_equal(measure(), -EBADMSG);
}

/* That of an earlier request, which comes late. */
TEST_AROUND(request__lossy__answers_to_others_are_thrown_away, prepare, NULL)
{
    driver.reliable = false;
    fake.stale_receive = 4;
    assert_int_equal(measure(), 0);
    assert_int_equal(fake.receives, 11);
    assert_int_equal(result.received, 10);
    assert_int_equal(result.lost, 0);
}
