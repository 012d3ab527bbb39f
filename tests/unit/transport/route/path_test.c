/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/path.h"
#include "unit/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/** Three lanes, each of which reaches addresses that have its number's bit in `rails`. */
struct fixture {
    struct lane lanes[3];
    struct path_lanes all;
    struct address_layout address;
};

static int some_reach(struct lane *lane, const struct address_layout *address,
                      struct lane_address *to)
{
    *to = (struct lane_address){{(uint8_t)(lane->rail + 1)}};
    return (address->rails >> lane->rail & 1) != 0 ? 0 : -EHOSTUNREACH;
}

static void some_publish(const struct lane *lane, struct address_layout *address)
{
    address->rail[lane->rail].mac[5] = (uint8_t)(lane->rail + 1);
}

static const struct lane_operations some_operations = {.reach = some_reach,
                                                       .publish = some_publish};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.all.count = 3};
    for (unsigned i = 0; i < 3; i++) {
        fixture.lanes[i] = (struct lane){.operations = &some_operations,
                                         .kind = LANE_SIM,
                                         .rail = (uint8_t)i,
                                         .frame_bytes = 1500 - i};
        fixture.all.lanes[i] = &fixture.lanes[i];
    }
    *state = &fixture;
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, NULL)

static struct paths find(struct fixture *fixture, uint8_t reached)
{
    struct paths paths;

    fixture->address.rails = reached;
    paths_find(&paths, &fixture->all, &fixture->address, true);
    return paths;
}

/** The same of a peer that has answered on all of them. */
static struct paths find_proven(struct fixture *fixture, uint8_t reached)
{
    struct paths paths = find(fixture, reached);

    paths.proven = paths.reachable;
    paths_choose(&paths, &fixture->all);
    return paths;
}

FIXTURE_TEST(paths_choose__never_a_lane_that_cuts)
{
    fixture->lanes[0].cuts = true;
    struct paths paths = find_proven(fixture, 7);
    assert_true(paths_reaches(&paths, 0));
    assert_int_equal(paths.fast, 1);
    assert_true(paths_next(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 2);
    assert_true(paths_next(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 1);
    fixture->all.down[1] = fixture->all.down[2] = true;
    paths_choose(&paths, &fixture->all);
    assert_int_equal(paths.fast, 1); /* none works */
    assert_int_equal(find(fixture, 1).fast, PATH_NONE);
}

FIXTURE_TEST(paths_find__only_lanes_that_reach)
{
    struct paths paths = find(fixture, 6);

    assert_false(paths_reaches(&paths, 0));
    assert_true(paths_reaches(&paths, 1));
    assert_true(paths_reaches(&paths, 2));
    assert_int_equal(paths.to[2].bytes[0], 3);
    assert_int_equal(paths.fast, 1);
    assert_int_equal(find(fixture, 0).fast, PATH_NONE);
}

FIXTURE_TEST(paths_find__shared_memory_is_enough)
{
    fixture->lanes[1].shares_memory = true;
    struct paths paths = find(fixture, 7);
    assert_false(paths_reaches(&paths, 0));
    assert_false(paths_reaches(&paths, 2));
    assert_int_equal(paths.fast, 1);
    paths = find(fixture, 5);
    assert_true(paths_reaches(&paths, 0));
    assert_true(paths_reaches(&paths, 2));
}

FIXTURE_TEST(paths_choose__first_that_is_not_down)
{
    struct paths paths = find(fixture, 7);

    fixture->all.down[0] = true;
    paths_choose(&paths, &fixture->all);
    assert_int_equal(paths.fast, 1);
    fixture->all.down[0] = false;
    paths_choose(&paths, &fixture->all);
    assert_int_equal(paths.fast, 0);
    memset(fixture->all.down, true, sizeof fixture->all.down);
    paths_choose(&paths, &fixture->all); /* better than nothing: it may recover */
    assert_int_equal(paths.fast, 0);
}

/** The first lane is up, and does not answer: that another comes back says nothing about it. */
FIXTURE_TEST(paths_follow_status__not_back_to_a_lane_that_was_left)
{
    struct paths paths = find_proven(fixture, 7);

    fixture->all.down[1] = true;
    assert_true(paths_next(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 2);
    fixture->all.down[1] = false;
    assert_false(paths_follow_status(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 2);
    assert_true(paths.astray);
    fixture->all.down[0] = true;
    assert_false(paths_follow_status(&paths, &fixture->all, 0));
    fixture->all.down[0] = false; /* that is why: it is mended */
    assert_true(paths_follow_status(&paths, &fixture->all, 0));
    assert_int_equal(paths.fast, 0);
    assert_false(paths.astray);
}

/** What an address says is nothing to go by. */
FIXTURE_TEST(paths_prove__only_lanes_on_which_the_peer_has_answered)
{
    struct paths paths = find(fixture, 7);

    assert_int_equal(paths.fast, 0); /* to ask over it */
    assert_false(paths_is_proven(&paths));
    assert_false(paths_is_usable(&paths, &fixture->all, 0));
    assert_true(paths_may_ask(&paths, &fixture->all, 0));
    assert_false(paths_next(&paths, &fixture->all, 1));
    assert_true(paths_prove(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 1);
    assert_true(paths_is_proven(&paths));
    fixture->all.down[1] = true; /* better a lane that is down than one that may be another's */
    assert_false(paths_follow_status(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 1);
    assert_true(paths_prove(&paths, &fixture->all, 2));
    assert_int_equal(paths.fast, 2);
    fixture->all.down[1] = false;
    assert_true(paths_prove(&paths, &fixture->all, 0));
    assert_int_equal(paths.fast, 0);
}

/** Who has left a lane that does not answer is not sent back there because another is proven. */
FIXTURE_TEST(paths_prove__not_back_to_a_lane_that_was_left)
{
    struct paths paths = find(fixture, 7);

    (void)paths_prove(&paths, &fixture->all, 0);
    (void)paths_prove(&paths, &fixture->all, 1);
    assert_true(paths_next(&paths, &fixture->all, 1));
    assert_false(paths_prove(&paths, &fixture->all, 2));
    assert_int_equal(paths.fast, 1);
}

FIXTURE_TEST(paths_next__round_and_round)
{
    struct paths paths = find_proven(fixture, 5);

    assert_true(paths_next(&paths, &fixture->all, 1));
    assert_int_equal(paths.fast, 2);
    assert_true(paths_next(&paths, &fixture->all, 2));
    assert_int_equal(paths.fast, 0);
    fixture->all.down[2] = true;
    assert_false(paths_next(&paths, &fixture->all, 3));
    assert_int_equal(paths.fast, 0);
}

FIXTURE_TEST(paths_may_return__when_the_peer_is_heard_on_the_preferred_lane)
{
    struct paths paths = find_proven(fixture, 5);
    const uint64_t now_ns = 1000000000;

    assert_false(paths_may_return(&paths, 0, now_ns)); /* it has not been left */
    assert_true(paths_next(&paths, &fixture->all, now_ns));
    assert_false(paths_may_return(&paths, 2, now_ns)); /* that is no news of the other */
    assert_true(paths_may_return(&paths, 0, now_ns));
    assert_true(paths_may_return(&paths, 2, now_ns + PATH_RETURN_NS)); /* to try it */
    paths_return(&paths, &fixture->all, now_ns);
    assert_int_equal(paths.fast, 0);
    assert_false(paths_may_return(&paths, 0, now_ns));
}

FIXTURE_TEST(paths_may_return__later_each_time_it_was_in_vain)
{
    struct paths paths = find_proven(fixture, 5);
    uint64_t now_ns = 1000000000;

    for (uint64_t wait_ns = PATH_RETURN_NS; wait_ns < PATH_RETURN_MAX_NS; wait_ns *= 2) {
        assert_true(paths_next(&paths, &fixture->all, now_ns));
        assert_false(paths_may_return(&paths, 2, now_ns + wait_ns - 1));
        now_ns += wait_ns;
        assert_true(paths_may_return(&paths, 2, now_ns));
        paths_return(&paths, &fixture->all, now_ns);
    }
    now_ns += PATH_PROVEN_NS; /* now it works, until it is left again */
    assert_true(paths_next(&paths, &fixture->all, now_ns));
    assert_true(paths_may_return(&paths, 2, now_ns + PATH_RETURN_NS));
}

/** What belongs to no interface makes none of the address's rails one that is in use. */
FIXTURE_TEST(paths_publish__a_lane_of_the_host_has_no_rail)
{
    struct address_layout address = {0};

    fixture->all.count = 1;
    fixture->lanes[0].of_host = true;
    paths_publish(&fixture->all, &address);
    assert_int_equal(address.rails, 0);
}

FIXTURE_TEST(paths_frame_bytes__what_each_can_carry)
{
    const struct paths some = find(fixture, 3);
    const struct paths none = find(fixture, 0);

    assert_int_equal(paths_frame_bytes(&some, &fixture->all, PATHS_ANY_MTU), 1499);
    assert_int_equal(paths_frame_bytes(&none, &fixture->all, PATHS_ANY_MTU), 0);
}

/** Each lane loses what its own wire does. */
FIXTURE_TEST(paths_frame_bytes__over_a_way_of_another_mtu)
{
    const struct paths some = find(fixture, 3);

    fixture->lanes[0].mtu = 1500;
    fixture->lanes[1].mtu = 1540; /* 1499 and 41 bytes of headers */
    assert_int_equal(paths_frame_bytes(&some, &fixture->all, 1540), 1499);
    assert_int_equal(paths_frame_bytes(&some, &fixture->all, 1500), 1459);
    assert_int_equal(paths_frame_bytes(&some, &fixture->all, 1280), 1239);
    assert_int_equal(path_carries(&fixture->lanes[0], 1280), 1280);
}

FIXTURE_TEST(paths_data_bytes__has_no_header_where_cards_cut)
{
    const struct paths some = find(fixture, 3);

    assert_int_equal(paths_data_bytes(&some, &fixture->all, PATHS_ANY_MTU), 1499);
    fixture->lanes[1].cuts = true;
    assert_int_equal(paths_data_bytes(&some, &fixture->all, PATHS_ANY_MTU), 1500);
    assert_int_equal(paths_frame_bytes(&some, &fixture->all, PATHS_ANY_MTU), 1499);
}

/** The longest frame, with the headers below it, over whatever lane has most of them. */
FIXTURE_TEST(paths_wire_bytes__of_the_longest_frame)
{
    const struct paths some = find(fixture, 3);

    fixture->lanes[0].frame_bytes = 1500;
    fixture->lanes[0].mtu = 1500;
    fixture->lanes[1].frame_bytes = 1472;
    fixture->lanes[1].mtu = 1500;
    assert_int_equal(paths_wire_bytes(&some, &fixture->all, 1472, 1472), 1500);
    assert_int_equal(paths_wire_bytes(&some, &fixture->all, 1200, 1200), 1228);
    fixture->lanes[1].frame_bytes = 1460;
    fixture->lanes[1].cuts = true; /* DATA has no header there */
    assert_int_equal(paths_wire_bytes(&some, &fixture->all, 1476, 1460), 1500);
    fixture->lanes[1].cuts = false;
    fixture->lanes[1].frame_bytes = 16448;
    fixture->lanes[1].mtu = 0; /* nothing is below it */
    assert_int_equal(paths_wire_bytes(&some, &fixture->all, 1472, 1472), 1472);
}

/** DATA with a checksum: of Ethernet frames it is no longer than other lanes leave room for. */
FIXTURE_TEST(paths_lack_bytes__where_nothing_is_left)
{
    const struct paths alone = find(fixture, 1);
    const struct paths both = find(fixture, 3);

    fixture->lanes[0].frame_bytes = 1500;
    fixture->lanes[0].mtu = 1500;
    fixture->lanes[1].frame_bytes = 1472;
    fixture->lanes[1].mtu = 1500;
    assert_int_equal(paths_lack_bytes(&alone, &fixture->all, 1500, 1500), 0); /* none is needed */
    fixture->lanes[0].needs_checksum = true;
    assert_int_equal(paths_lack_bytes(&alone, &fixture->all, 1500, 1500), 4);
    assert_int_equal(paths_lack_bytes(&alone, &fixture->all, 1400, 1400), 4); /* what arrives */
    assert_int_equal(paths_lack_bytes(&both, &fixture->all, 1472, 1472), 0);
    assert_int_equal(paths_lack_bytes(&both, &fixture->all, 1200, 1200), 0);
    fixture->lanes[1].frame_bytes = 1498;
    assert_int_equal(paths_lack_bytes(&both, &fixture->all, 1498, 1498), 2);
    fixture->lanes[1].frame_bytes = 1460;
    fixture->lanes[1].cuts = true;
    assert_int_equal(paths_lack_bytes(&both, &fixture->all, 1476, 1460), 0);
}
