/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_met.h"

#include "lanes.h"

FAKE_TEST(verbs_begin_read__all_that_was_lent)
{
    struct verbs_ends ends = meet_ends();
    static const uint64_t lengths[] = {1, 4097, LANE_VERBS_READ_BYTES, LANE_VERBS_READ_BYTES + 1,
                                       MET_BYTES};

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t lent = lend(&ends, lengths[i]);
        memset(met.target, 0xDD, sizeof met.target);
        assert_int_equal(begin(&ends, lent, lengths[i], &met), 0);
        assert_ended(&ends, &met, 0);
        assert_memory_equal(met.target, met.source, lengths[i]);
        assert_true(lengths[i] == MET_BYTES || met.target[lengths[i]] == 0xDD);
        ends.a->operations->take_back(ends.a, lent);
    }
    assert_int_equal(fake.reads, 1 + 1 + 1 + 2 + MET_BYTES / LANE_VERBS_READ_BYTES);
    assert_int_equal(verbs_of(ends.a)->registered.bytes, 0);
    assert_int_equal(verbs_of(ends.b)->registered.bytes, 0);
    close_ends(&ends);
}

/** It is the card that says no: what is not lent any more, more than was lent, what is lent to
 * somebody else. Reading fails, and the next connection works. */
FAKE_TEST(verbs_begin_read__only_what_is_lent)
{
    struct verbs_ends ends = meet_ends();
    struct lane *c = open_on(IPV4(10, 77, 0, 3));
    struct lane_address at_c = address_of(c, ends.a);
    struct lane_address a_for_c = address_of(ends.a, c);

    await_hosts(ends.a);
    await_hosts(c);
    ends.a->operations->meet(ends.a, &at_c, 13, 31);
    c->operations->meet(c, &a_for_c, 31, 13);
    (void)ends.a->operations->lend(ends.a, &at_c, met.source, 64);
    shake_hands(ends.a, c);
    uint64_t of_c = ends.a->operations->lend(ends.a, &at_c, met.source, 5000);
    uint64_t old = lend(&ends, 5000);
    ends.a->operations->take_back(ends.a, old);
    uint64_t now = lend(&ends, 5000);
    assert_int_equal(verbs_lent_key(old), verbs_lent_key(now)); /* the card uses it again */
    const struct {
        uint64_t lent;
        uint64_t bytes;
    } wrong[] = {{of_c, 5000}, {old, 5000}, {now, 5001}, {now - 1, 5000}, {0, 1}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(met.target, 0xDD, sizeof met.target);
        assert_int_equal(begin(&ends, wrong[i].lent, wrong[i].bytes, &met), 0);
        assert_ended(&ends, &met, -EIO);
        assert_int_equal(met.target[0], 0xDD);
        assert_int_equal(begin(&ends, now, 5000, &met), -ENOTCONN);
        mend(&ends);
    }
    assert_int_equal(begin(&ends, now, 5000, &met), 0);
    assert_ended(&ends, &met, 0);
    assert_memory_equal(met.target, met.source, 5000);
    close_lane(c);
    close_ends(&ends);
}

FAKE_TEST(verbs_begin_read__several_at_once)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 100 * LANE_VERBS_READS);
    char names[LANE_VERBS_READS];

    fake.holds_reads = true;
    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        assert_int_equal(
            ends.b->operations->begin_read(ends.b, &ends.at_a, lent + (uint64_t)i * 100,
                                           met.target + (uint64_t)i * 100, 100, &names[i]),
            0);
    }
    assert_int_equal(begin(&ends, lent, 100, &met), -EAGAIN);
    assert_false(any_ended(&ends));
    for (unsigned i = 0; i < LANE_VERBS_READS; i++) {
        fake_read(reliable(ends.b));
        assert_ended(&ends, &names[i], 0);
    }
    assert_memory_equal(met.target, met.source, 100 * LANE_VERBS_READS);
    close_ends(&ends);
}

/** A stopped read does not write any more, and nobody hears of it; others of the peer fail. */
FAKE_TEST(verbs_stop_read__at_once)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 200);
    char one;
    char other;

    fake.holds_reads = true;
    assert_int_equal(begin(&ends, lent, 100, &one), 0);
    assert_int_equal(begin(&ends, lent, 200, &other), 0);
    ends.b->operations->stop_read(ends.b, &one);
    assert_null(reliable(ends.b)); /* the card has no such queue pair */
    assert_ended(&ends, &other, -EIO);
    assert_false(any_ended(&ends));
    ends.b->operations->stop_read(ends.b, &one); /* once is enough */
    assert_int_equal(verbs_of(ends.b)->registered.bytes, 0);
    close_ends(&ends);
}

/** What ended before it was stopped, and was not taken, is not heard of either. */
FAKE_TEST(verbs_stop_read__that_has_ended)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 200);
    char one;

    assert_int_equal(begin(&ends, lent, 100, &one), 0);
    assert_false(ends.b->operations->arm(ends.b)); /* it is known */
    ends.b->operations->stop_read(ends.b, &one);
    assert_false(any_ended(&ends));
    assert_int_equal(begin(&ends, lent, 100, &one), 0); /* and broke nothing */
    assert_ended(&ends, &one, 0);
    close_ends(&ends);
}

/** The peer is killed, its network gone, or it has given us up: reading fails. */
FAKE_TEST(verbs_read_ended__the_peer_is_gone)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 3 * LANE_VERBS_READ_BYTES);
    char one;
    char two;

    fake.holds_reads = true;
    assert_int_equal(begin(&ends, lent, 3 * LANE_VERBS_READ_BYTES, &one), 0);
    assert_int_equal(begin(&ends, lent, 100, &two), 0);
    fake_read(reliable(ends.b));
    ends.a->operations->withdraw(ends.a, &ends.at_b);
    assert_int_equal(verbs_of(ends.a)->registered.bytes, 0);
    fake_read(reliable(ends.b));
    fake_read(reliable(ends.b));
    assert_ended(&ends, &one, -EIO);
    assert_ended(&ends, &two, -EIO);
    assert_false(any_ended(&ends));
    assert_int_equal(begin(&ends, lent, 100, &one), -ENOTCONN);
    close_ends(&ends);
}

FAKE_TEST(verbs_read_ended__wakes)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 200);
    char one;

    fake.holds_reads = true;
    assert_int_equal(begin(&ends, lent, 200, &one), 0);
    assert_true(ends.b->operations->arm(ends.b));
    assert_int_equal(wait_for(ends.b, 0), 0);
    fake_read(reliable(ends.b));
    assert_int_equal(wait_for(ends.b, 1000000000), 1);
    assert_int_equal(take_all(ends.b, &ends.at_a, 0, 0, 0), 0); /* as whoever wakes does */
    assert_ended(&ends, &one, 0);
    assert_true(ends.b->operations->arm(ends.b));
    assert_int_equal(wait_for(ends.b, 0), 0);
    close_ends(&ends);
}

/** Memory that may not be locked, a card that has no room: frames have to do. */
FAKE_TEST(verbs_lend__refused)
{
    struct verbs_ends ends = meet_ends();
    uint64_t lent = lend(&ends, 200);
    char one;

    fake.fails = "reg_mr_iova";
    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    fake.fails = "reg_mr";
    assert_int_equal(begin(&ends, lent, 200, &one), -ENOBUFS);
    fake.fails = NULL;
    fake.takes = 0;
    assert_int_equal(begin(&ends, lent, 200, &one), -EIO);
    fake.takes = UINT32_MAX;
    assert_false(any_ended(&ends));
    /* Nor could it say that it has broken the connection, but whoever reads asks for it, too. */
    link_of(ends.b, &ends.at_a)->not_before_ns = 0;
    assert_int_equal(begin(&ends, lent, 200, &one), -ENOTCONN);
    shake_hands(ends.a, ends.b);
    assert_int_equal(begin(&ends, lent, 200, &one), 0);
    assert_ended(&ends, &one, 0);
    /* As many requests as that has nobody. */
    assert_int_equal(
        ends.a->operations->lend(ends.a, &ends.at_b, met.source,
                                 (uint64_t)LANE_VERBS_READ_REQUESTS * LANE_VERBS_READ_BYTES + 1),
        0);
    close_ends(&ends);
}
