/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/spare.h"

#include "fixture.h"

/** One more than have names. */
#define MORE (OPERATIONS + 1)

/** Sends that wait for credit, with tags and contexts from `first` on. */
static void queue_sends(struct fixture *fixture, unsigned to, unsigned count, const uint8_t *data,
                        uint64_t bytes)
{
    struct message_peer *peer = &fixture->peers[to];

    fixture->layer.grows = true;
    peer->flow.limit = peer->flow.next;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(
            message_send(&fixture->layer, peer, i, 0, data, bytes, (void *)(uintptr_t)(data + i)),
            0);
    }
}

static void give_credit(struct fixture *fixture, unsigned to)
{
    fixture->peers[to].flow.limit = fixture->peers[to].flow.next + LIMIT;
    message_pump(&fixture->layer, &fixture->peers[to]);
}

FIXTURE_TEST(message_send__more_than_have_names)
{
    uint8_t *data = pattern(EAGER_ROOM + 100);

    queue_sends(fixture, 0, MORE, data, EAGER_ROOM + 100);
    give_credit(fixture, 0);
    for (unsigned i = 0; i < MORE; i++) {
        struct frame first = pushed_frame(fixture, 0, 2 * i);
        assert_int_equal(from_le64(first.eager->tag), i);
        uint16_t name = from_le16(first.eager->message);
        assert_int_equal(from_le16(pushed_frame(fixture, 0, 2 * i + 1).fragment->message), name);
        assert_ptr_equal(completed(fixture).context, data + i);
    }
    assert_true(nothing_completed(fixture));
    free(data);
}

FIXTURE_TEST(message_send__more_long_ones_than_have_names)
{
    uint8_t *data = pattern(LONG_BYTES);

    queue_sends(fixture, 0, MORE, data, LONG_BYTES);
    give_credit(fixture, 0);
    assert_int_equal(pushed(fixture, 0), OPERATIONS); /* and the last waits for a name */
    uint32_t name = from_le32(pushed_frame(fixture, 0, 3).announce->message);
    acknowledge(fixture, 0, OPERATIONS);
    assert_int_equal(arrive_done(fixture, 0, name), 0);
    assert_ptr_equal(completed(fixture).context, data + 3);
    message_pump(&fixture->layer, &fixture->peers[0]);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(from_le64(frame.announce->tag), MORE - 1);
    assert_int_equal(from_le32(frame.announce->message) & 0xFFFF, name & 0xFFFF);
    assert_int_not_equal(from_le32(frame.announce->message), name);
    assert_int_equal(arrive_done(fixture, 0, from_le32(frame.announce->message)), 0);
    assert_ptr_equal(completed(fixture).context, data + MORE - 1);
    free(data);
}

/** All names are those of sends to a peer that takes none: another need not wait for them. */
FIXTURE_TEST(operation_name_spare__changes_places_with_one_that_waits)
{
    uint8_t *data = pattern(LONG_BYTES);

    queue_sends(fixture, 0, OPERATIONS, data, LONG_BYTES);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[1], 77, 0, data, LONG_BYTES, data + MORE), 0);
    struct frame frame = pushed_frame(fixture, 1, 0);
    assert_int_equal(from_le64(frame.announce->tag), 77);
    assert_int_equal(arrive_done(fixture, 1, from_le32(frame.announce->message)), 0);
    assert_ptr_equal(completed(fixture).context, data + MORE);
    give_credit(fixture, 0); /* in their order */
    for (unsigned i = 0; i < OPERATIONS; i++) {
        frame = pushed_frame(fixture, 0, i);
        assert_int_equal(from_le64(frame.announce->tag), i);
        assert_int_equal(arrive_done(fixture, 0, from_le32(frame.announce->message)), 0);
        assert_ptr_equal(completed(fixture).context, data + i);
    }
    free(data);
}

FIXTURE_TEST(message_receive__more_than_were_ordered)
{
    uint8_t buffers[MORE];
    uint8_t *data = pattern(LONG_BYTES);

    fixture->layer.grows = true;
    for (unsigned i = 0; i < MORE; i++) {
        assert_int_equal(post(fixture, 0, i, 0, &buffers[i], 1, &buffers[i]), 0);
    }
    for (unsigned i = 0; i < MORE; i++) { /* each is remembered until DONE has left */
        assert_int_equal(arrive_announce(fixture, 0, i, LONG_BYTES, i), 0);
    }
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "x", 1), 0);
    fail_peer(fixture, 0, -ECONNRESET);
    for (unsigned i = 0; i < MORE; i++) {
        struct beowire_completion done = completed(fixture);
        assert_int_equal(done.status, -ECONNRESET);
    }
    assert_true(nothing_completed(fixture));
    free(data);
}
