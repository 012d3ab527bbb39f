/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

FIXTURE_TEST(message_receive__oldest_message_first)
{
    char buffer[1];

    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(arrive_eager(fixture, 1, 5, 1, 0, "b", 1), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "c", 1), 0);
    const char expected[] = "abc";
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(post(fixture, ANYONE, 5, 0, buffer, 1, NULL), 0);
        (void)completed(fixture);
        assert_int_equal(buffer[0], expected[i]);
    }
}

FIXTURE_TEST(message_receive__oldest_receive_first)
{
    char buffers[3];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(post(fixture, ANYONE, 5, 0, &buffers[i], 1, &buffers[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(arrive_eager(fixture, i % 2, 5, 1, 0, "x", 1), 0);
        assert_ptr_equal(completed(fixture).context, &buffers[i]);
    }
}

FIXTURE_TEST(message_receive__only_from_the_peer_asked_for)
{
    char buffer[1];

    assert_int_equal(post(fixture, 1, 5, 0, buffer, 1, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(arrive_eager(fixture, 1, 5, 1, 0, "b", 1), 0);
    assert_int_equal(completed(fixture).peer, 1);
    assert_int_equal(buffer[0], 'b');
}

FIXTURE_TEST(message_receive__tags_and_bits_to_ignore)
{
    char buffer[1];

    assert_int_equal(arrive_eager(fixture, 0, 0x8000000000000001, 1, 0, "a", 1), 0);
    assert_int_equal(post(fixture, 0, 1, 0, buffer, 1, NULL), 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(post(fixture, 0, 2, UINT64_C(0x8000000000000000), buffer, 1, NULL), 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(post(fixture, 0, 1, UINT64_C(0x8000000000000000), buffer, 1, NULL), 0);
    assert_int_equal(completed(fixture).tag, 0x8000000000000001);
    assert_int_equal(arrive_eager(fixture, 0, 99, 1, 0, "b", 1), 0);
    assert_int_equal(post(fixture, 0, 0, UINT64_MAX, buffer, 1, NULL), 0);
    assert_int_equal(completed(fixture).tag, 99);
}

/** What a receive says in bits that it ignores does not matter, whether it or the message is first.
 */
FIXTURE_TEST(message_receive__bits_of_the_tag_under_the_mask)
{
    char buffer[1];

    assert_int_equal(arrive_eager(fixture, 0, 0x50, 1, 0, "a", 1), 0);
    assert_int_equal(post(fixture, 0, 0x6F, 0x0F, buffer, 1, NULL), 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(post(fixture, 0, 0x5F, 0x0F, buffer, 1, NULL), 0);
    assert_int_equal(completed(fixture).tag, 0x50);
    assert_int_equal(arrive_eager(fixture, 0, 0x61, 1, 0, "b", 1), 0);
    assert_int_equal(completed(fixture).tag, 0x61);
    assert_int_equal(arrive_eager(fixture, 0, 1, 1, 0, "c", 1), 0);
    assert_int_equal(post(fixture, 0, UINT64_MAX, UINT64_MAX, buffer, 1, NULL), 0);
    assert_int_equal(completed(fixture).tag, 1);
}

FIXTURE_TEST(message_receive__a_long_message_keeps_its_place)
{
    char buffer[1];

    assert_int_equal(arrive_announce(fixture, 0, 5, 100000, 3), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, &fixture->layer), 0);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, buffer), 0);
    /* The first receive waits for the long one, the second has the short one. */
    assert_ptr_equal(completed(fixture).context, buffer);
    assert_true(nothing_completed(fixture));
}

FIXTURE_TEST(message_receive__says_whom_it_concerns)
{
    struct message_peer *touched = NULL;
    char buffer[1];

    assert_int_equal(message_receive(&fixture->layer, NULL, 5, 0, buffer, 1, NULL, &touched), 0);
    assert_null(touched);
    assert_int_equal(arrive_eager(fixture, 1, 6, 1, 0, "a", 1), 0);
    assert_int_equal(message_receive(&fixture->layer, NULL, 6, 0, buffer, 1, NULL, &touched), 0);
    assert_ptr_equal(touched, &fixture->peers[1]);
}

FIXTURE_TEST(message_receive__bad_arguments)
{
    char buffer[1];

    assert_int_equal(post(fixture, 0, 5, 0, NULL, 1, NULL), -EINVAL);
    fail_peer(fixture, 0, -ECONNRESET);
    for (unsigned i = 0; i < 2 * OPERATIONS; i++) {
        /* Refusing uses nothing up. */
        assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), -ECONNRESET);
    }
    assert_int_equal(post(fixture, 1, 5, 0, buffer, 1, NULL), 0);
}

FIXTURE_TEST(message_receive__as_many_as_were_ordered)
{
    char buffer[1];

    for (unsigned i = 0; i < OPERATIONS; i++) {
        assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), 0);
    }
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), -EAGAIN);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), -EAGAIN);
    (void)completed(fixture);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), 0);
}

FIXTURE_TEST(message_cancel__takes_back_one_receive)
{
    char buffer[2];

    assert_int_equal(post(fixture, ANYONE, 5, 0, buffer, 1, &buffer[0]), 0);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, &buffer[1]), 0);
    assert_int_equal(message_cancel(&fixture->layer, &buffer[0], NULL), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, -ECANCELED);
    assert_int_equal(done.peer, BEOWIRE_ANY_PEER);
    assert_ptr_equal(done.context, &buffer[0]);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "a", 1), 0);
    assert_ptr_equal(completed(fixture).context, &buffer[1]);
}

FIXTURE_TEST(message_cancel__what_is_matched_goes_on)
{
    char buffer[10] = {0};

    assert_int_equal(message_cancel(&fixture->layer, buffer, NULL), -ENOENT);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 10, buffer), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 10, 4, "abc", 3), 0);
    assert_int_equal(message_cancel(&fixture->layer, buffer, NULL), -ENOENT);
    assert_int_equal(arrive_fragment(fixture, 0, 4, 3, "abcdefg", 7), 0);
    assert_int_equal(message_cancel(&fixture->layer, buffer, NULL), -ENOENT);
    assert_int_equal(completed(fixture).status, 0);
}
