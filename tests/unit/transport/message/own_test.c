/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <string.h>

#define TAG 8
#define IMMEDIATE 9

/** Peer 0 is the endpoint itself. */
static int own_setup(void **state)
{
    int status = fixture_setup(state);

    if (status == 0) {
        ((struct fixture *)*state)->peers[0].ourselves = true;
    }
    return status;
}

#define OWN_TEST(name) TEST_WITH(struct fixture *fixture, name, own_setup, fixture_teardown)

static bool hand_over(struct fixture *fixture, const void *data, uint64_t bytes, bool silent,
                      void *context)
{
    return message_to_ourselves(&fixture->layer, &fixture->peers[0], TAG, IMMEDIATE, data, bytes,
                                silent, context);
}

static void expect_message(struct fixture *fixture, void *data, uint64_t bytes, void *context)
{
    struct message_peer *touched = NULL;

    assert_int_equal(message_receive(&fixture->layer, &fixture->peers[0], TAG, 0, data, bytes,
                                     context, &touched),
                     0);
}

OWN_TEST(message_to_ourselves__both_end_and_no_frame_leaves)
{
    char target[5] = "";
    int sent;
    int received;

    expect_message(fixture, target, sizeof target, &received);
    assert_true(hand_over(fixture, "hello", 5, false, &sent));
    assert_memory_equal(target, "hello", 5);
    assert_int_equal(pushed(fixture, 0), 0);
    struct beowire_completion done = completed(fixture);
    assert_ptr_equal(done.context, &received);
    assert_int_equal(done.operation, BEOWIRE_RECEIVE);
    assert_int_equal(done.tag, TAG);
    assert_int_equal(done.immediate, IMMEDIATE);
    assert_int_equal(done.bytes, 5);
    assert_int_equal(done.peer, 0);
    done = completed(fixture);
    assert_ptr_equal(done.context, &sent);
    assert_int_equal(done.operation, BEOWIRE_SEND);
    assert_int_equal(done.status, 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(fixture->peers[0].posted, 0);
}

OWN_TEST(message_to_ourselves__silent)
{
    char target[1];

    expect_message(fixture, target, sizeof target, NULL);
    assert_true(hand_over(fixture, NULL, 0, true, NULL));
    assert_int_equal(completed(fixture).bytes, 0);
    assert_true(nothing_completed(fixture));
}

OWN_TEST(message_to_ourselves__longer_than_any_frame)
{
    const uint64_t bytes = UINT64_C(3) << 20;
    uint8_t *data = pattern(bytes);
    uint8_t *target = calloc(1, bytes);

    expect_message(fixture, target, bytes, NULL);
    assert_true(hand_over(fixture, data, bytes, false, NULL));
    assert_memory_equal(target, data, bytes);
    free(target);
    free(data);
}

OWN_TEST(message_to_ourselves__longer_than_its_buffer)
{
    char target[] = "...!";

    expect_message(fixture, target, 3, NULL);
    assert_true(hand_over(fixture, "hello", 5, true, NULL));
    assert_memory_equal(target, "hel!", 4);
    const struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, -EMSGSIZE);
    assert_int_equal(done.bytes, 5);
}

OWN_TEST(message_to_ourselves__nobody_waits__goes_as_others_do)
{
    uint32_t used = fixture->layer.sends_used;

    for (unsigned i = 0; i < 2 * OPERATIONS; i++) {
        assert_false(hand_over(fixture, "x", 1, false, NULL)); /* and nothing stays taken */
    }
    assert_true(fixture->layer.sends_used <= used + 1);
    assert_true(nothing_completed(fixture));
}

OWN_TEST(message_to_ourselves__does_not_overtake)
{
    char target[2];

    expect_message(fixture, target, 1, NULL);
    expect_message(fixture, target + 1, 1, NULL);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], TAG, IMMEDIATE, "a", 1, NULL), 0);
    assert_false(hand_over(fixture, "b", 1, false, NULL)); /* the first has not come */
    assert_int_equal(arrive_eager(fixture, 0, TAG, 1, 0, "a", 1), 0);
    assert_true(hand_over(fixture, "b", 1, false, NULL));
    assert_memory_equal(target, "ab", 2);
}

OWN_TEST(message_to_ourselves__before_the_connection_is_open)
{
    char target[1];

    expect_message(fixture, target, 1, NULL);
    fixture->peers[0].ready = false;
    assert_false(hand_over(fixture, "x", 1, false, NULL));
    assert_int_equal(fixture->peers[0].posted, 1);
}

OWN_TEST(message_to_ourselves__what_cannot_be_sent)
{
    char target[1];

    expect_message(fixture, target, 1, NULL);
    assert_false(hand_over(fixture, NULL, 1, false, NULL));
    assert_false(hand_over(fixture, "x", BEOWIRE_MESSAGE_BYTES_MAX + 1, false, NULL));
    fixture->peers[0].send_error = -ECONNRESET;
    assert_false(hand_over(fixture, "x", 1, false, NULL));
}
