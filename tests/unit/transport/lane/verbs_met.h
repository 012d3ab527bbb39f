/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_met.h - two lanes over the devices of verbs_fake.h that are connected, so that `b` can read
 * what `a` lends.
 */
#ifndef BEOWIRE_TESTS_LANE_VERBS_MET_H
#define BEOWIRE_TESTS_LANE_VERBS_MET_H

#include "lane/verbs/verbs_link.h"
#include "verbs_ends.h"

#define MET_BYTES (3u << 20)
#define KEY_OF_A 12
#define KEY_OF_B 21

static struct {
    uint8_t source[MET_BYTES];
    uint8_t target[MET_BYTES];
} met;

/** Both ends take what has come, until nothing does. */
static inline void shake_hands(struct lane *one, struct lane *other)
{
    struct lane_incoming incoming;

    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(one->operations->receive(one, &incoming, 1), 0);
        one->operations->release(one);
        assert_int_equal(other->operations->receive(other, &incoming, 1), 0);
        other->operations->release(other);
    }
}

/** The one of the first peer that has one; NULL: none has. */
static inline struct fake_pair *reliable(struct lane *lane)
{
    const struct verbs_lane *verbs = verbs_of(lane);

    for (unsigned i = 0; i < VERBS_LINK_BUCKETS; i++) {
        if (verbs->links[i] != NULL && verbs->links[i]->pair != NULL) {
            return (struct fake_pair *)(void *)verbs->links[i]->pair;
        }
    }
    return NULL;
}

static inline struct verbs_link *link_of(struct lane *lane, const struct lane_address *to)
{
    return verbs_link_find(verbs_of(lane), (const struct verbs_place *)(const void *)to);
}

static inline struct verbs_ends open_met(void)
{
    struct verbs_ends ends = open_ends();

    ends.a->operations->meet(ends.a, &ends.at_b, KEY_OF_A, KEY_OF_B);
    ends.b->operations->meet(ends.b, &ends.at_a, KEY_OF_B, KEY_OF_A);
    for (unsigned i = 0; i < MET_BYTES; i++) {
        met.source[i] = (uint8_t)(i * 7 + i / 251);
    }
    return ends;
}

/** The first that wants to lend makes the connection. */
static inline struct verbs_ends meet_ends(void)
{
    struct verbs_ends ends = open_met();

    assert_int_equal(ends.a->operations->lend(ends.a, &ends.at_b, met.source, 64), 0);
    shake_hands(ends.a, ends.b);
    assert_true(link_of(ends.a, &ends.at_b)->open);
    assert_true(link_of(ends.b, &ends.at_a)->open);
    return ends;
}

/** Time passes, and then they connect again. */
static inline void mend(struct verbs_ends *ends)
{
    shake_hands(ends->a, ends->b);
    link_of(ends->a, &ends->at_b)->not_before_ns = 0;
    uint64_t lent = ends->a->operations->lend(ends->a, &ends->at_b, met.source, 64);
    ends->a->operations->take_back(ends->a, lent); /* if they have connected already */
    shake_hands(ends->a, ends->b);
}

static inline uint64_t lend(struct verbs_ends *ends, uint64_t bytes)
{
    uint64_t lent = ends->a->operations->lend(ends->a, &ends->at_b, met.source, bytes);

    assert_true(lent != 0);
    return lent;
}

static inline int begin(struct verbs_ends *ends, uint64_t lent, uint64_t bytes, void *read)
{
    return ends->b->operations->begin_read(ends->b, &ends->at_a, lent, met.target, bytes, read);
}

static inline bool any_ended(struct verbs_ends *ends)
{
    void *read = NULL;
    int status = 0;

    return ends->b->operations->read_ended(ends->b, &read, &status);
}

static inline void assert_ended(struct verbs_ends *ends, const void *expected, int expected_status)
{
    void *read = NULL;
    int status = 1;

    assert_true(ends->b->operations->read_ended(ends->b, &read, &status));
    assert_ptr_equal(read, expected);
    assert_int_equal(status, expected_status);
}

#endif /* BEOWIRE_TESTS_LANE_VERBS_MET_H */
