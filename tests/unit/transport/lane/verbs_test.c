/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_ends.h"

#include "lane/lane_type.h"
#include "tuning.h"

FAKE_TEST(verbs_lane_open__what_it_says_of_itself)
{
    struct lane *lane = open_on(HOST_A);

    assert_int_equal(lane->kind, LANE_VERBS);
    assert_true(lane->of_host);
    assert_false(lane->shares_memory);
    assert_false(lane->is_certain); /* an address is what its owner says */
    assert_false(lane->polling_is_costly);
    assert_int_equal(lane->frame_bytes, 1024);
    assert_int_equal(lane->capacity_bytes, LANE_RING_FRAMES * 1024);
    assert_true(lane->operations->descriptor(lane) >= 0);
    assert_int_equal(lane->operations->status(lane), 0);
    close_lane(lane);
}

/** An address has room for four ways, whatever they are. */
FAKE_TEST(verbs_lane_type__beside_three_interfaces_at_most)
{
    struct lane_opening opening = {.rails = ADDRESS_RAILS};
    struct lane *lane = NULL;

    assert_int_equal(verbs_lane_type.open(&opening, &lane), -EUSERS);
    assert_true(verbs_lane_type.on_request);
}

/** Behind the interfaces, wherever it is after they have been matched; and whoever has none is not
 *  reached. */
FAKE_TEST(verbs_reach__those_that_have_it)
{
    struct verbs_ends ends = open_ends();
    struct address_layout address = {.rails = 1, .rail[0].mac = {2}};
    struct lane_address to;

    assert_int_equal(ends.a->operations->reach(ends.a, &address, &to), -EHOSTUNREACH);
    ends.b->operations->publish(ends.b, &address);
    assert_true(address_rail_is_verbs(&address.rail[1]));
    struct address_rail moved = address.rail[0];
    address.rail[0] = address.rail[1];
    address.rail[1] = moved;
    assert_int_equal(ends.a->operations->reach(ends.a, &address, &to), 0);
    assert_memory_equal(&to, &ends.at_b, sizeof to);
    address.rails = 0;
    assert_int_equal(ends.a->operations->reach(ends.a, &address, &to), -EHOSTUNREACH);
    close_ends(&ends);
}
