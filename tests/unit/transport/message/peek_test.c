/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

FIXTURE_TEST(message_peek__shows_the_oldest_and_leaves_it)
{
    struct beowire_completion found;
    char buffer[4];

    assert_int_equal(message_peek(&fixture->layer, NULL, 5, 0, &found), -ENOMSG);
    assert_int_equal(arrive_eager(fixture, 1, 5, 3, 0, "abc", 3), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "d", 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(message_peek(&fixture->layer, NULL, 5, 0, &found), 0);
        assert_int_equal(found.peer, 1);
        assert_int_equal(found.bytes, 3);
        assert_int_equal(found.tag, 5);
        assert_int_equal(found.immediate, 77);
    }
    assert_int_equal(post(fixture, ANYONE, 5, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(completed(fixture).bytes, 3);
    assert_memory_equal(buffer, "abc", 3);
}

FIXTURE_TEST(message_peek__heeds_peer_and_tag)
{
    struct beowire_completion found;

    assert_int_equal(arrive_eager(fixture, 1, 5, 1, 0, "a", 1), 0);
    assert_int_equal(message_peek(&fixture->layer, &fixture->peers[0], 5, 0, &found), -ENOMSG);
    assert_int_equal(message_peek(&fixture->layer, &fixture->peers[1], 4, 0, &found), -ENOMSG);
    assert_int_equal(message_peek(&fixture->layer, &fixture->peers[1], 4, 1, &found), 0);
}

FIXTURE_TEST(message_peek__a_long_message_has_its_length)
{
    struct beowire_completion found;

    assert_int_equal(arrive_announce(fixture, 0, 5, 1000000, 3), 0);
    assert_int_equal(message_peek(&fixture->layer, NULL, 0, UINT64_MAX, &found), 0);
    assert_int_equal(found.bytes, 1000000);
}

FIXTURE_TEST(message_claim__receives_do_not_find_it)
{
    struct beowire_completion found;
    beowire_message message = 0;
    char first[1];
    char second[1];

    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "b", 1), 0);
    assert_int_equal(message_claim(&fixture->layer, NULL, 5, 0, &found, &message), 0);
    assert_int_not_equal(message, 0);
    assert_int_equal(post(fixture, 0, 5, 0, first, 1, first), 0);
    assert_ptr_equal(completed(fixture).context, first);
    assert_int_equal(first[0], 'b');

    struct message_peer *touched = NULL;
    assert_int_equal(message_receive_claimed(&fixture->layer, message, second, 1, second, &touched),
                     0);
    assert_ptr_equal(touched, &fixture->peers[0]);
    struct beowire_completion done = completed(fixture);
    assert_ptr_equal(done.context, second);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.tag, 5);
    assert_int_equal(second[0], 'a');
    assert_int_equal(message_receive_claimed(&fixture->layer, message, second, 1, second, &touched),
                     -ENOENT);
}

FIXTURE_TEST(message_claim__nothing_there)
{
    struct beowire_completion found;
    beowire_message message = 0;

    assert_int_equal(message_claim(&fixture->layer, NULL, 5, 0, &found, &message), -ENOMSG);
    assert_int_equal(message, 0);
}

FIXTURE_TEST(message_receive_claimed__zero_bytes_throw_it_away)
{
    struct beowire_completion found;
    beowire_message message = 0;
    struct message_peer *touched = NULL;
    uint32_t chunks = free_chunks(fixture);

    assert_int_equal(arrive_eager(fixture, 0, 5, 3, 0, "abc", 3), 0);
    assert_int_equal(message_claim(&fixture->layer, NULL, 5, 0, &found, &message), 0);
    assert_int_equal(message_receive_claimed(&fixture->layer, message, NULL, 0, NULL, &touched), 0);
    assert_int_equal(completed(fixture).status, -EMSGSIZE);
    assert_int_equal(free_chunks(fixture), chunks);
}

FIXTURE_TEST(message_receive_claimed__a_failed_peers_message)
{
    struct beowire_completion found;
    beowire_message whole = 0;
    beowire_message half = 0;
    struct message_peer *touched = NULL;
    char buffer[1];

    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(arrive_announce(fixture, 0, 6, 1000000, 3), 0);
    assert_int_equal(message_claim(&fixture->layer, NULL, 5, 0, &found, &whole), 0);
    assert_int_equal(message_claim(&fixture->layer, NULL, 6, 0, &found, &half), 0);
    fail_peer(fixture, 0, -ECONNRESET);
    /* What came whole stays; the rest never will be. */
    assert_int_equal(message_receive_claimed(&fixture->layer, half, buffer, 1, NULL, &touched),
                     -ENOENT);
    assert_int_equal(message_receive_claimed(&fixture->layer, whole, buffer, 1, NULL, &touched), 0);
    assert_int_equal(completed(fixture).status, 0);
    assert_int_equal(buffer[0], 'a');
}

FIXTURE_TEST(message_receive_claimed__bad_buffer)
{
    struct message_peer *touched = NULL;

    assert_int_equal(message_receive_claimed(&fixture->layer, 1, NULL, 1, NULL, &touched), -EINVAL);
}

FIXTURE_TEST(message_receive_claimed__no_room_for_a_receive)
{
    struct beowire_completion found;
    beowire_message message = 0;
    struct message_peer *touched = NULL;
    char buffer[1];

    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(message_claim(&fixture->layer, NULL, 5, 0, &found, &message), 0);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        assert_int_equal(post(fixture, 0, 9, 0, buffer, 1, &buffer), 0);
    }
    assert_int_equal(message_receive_claimed(&fixture->layer, message, buffer, 1, NULL, &touched),
                     -EAGAIN);
    assert_int_equal(message_cancel(&fixture->layer, &buffer, NULL), 0);
    (void)completed(fixture);
    assert_int_equal(message_receive_claimed(&fixture->layer, message, buffer, 1, NULL, &touched),
                     0);
}
