/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_met.h"

#include "frame/wire_types.h"

static bool can_read(struct verbs_ends *ends)
{
    void *read = NULL;
    int status = 1;
    uint64_t lent = ends->a->operations->lend(ends->a, &ends->at_b, met.source, 100);
    bool can = lent != 0 && begin(ends, lent, 100, &met) == 0 &&
               ends->b->operations->read_ended(ends->b, &read, &status) && status == 0;

    ends->a->operations->take_back(ends->a, lent);
    return can;
}

/** Says HELLO to `b` in the name of `a`. */
static void forge(struct verbs_ends *ends, const struct verbs_hello *hello, uint32_t bytes)
{
    verbs_send_note(verbs_of(ends->a), (const struct verbs_place *)(const void *)&ends->at_b,
                    VERBS_HELLO_IMMEDIATE, hello, bytes);
    shake_hands(ends->a, ends->b);
}

FAKE_TEST(verbs_link_ask__by_either_end)
{
    struct verbs_ends ends = open_met();

    assert_int_equal(fake.reads, 0);
    assert_int_equal(begin(&ends, 1, 100, &met), -ENOTCONN); /* the reader asks */
    shake_hands(ends.a, ends.b);
    assert_true(can_read(&ends));
    close_ends(&ends);
}

/** Both say HELLO before they hear the other's. */
FAKE_TEST(verbs_link_ask__by_both_at_once)
{
    struct verbs_ends ends = open_met();

    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    assert_int_equal(begin(&ends, 1, 100, &met), -ENOTCONN);
    shake_hands(ends.a, ends.b);
    assert_true(can_read(&ends));
    close_ends(&ends);
}

/** Whoever has long messages asks, but not with each. */
FAKE_TEST(verbs_link_ask__hello_is_lost)
{
    struct verbs_ends ends = open_met();
    uint64_t *not_before_ns = &link_of(ends.a, &ends.at_b)->not_before_ns;
    uint64_t before = 0;

    fake.deaf = true;
    *not_before_ns = 1;
    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    before = verbs_of(ends.a)->posted;
    assert_true(*not_before_ns > LANE_VERBS_HELLO_NS);
    *not_before_ns = UINT64_MAX; /* that much later does not come while this runs */
    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    assert_int_equal(verbs_of(ends.a)->posted, before);
    fake.deaf = false;
    *not_before_ns = 0;
    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    shake_hands(ends.a, ends.b);
    assert_true(can_read(&ends));
    close_ends(&ends);
}

/** The answer is lost: one end is connected, the other asks again. */
FAKE_TEST(verbs_link_hello__the_answer_is_lost)
{
    struct verbs_ends ends = open_met();
    struct lane_incoming incoming;

    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    fake.deaf = true;
    assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    ends.b->operations->release(ends.b);
    fake.deaf = false;
    assert_true(link_of(ends.b, &ends.at_a)->open);
    assert_false(link_of(ends.a, &ends.at_b)->open);
    mend(&ends);
    assert_true(can_read(&ends));
    close_ends(&ends);
}

/** Only from whom it was said to be, and with the key. */
FAKE_TEST(verbs_link_hello__from_strangers)
{
    struct verbs_ends ends = open_met();
    struct verbs_hello hello = {
        .key = to_le32(KEY_OF_B + 1), .pair = to_le32(999), .start = to_le32(5)};

    forge(&ends, &hello, sizeof hello);
    assert_null(reliable(ends.b));
    hello.key = to_le32(KEY_OF_B);
    forge(&ends, &hello, sizeof hello - 1);
    assert_null(reliable(ends.b));
    ends.b->operations->withdraw(ends.b, &ends.at_a);
    forge(&ends, &hello, sizeof hello);
    assert_null(reliable(ends.b));
    assert_int_equal(ends.b->foreign_frames, 3);
    ends.b->operations->meet(ends.b, &ends.at_a, KEY_OF_B, KEY_OF_A);
    forge(&ends, &hello, sizeof hello);
    assert_non_null(reliable(ends.b));
    assert_int_equal(ends.b->foreign_frames, 3);
    close_ends(&ends);
}

/** One that was late says a queue pair that is no more: the ends find to one another again. */
FAKE_TEST(verbs_link_hello__of_yesterday)
{
    struct verbs_ends ends = meet_ends();
    const struct verbs_hello old = {
        .key = to_le32(KEY_OF_B), .pair = to_le32(999), .start = to_le32(5)};
    const struct verbs_hello answer = {
        .key = to_le32(KEY_OF_B), .pair = to_le32(998), .start = to_le32(5), .yours = to_le32(997)};

    forge(&ends, &old, sizeof old);
    mend(&ends);
    assert_true(can_read(&ends));
    forge(&ends, &answer, sizeof answer);
    mend(&ends);
    assert_true(can_read(&ends));
    close_ends(&ends);
}

/** The other end begins anew: what is being read fails, and is not waited for. */
FAKE_TEST(verbs_link_hello__a_new_pair)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 100);

    fake.holds_reads = true;
    assert_int_equal(begin(&ends, lent, 100, &met), 0);
    verbs_link_break(verbs_of(ends.a), link_of(ends.a, &ends.at_b));
    shake_hands(ends.a, ends.b);
    assert_ended(&ends, &met, -EIO);
    fake.holds_reads = false;
    assert_int_equal(begin(&ends, lent, 100, &met), -ENOTCONN);
    mend(&ends);
    assert_int_equal(begin(&ends, lent, 100, &met), 0); /* it is still lent */
    assert_ended(&ends, &met, 0);
    close_ends(&ends);
}

/** The device has no room for a queue pair, or does not connect it: there are frames. */
FAKE_TEST(verbs_link_ask__refused)
{
    static const char *const functions[] = {"create_rc", "modify_rc"};

    for (unsigned i = 0; i < 2; i++) {
        struct verbs_ends ends = open_met();
        fake.fails = functions[i];
        assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
        shake_hands(ends.a, ends.b);
        assert_false(link_of(ends.a, &ends.at_b)->open);
        assert_false(link_of(ends.b, &ends.at_a)->open);
        fake.fails = NULL;
        mend(&ends);
        assert_true(can_read(&ends));
        close_ends(&ends);
    }
}

/** Another connection of the same two endpoints has other keys: the old one's pair is of no use. */
FAKE_TEST(verbs_link_meet__with_other_keys)
{
    struct verbs_ends ends = meet_ends();

    ends.a->operations->meet(ends.a, &ends.at_b, KEY_OF_A, KEY_OF_B);
    assert_true(can_read(&ends)); /* the same changes nothing */
    ends.a->operations->meet(ends.a, &ends.at_b, KEY_OF_A + 1, KEY_OF_B + 1);
    ends.b->operations->meet(ends.b, &ends.at_a, KEY_OF_B + 1, KEY_OF_A + 1);
    assert_false(link_of(ends.a, &ends.at_b)->open);
    mend(&ends);
    assert_true(can_read(&ends));
    close_ends(&ends);
}
