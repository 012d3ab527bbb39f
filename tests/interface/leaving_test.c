/* SPDX-License-Identifier: BSD-3-Clause */
/* What beowire.h promises of beowire_leave() and beowire_close(): whoever closes stays until peers
 * have what was sent to them, and two that close do not wait for each other. */
#include "beowire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints.h"
#include "unit/test.h"

#define MESSAGE_BYTES 4000u
#define LONG_BYTES 1000000u

/** More than a receiver takes in before it receives. */
#define MESSAGES 6000u

static beowire_endpoint *open_endpoint(const char *interface)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.operations = 2 * MESSAGES;
    options.lanes = "packet,udp";
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

/** Sends more than the other takes in, which knows nothing of it yet, and has not the time. */
static void send_many(beowire_endpoint *endpoint, beowire_peer to, uint8_t *data)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        memcpy(data + (size_t)i * MESSAGE_BYTES, &i, sizeof i);
        int status = -EAGAIN;
        while (status == -EAGAIN) {
            status = beowire_send(endpoint, to, 1, i, data + (size_t)i * MESSAGE_BYTES,
                                  MESSAGE_BYTES, NULL);
            (void)beowire_poll(endpoint, NULL, 0);
        }
        assert_int_equal(status, 0);
    }
}

static void *close_patiently(void *endpoint)
{
    static int statuses[2];
    static unsigned count;
    int *status = &statuses[__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2];

    *status = beowire_close(endpoint, UINT64_MAX);
    return status;
}

static pthread_t begin_closing(beowire_endpoint *endpoint)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, close_patiently, endpoint), 0);
    return thread;
}

static int closed(pthread_t thread)
{
    void *status = NULL;

    assert_int_equal(pthread_join(thread, &status), 0);
    return *(int *)status;
}

TEST(beowire_close__until_all_is_received)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    uint8_t *data = malloc((size_t)MESSAGES * MESSAGE_BYTES);
    static uint8_t got[MESSAGE_BYTES];
    beowire_peer from = know(b, a);

    assert_non_null(data);
    send_many(a, know(a, b), data);
    pthread_t closing = begin_closing(a);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct beowire_completion done = {0};
        assert_int_equal(beowire_receive(b, from, 1, 0, got, sizeof got, NULL), 0);
        assert_int_equal(beowire_wait(b, PATIENCE_NS), 1);
        assert_int_equal(beowire_poll(b, &done, 1), 1);
        assert_int_equal(done.status, 0);
        assert_int_equal(done.immediate, i);
        assert_memory_equal(got, &i, sizeof i);
    }
    assert_int_equal(closed(closing), 0);
    assert_int_equal(beowire_close(b, 0), 0);
    free(data);
}

TEST(beowire_close__of_both_with_much_for_each_other)
{
    beowire_endpoint *ends[2] = {open_endpoint("end0"), open_endpoint("end1")};
    uint8_t *data = malloc((size_t)2 * MESSAGES * MESSAGE_BYTES);
    pthread_t closing[2];

    assert_non_null(data);
    for (unsigned i = 0; i < 2; i++) {
        send_many(ends[i], know(ends[i], ends[1 - i]), data + (size_t)i * MESSAGES * MESSAGE_BYTES);
    }
    for (unsigned i = 0; i < 2; i++) {
        closing[i] = begin_closing(ends[i]);
    }
    /* Who is done first may have had time to get all across before the other was done with it. */
    int first = closed(closing[0]);
    int second = closed(closing[1]);
    assert_true(first == -ETIMEDOUT || second == -ETIMEDOUT);
    free(data);
}

TEST(beowire_close__of_both_with_long_messages)
{
    beowire_endpoint *ends[2] = {open_endpoint("end0"), open_endpoint("end1")};
    static uint8_t data[LONG_BYTES];
    pthread_t closing[2];

    for (unsigned i = 0; i < 2; i++) {
        beowire_peer to = know(ends[i], ends[1 - i]);
        assert_int_equal(beowire_send(ends[i], to, 1, 0, data, sizeof data, NULL), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        closing[i] = begin_closing(ends[i]);
    }
    assert_int_equal(closed(closing[0]), -ETIMEDOUT);
    assert_int_equal(closed(closing[1]), -ETIMEDOUT);
}

/** It waits for b, and b for its own message: who sees that nobody will receive that. */
TEST(beowire_leave__who_sends_learns_it)
{
    beowire_endpoint *a = open_endpoint("end0");
    beowire_endpoint *b = open_endpoint("end1");
    static uint8_t data[LONG_BYTES];
    static uint8_t got[LONG_BYTES];
    beowire_peer from = know(b, a);
    struct beowire_completion done = {0};

    assert_int_equal(beowire_send(a, know(a, b), 1, 0, data, sizeof data, NULL), 0);
    assert_int_equal(beowire_send(b, from, 1, 0, data, sizeof data, data), 0);
    assert_int_equal(beowire_leave(a), 0);
    pthread_t closing = begin_closing(a);
    assert_int_equal(beowire_wait(b, PATIENCE_NS), 1);
    assert_int_equal(beowire_poll(b, &done, 1), 1);
    assert_ptr_equal(done.context, data);
    assert_int_equal(done.status, -ECONNRESET);
    assert_int_equal(beowire_send(b, from, 1, 0, data, 1, NULL), -ECONNRESET);
    assert_int_equal(beowire_receive(b, from, 1, 0, got, sizeof got, got), 0);
    assert_int_equal(beowire_wait(b, PATIENCE_NS), 1);
    assert_int_equal(beowire_poll(b, &done, 1), 1);
    assert_ptr_equal(done.context, got);
    assert_int_equal(done.status, 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    assert_int_equal(closed(closing), 0);
}
