/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#define BYTES (EAGER_ROOM + FRAGMENT_ROOM + 5) /* three frames, the last a slim one */

static void send(struct fixture *fixture, const uint8_t *data)
{
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, BYTES, (void *)1), 0);
    assert_int_equal(pushed(fixture, 0), 3);
}

static void check_pushed(struct fixture *fixture, const uint8_t *data)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < 3; i++) {
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_memory_equal(frame.payload, data + bytes, frame.payload_bytes);
        bytes += frame.payload_bytes;
    }
    assert_int_equal(bytes, BYTES);
}

FIXTURE_TEST(message_take_back__copies_and_ends_the_send)
{
    uint8_t *data = pattern(BYTES);
    uint8_t *same = pattern(BYTES);

    send(fixture, data);
    message_take_back(&fixture->layer, &fixture->peers[0]);
    assert_ptr_equal(completed(fixture).context, (void *)1);
    memset(data, 0, BYTES); /* it is ours again */
    check_pushed(fixture, same);
    acknowledge(fixture, 0, 3);
    assert_true(nothing_completed(fixture));
    free(data);
    free(same);
}

FIXTURE_TEST(message_take_back__takes_only_what_was_lent)
{
    uint8_t *data = pattern(BYTES);
    uint8_t *same = pattern(BYTES);

    send(fixture, data);
    message_take_back(&fixture->layer, &fixture->peers[0]);
    use_up_copies(fixture);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, BYTES, (void *)2), 0);
    message_take_back(&fixture->layer, &fixture->peers[0]);
    assert_ptr_equal(completed(fixture).context, (void *)1);
    assert_true(nothing_completed(fixture)); /* two frames refer to the data until they are there */
    check_pushed(fixture, same);
    acknowledge(fixture, 0, 6);
    assert_ptr_equal(completed(fixture).context, (void *)2);
    free(data);
    free(same);
}
