/* SPDX-License-Identifier: BSD-3-Clause */
/* conformance_pair.c - the conformance tests that take two ends. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "../engine/testing.h"
#include "conformance.h"
#include "pair.h"

#define MESSAGES_A_SIZE 5
#define TRIES_A_MESSAGE 20
#define STREAM_MESSAGES 300

/* Longest that close() may take (driver.h). */
#define CLOSE_BOUND_NS UINT64_C(1000000000)

/* A message that is waited for in vain, and those that come instead. */
#define WAITED_BYTES 1000
#define NEXT_BYTES 2000
#define NEXT_MESSAGES 16

static void prepare(const struct pair *pair, size_t session, uint64_t size)
{
    if (driver->prepare != NULL) {
        int result = driver->prepare(pair->sessions[session], size);
        pair_check(result == 0, result);
    }
}

static void flush(const struct pair *pair, size_t session)
{
    if (driver->flush != NULL) {
        int result = driver->flush(pair->sessions[session]);
        pair_check(result == 0, result);
    }
}

/* Sends a message until its answer comes back; a reliable driver has one try. */
static void exchange(const struct pair *pair, size_t session, uint64_t size, uint64_t number)
{
    int result = -ETIMEDOUT;
    for (int tries = driver->reliable ? 1 : TRIES_A_MESSAGE; tries > 0 && result != 0; tries--) {
        fill(message, size, number);
        result = driver->send(pair->sessions[session], message, size);
        pair_check(result == 0, result);
        memset(message, 0, size);
        result = driver->receive(pair->sessions[session], message, size);
        pair_check(result == 0 || result == -ETIMEDOUT, result);
    }
    pair_check(result == 0, result);
    check_content(message, 0, size, number);
}

/* Sends back what comes: `count` messages, or for an unreliable driver until told to stop. */
static void echo(struct pair *pair, size_t session, uint64_t size, uint64_t count)
{
    pair->heed_control = !driver->reliable;
    for (uint64_t i = 0; i < count || !driver->reliable; i++) {
        int result = driver->receive(pair->sessions[session], message, size);
        if (!driver->reliable && result == -ETIMEDOUT) {
            continue;
        }
        if (!driver->reliable && result == -ECANCELED) {
            break;
        }
        pair_check(result == 0, result);
        result = driver->send(pair->sessions[session], message, size);
        pair_check(result == 0, result);
    }
    pair->heed_control = false;
    flush(pair, session);
}

/* Ends an echo() of the other end: its count does if the driver is reliable. */
static void end_echo(const struct pair *pair)
{
    if (driver->reliable) {
        pair_say(pair, 0);
    } else {
        pair_call(pair, 0);
    }
}

static void sizes_initiator(struct pair *pair)
{
    for (size_t index = 0; size_number(index) != 0; index++) {
        uint64_t size = size_number(index);
        (void)pair_hear(pair);
        prepare(pair, 0, size);
        for (uint64_t number = 0; number < MESSAGES_A_SIZE; number++) {
            exchange(pair, 0, size, number);
        }
        end_echo(pair);
        flush(pair, 0);
    }
}

static void sizes_responder(struct pair *pair)
{
    for (size_t index = 0; size_number(index) != 0; index++) {
        uint64_t size = size_number(index);
        prepare(pair, 0, size);
        pair_say(pair, 0);
        echo(pair, 0, size, MESSAGES_A_SIZE);
        (void)pair_hear(pair);
    }
}

void pingpong__every_size_arrives_intact(void **state)
{
    assert_int_equal(pair_play(driver, with_interfaces, 1, sizes_initiator, sizes_responder), 0);
}

static const uint64_t STREAM_SIZES[] = {8, 1000, 65507};

static uint64_t stream_size(size_t index)
{
    uint64_t size = STREAM_SIZES[index];
    return size < pair_largest(driver) ? size : pair_largest(driver);
}

static void stream_initiator(struct pair *pair)
{
    for (size_t index = 0; index < sizeof STREAM_SIZES / sizeof STREAM_SIZES[0]; index++) {
        uint64_t size = stream_size(index);
        (void)pair_hear(pair);
        prepare(pair, 0, size);
        for (uint64_t number = 0; number < STREAM_MESSAGES; number++) {
            fill(message, size, number);
            memcpy(message, &number, sizeof number);
            int result = driver->send(pair->sessions[0], message, size);
            pair_check(result == 0, result);
        }
        if (driver->reliable) {
            uint64_t answer = 0;
            int result = driver->receive(pair->sessions[0], &answer, sizeof answer);
            pair_check(result == 0 && answer == STREAM_MESSAGES, answer);
        }
        flush(pair, 0);
        pair_say(pair, 0);
    }
}

/* Any number of messages of an unreliable driver may be missing, but what comes is whole, and
 * nothing comes twice or late. */
static uint64_t take_stream(struct pair *pair, uint64_t size)
{
    uint64_t next = 0;
    uint64_t arrived = 0;
    while (next < STREAM_MESSAGES) {
        int result = driver->receive(pair->sessions[0], message, size);
        if (!driver->reliable && result == -ETIMEDOUT && pair->heed_control) {
            continue;
        }
        if (!driver->reliable && result == -ECANCELED && arrived == 0) {
            pair->heed_control = false; /* we had no core meanwhile: it waits for us, or is lost */
            continue;
        }
        if (!driver->reliable && (result == -ECANCELED || result == -ETIMEDOUT)) {
            break;
        }
        pair_check(result == 0, result);
        uint64_t number;
        memcpy(&number, message, sizeof number);
        pair_check(number >= next && number < STREAM_MESSAGES, number);
        pair_check(!driver->reliable || number == next, number);
        check_content(message, sizeof number, size, number);
        next = number + 1;
        arrived++;
    }
    return arrived;
}

static void stream_responder(struct pair *pair)
{
    for (size_t index = 0; index < sizeof STREAM_SIZES / sizeof STREAM_SIZES[0]; index++) {
        uint64_t size = stream_size(index);
        prepare(pair, 0, size);
        pair_say(pair, 0);
        pair->heed_control = !driver->reliable;
        uint64_t arrived = take_stream(pair, size);
        pair->heed_control = false;
        pair_check(arrived > 0, arrived);
        if (driver->reliable) {
            int result = driver->send(pair->sessions[0], &arrived, sizeof arrived);
            pair_check(result == 0, result);
        }
        flush(pair, 0);
        (void)pair_hear(pair);
    }
}

void stream__whole_and_in_order(void **state)
{
    assert_int_equal(pair_play(driver, with_interfaces, 1, stream_initiator, stream_responder), 0);
}

/* Streams of one content, of lengths around what may be under way at once; then a ping-pong, which
 * finds nothing left over of them. */
static const uint64_t POSTED_COUNTS[] = {1, 2, 65, 63, 64, STREAM_MESSAGES};
static const uint64_t POSTED_SIZES[] = {1, 8, 1000, 65536, 1048579};
#define POSTED_LONG_BYTES 65536

/* How many of the counts are tried: of long messages the first, or gigabytes would move. */
static size_t posted_counts(uint64_t size)
{
    return size < POSTED_LONG_BYTES ? sizeof POSTED_COUNTS / sizeof POSTED_COUNTS[0] : 3;
}

static void posted_initiator(struct pair *pair)
{
    for (size_t at = 0; at < sizeof POSTED_SIZES / sizeof POSTED_SIZES[0]; at++) {
        for (size_t index = 0; index < posted_counts(POSTED_SIZES[at]); index++) {
            uint64_t answer = 0;
            fill(message, POSTED_SIZES[at], index);
            for (uint64_t more = POSTED_COUNTS[index]; more-- > 0;) {
                int result =
                    driver->stream_send(pair->sessions[0], message, POSTED_SIZES[at], more);
                pair_check(result == 0, result);
            }
            memset(message, 0, POSTED_SIZES[at]); /* it may be reused now */
            int result = driver->receive(pair->sessions[0], &answer, sizeof answer);
            pair_check(result == 0 && answer == index, answer);
        }
        exchange(pair, 0, POSTED_SIZES[at], at);
    }
    flush(pair, 0);
    pair_say(pair, 0);
}

static void posted_responder(struct pair *pair)
{
    for (size_t at = 0; at < sizeof POSTED_SIZES / sizeof POSTED_SIZES[0]; at++) {
        for (uint64_t index = 0; index < posted_counts(POSTED_SIZES[at]); index++) {
            memset(message, 0, POSTED_SIZES[at]);
            for (uint64_t more = POSTED_COUNTS[index]; more-- > 0;) {
                int result =
                    driver->stream_receive(pair->sessions[0], message, POSTED_SIZES[at], more);
                pair_check(result == 0, result);
            }
            check_content(message, 0, POSTED_SIZES[at], index);
            int result = driver->send(pair->sessions[0], &index, sizeof index);
            pair_check(result == 0, result);
        }
        echo(pair, 0, POSTED_SIZES[at], 1);
    }
    (void)pair_hear(pair);
}

void stream__posted_in_advance(void **state)
{
    assert_int_equal(driver->stream_send == NULL, driver->stream_receive == NULL);
    if (driver->stream_send != NULL) {
        assert_int_equal(pair_play(driver, with_interfaces, 1, posted_initiator, posted_responder),
                         0);
    }
}

static void both_initiator(struct pair *pair)
{
    (void)pair_hear(pair);
    prepare(pair, 0, 100);
    prepare(pair, 1, 100);
    for (uint64_t number = 0; number < 50; number++) {
        exchange(pair, number % 2, 100, number);
        if (!driver->reliable) {
            pair_call(pair, 0);
        }
    }
    flush(pair, 0);
    flush(pair, 1);
    (void)pair_hear(pair);
}

static void both_responder(struct pair *pair)
{
    prepare(pair, 0, 100);
    prepare(pair, 1, 100);
    pair_say(pair, 0);
    for (uint64_t number = 0; number < 50; number++) {
        echo(pair, number % 2, 100, 1);
        if (!driver->reliable) {
            (void)pair_hear(pair);
        }
    }
    pair_say(pair, 0);
}

void sessions__two_at_once_do_not_mix(void **state)
{
    if (one_at_a_time) {
        skip();
    }
    assert_int_equal(pair_play(driver, with_interfaces, 2, both_initiator, both_responder), 0);
}

/* Talks until the driver says that something is wrong. */
static void killed_initiator(struct pair *pair)
{
    (void)pair_hear(pair);
    prepare(pair, 0, 1000);
    exchange(pair, 0, 1000, 1);
    pair_check(kill(pair->responder, SIGKILL) == 0, errno);
    pair_stop_after_ms(pair, 3 * PAIR_WAITS_MS);
    int result = 0;
    while (result == 0) {
        fill(message, 1000, 2);
        result = driver->send(pair->sessions[0], message, 1000);
        if (result == 0) {
            result = driver->receive(pair->sessions[0], message, 1000);
        }
    }
    pair_check(result < 0, result);
}

static void killed_responder(struct pair *pair)
{
    prepare(pair, 0, 1000);
    pair_say(pair, 0);
    echo(pair, 0, 1000, UINT64_MAX);
}

void peer__killed(void **state)
{
    int status = pair_play(driver, with_interfaces, 1, killed_initiator, killed_responder);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* Sends when the other end has looked, and goes. */
static void leaving_initiator(struct pair *pair)
{
    prepare(pair, 0, WAITED_BYTES);
    (void)pair_hear(pair);
    fill(message, WAITED_BYTES, 1);
    int result = driver->send(pair->sessions[0], message, WAITED_BYTES);
    pair_check(result == 0, result);
    flush(pair, 0);
}

/* Has the other end send and go, all of it between two looks of ours; one that cannot go before
 * its message has been taken is not waited for. */
static void let_leave(struct pair *pair)
{
    struct pollfd gone = {.fd = pair->control, .events = POLLIN};
    pair->asked = NULL;
    pair_say(pair, 0);
    (void)poll(&gone, 1, 2 * PAIR_WAITS_MS);
}

/* What the other end keeps until we have fetched it, it keeps for as long as close() may take. */
static void left_responder(struct pair *pair)
{
    prepare(pair, 0, WAITED_BYTES);
    pair->asked = let_leave;
    int result = driver->receive(pair->sessions[0], message, WAITED_BYTES);
    const bool late = pair_now_ns() - pair->asked_at_ns >= CLOSE_BOUND_NS;
    pair_check(result == 0 || (late && result == -ECONNRESET), result);
    if (result == 0) {
        check_content(message, 0, WAITED_BYTES, 1);
    }
}

void close__what_was_sent_before_arrives(void **state)
{
    if (driver->reliable) {
        assert_int_equal(pair_play(driver, with_interfaces, 1, leaving_initiator, left_responder),
                         0);
    }
}

/* Waits in vain. */
static void wait_in_vain(struct pair *pair)
{
    pair_stop_after_ms(pair, PAIR_WAITS_MS);
    int result = -ETIMEDOUT;
    while (!driver->reliable && result == -ETIMEDOUT) {
        result = driver->receive(pair->sessions[0], message, WAITED_BYTES);
    }
    if (driver->reliable) {
        result = driver->receive(pair->sessions[0], message, WAITED_BYTES);
    }
    pair_check(result == -ECANCELED, result);
    pair_check(pair->questions > 0, pair->questions);
    pair_be_patient(pair);
}

/* What comes later has nothing to do with the receive that was given up: it is longer, and goes
 * elsewhere. */
static void waiting_initiator(struct pair *pair)
{
    static uint8_t elsewhere[NEXT_BYTES];
    (void)pair_hear(pair);
    prepare(pair, 0, WAITED_BYTES);
    memset(message, 0, WAITED_BYTES);
    wait_in_vain(pair);
    if (driver->reliable) {
        prepare(pair, 0, NEXT_BYTES);
        pair_say(pair, 0);
        for (uint64_t number = 0; number < NEXT_MESSAGES; number++) {
            int result = driver->receive(pair->sessions[0], elsewhere, NEXT_BYTES);
            pair_check(result == 0, result);
            check_content(elsewhere, 0, NEXT_BYTES, number);
        }
        for (size_t at = 0; at < WAITED_BYTES; at++) {
            pair_check(message[at] == 0, at);
        }
        uint64_t answer = NEXT_MESSAGES;
        int result = driver->send(pair->sessions[0], &answer, sizeof answer);
        pair_check(result == 0, result);
        flush(pair, 0);
        (void)pair_hear(pair);
    } else {
        pair_say(pair, 0);
    }
}

static void late_responder(struct pair *pair)
{
    prepare(pair, 0, WAITED_BYTES);
    pair_say(pair, 0);
    (void)pair_hear(pair);
    if (driver->reliable) {
        prepare(pair, 0, NEXT_BYTES);
        for (uint64_t number = 0; number < NEXT_MESSAGES; number++) {
            fill(message, NEXT_BYTES, number);
            int result = driver->send(pair->sessions[0], message, NEXT_BYTES);
            pair_check(result == 0, result);
        }
        uint64_t answer = 0;
        int result = driver->receive(pair->sessions[0], &answer, sizeof answer);
        pair_check(result == 0 && answer == NEXT_MESSAGES, answer);
        flush(pair, 0);
        pair_say(pair, 0);
    }
}

void stop__while_receiving(void **state)
{
    assert_int_equal(pair_play(driver, with_interfaces, 1, waiting_initiator, late_responder), 0);
}

static void silent_responder(struct pair *pair)
{
    prepare(pair, 0, 1000);
    pair_say(pair, 0);
    (void)pair_hear(pair);
}

/* Nobody receives: sooner or later a reliable driver has to wait. */
static void pushing_initiator(struct pair *pair)
{
    uint64_t size = pair_largest(driver);
    (void)pair_hear(pair);
    prepare(pair, 0, size);
    pair_stop_after_ms(pair, PAIR_WAITS_MS);
    int result = 0;
    while (result == 0) {
        result = driver->send(pair->sessions[0], message, size);
    }
    pair_check(result == -ECANCELED, result);
    pair_say(pair, 0);
}

void stop__while_sending(void **state)
{
    if (driver->reliable) {
        assert_int_equal(pair_play(driver, with_interfaces, 1, pushing_initiator, silent_responder),
                         0);
    }
}
