/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/flow.h"
#include "route/convoy.h"
#include "unit/test.h"

#include <stddef.h>

#define FAST 0
#define TRAINS 1
#define CUTS 2
#define LANES 3
#define FRAMES 8

/** Most that a short burst has. */
#define SHORT (CONVOY_CUT_LONG_FRAMES - 1)

static_assert(SHORT >= CONVOY_FRAMES_MIN && SHORT < FRAMES, "both kinds of bursts");

/** A fast lane, one that takes trains, and one that cuts, which only some tests use; and frames on
 *  their way to a peer that all reach. */
struct fixture {
    struct lane lanes[LANES];
    struct path_lanes all;
    struct paths paths;
    struct convoy convoy;
    struct flow flow;
    struct flow_frame frames[FRAMES];
    struct flow_frame *batch[FRAMES];
    uint8_t heads[FRAMES][sizeof(struct frame_header)];
};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.all.count = 2};
    convoy_init(&fixture.convoy, CONVOY_FRAMES_MIN);
    for (unsigned i = 0; i < LANES; i++) {
        fixture.lanes[i] =
            (struct lane){.kind = LANE_SIM, .takes_trains = i == TRAINS, .cuts = i == CUTS};
        fixture.all.lanes[i] = &fixture.lanes[i];
    }
    fixture.paths.reachable = fixture.paths.proven = (1u << LANES) - 1;
    for (unsigned i = 0; i < FRAMES; i++) {
        fixture.frames[i] =
            (struct flow_frame){.head = fixture.heads[i], .head_bytes = 40, .payload_bytes = 1000};
        fixture.batch[i] = &fixture.frames[i];
    }
    convoy_find(&fixture.convoy, &fixture.paths, &fixture.all);
    *state = &fixture;
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, NULL)

/** Sends the first `count` frames as route_send_sequenced() does. @return the lane. */
static unsigned dispatch(struct fixture *fixture, unsigned count)
{
    unsigned lane_index =
        convoy_choose(&fixture->convoy, fixture->batch, count, fixture->flow.first,
                      fixture->flow.highest, fixture->paths.fast);

    if (lane_index != fixture->paths.fast) {
        convoy_sent(&fixture->convoy, fixture->flow.highest, count, lane_index);
    }
    fixture->flow.highest += count;
    fixture->flow.next = fixture->flow.highest;
    return lane_index;
}

/** All is acknowledged; its first frame left by `lane` first. */
static void acknowledge_of(struct fixture *fixture, unsigned lane, unsigned transmissions)
{
    struct flow_frame *frame = &fixture->frames[0];

    fixture->flow.first = fixture->flow.highest;
    frame->transmissions = transmissions;
    frame->first_way = (uint8_t)convoy_way_of(&fixture->convoy, lane, fixture->paths.fast);
    convoy_released(&fixture->convoy, frame);
    frame->transmissions = 0;
    frame->first_way = FLOW_WAY_USUAL;
}

static void acknowledge(struct fixture *fixture, unsigned transmissions)
{
    acknowledge_of(fixture, TRAINS, transmissions);
}

FIXTURE_TEST(convoy_find__none_if_it_is_down_or_not_needed)
{
    fixture->all.down[TRAINS] = true;
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_false(convoy_exists(&fixture->convoy));
    fixture->all.down[TRAINS] = false;
    fixture->lanes[FAST].shares_memory = true;
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_false(convoy_exists(&fixture->convoy));
    fixture->lanes[FAST].shares_memory = false;
    fixture->paths.fast = TRAINS;
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_false(convoy_exists(&fixture->convoy));
}

FIXTURE_TEST(convoy_choose__bursts_of_one_length)
{
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN - 1), FAST);
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN), TRAINS);
}

FIXTURE_TEST(convoy_choose__bursts_that_are_configured)
{
    convoy_init(&fixture->convoy, FRAMES - 1);
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_int_equal(dispatch(fixture, FRAMES - 2), FAST);
    assert_int_equal(dispatch(fixture, FRAMES - 1), TRAINS);
}

FIXTURE_TEST(convoy_choose__the_last_frame_may_be_shorter)
{
    fixture->frames[CONVOY_FRAMES_MIN - 1].payload_bytes = 10;
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN), TRAINS);
}

FIXTURE_TEST(convoy_choose__not_for_frames_of_all_lengths)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        fixture->frames[i].payload_bytes = i % 2 == 0 ? 10 : 1000;
    }
    assert_int_equal(dispatch(fixture, FRAMES), FAST);
}

/** Messages of several frames, of which the last is a little shorter. */
FIXTURE_TEST(convoy_choose__frames_of_nearly_one_length)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        fixture->frames[i].payload_bytes = i % 2 == 0 ? 1000 : 999;
    }
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
    acknowledge(fixture, 1);
    for (unsigned i = 0; i < FRAMES; i += 2) {
        fixture->frames[i].payload_bytes = 999 + FRAME_EVENED_BYTES + 1;
    }
    assert_int_equal(dispatch(fixture, FRAMES), FAST);
}

FIXTURE_TEST(convoy_choose__what_follows_does_not_overtake)
{
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
    assert_int_equal(dispatch(fixture, 1), TRAINS);
    acknowledge(fixture, 1);
    assert_int_equal(dispatch(fixture, 1), FAST);
}

FIXTURE_TEST(convoy_choose__what_is_sent_again_takes_the_fast_lane)
{
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
    fixture->frames[0].transmissions = 1;
    assert_int_equal(dispatch(fixture, FRAMES), FAST);
}

FIXTURE_TEST(convoy_choose__not_with_go_back_n)
{
    fixture->convoy.in_order = true;
    assert_int_equal(dispatch(fixture, FRAMES), FAST);
}

FIXTURE_TEST(convoy_choose__not_for_ever_if_nothing_arrives)
{
    unsigned by_convoy = 0;

    for (unsigned i = 0; i < CONVOY_LOST_MAX; i++) {
        assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
        acknowledge(fixture, 2); /* what arrived was sent again, over the fast lane */
    }
    for (unsigned i = 0; i < 512; i++) {
        by_convoy += dispatch(fixture, FRAMES) == TRAINS;
        acknowledge(fixture, 2);
    }
    assert_int_equal(by_convoy, 2); /* once in a while it is tried */
    while (dispatch(fixture, FRAMES) != TRAINS) {
        acknowledge(fixture, 2);
    }
    acknowledge(fixture, 1); /* and this time it works */
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
}

/** Adds the lane that cuts. */
static void add_cutter(struct fixture *fixture)
{
    fixture->all.count = LANES;
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
}

FIXTURE_TEST(convoy_choose__a_message_that_is_cut_may_have_frames_of_all_lengths)
{
    fixture->frames[0].payload_bytes = 900;
    for (unsigned i = 1; i < CONVOY_FRAMES_MIN; i++) {
        frame_encode(fixture->heads[i], &(struct frame_fields){.type = FRAME_FRAGMENT});
    }
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN), FAST); /* two trains */
    add_cutter(fixture);
    fixture->flow.first = fixture->flow.highest;
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN - 1), FAST);
    fixture->flow.first = fixture->flow.highest;
    assert_int_equal(dispatch(fixture, CONVOY_FRAMES_MIN), CUTS);
}

/** Bursts of which those by `dead` do not arrive, and others do. @return how many went by it. */
static unsigned lose(struct fixture *fixture, unsigned bursts, unsigned dead)
{
    unsigned by_dead = 0;

    for (unsigned i = 0; i < bursts; i++) {
        unsigned lane_index = dispatch(fixture, FRAMES);
        by_dead += lane_index == dead;
        acknowledge_of(fixture, lane_index, lane_index == dead ? 2 : 1);
    }
    return by_dead;
}

FIXTURE_TEST(convoy_choose__trains_if_nothing_that_is_cut_arrives)
{
    add_cutter(fixture);
    assert_int_equal(lose(fixture, CONVOY_LOST_MAX, CUTS), CONVOY_LOST_MAX);
    assert_false(convoy_gathers(&fixture->convoy));
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
    acknowledge(fixture, 1);
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS); /* nothing has changed */
    acknowledge(fixture, 1);
    assert_int_equal(lose(fixture, 1024, CUTS), 4); /* once in a while it is tried */
    while (dispatch(fixture, FRAMES) != CUTS) {
        acknowledge(fixture, 1);
    }
    acknowledge_of(fixture, CUTS, 1); /* and this time it works */
    assert_int_equal(dispatch(fixture, FRAMES), CUTS);
}

/** What arrives as trains says nothing of what is cut. */
FIXTURE_TEST(convoy_choose__a_dead_lane_beside_one_that_works)
{
    add_cutter(fixture);
    for (unsigned i = 0; i < CONVOY_LOST_MAX; i++) {
        assert_int_equal(dispatch(fixture, FRAMES), CUTS);
        assert_int_equal(dispatch(fixture, SHORT), TRAINS);
        acknowledge_of(fixture, CUTS, 2);
        acknowledge_of(fixture, TRAINS, 1);
    }
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS);
}

FIXTURE_TEST(convoy_choose__what_is_cut_if_no_train_arrives)
{
    add_cutter(fixture);
    for (unsigned i = 0; i < CONVOY_LOST_MAX; i++) {
        acknowledge_of(fixture, TRAINS, 2);
    }
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(dispatch(fixture, SHORT), CUTS); /* however much is on its way */
    }
}

FIXTURE_TEST(convoy_choose__neither_if_nothing_arrives_by_either)
{
    add_cutter(fixture);
    for (unsigned i = 0; i < CONVOY_LOST_MAX; i++) {
        acknowledge_of(fixture, CUTS, 2);
        acknowledge_of(fixture, TRAINS, 2);
    }
    for (unsigned i = 0; i < 255; i++) {
        assert_int_equal(dispatch(fixture, FRAMES), FAST);
        fixture->flow.first = fixture->flow.highest;
    }
    assert_int_equal(dispatch(fixture, FRAMES), CUTS);
}

FIXTURE_TEST(convoy_choose__short_bursts_are_trains_while_much_is_on_its_way)
{
    add_cutter(fixture);
    for (unsigned sent = 0; sent <= CONVOY_CUT_FRAMES_MAX; sent += SHORT) {
        assert_int_equal(dispatch(fixture, SHORT), CUTS);
    }
    for (unsigned i = 0; i < 4 * CONVOY_LOST_MAX; i++) {
        assert_int_equal(dispatch(fixture, SHORT), TRAINS);
    }
    fixture->flow.first = fixture->flow.highest - 1; /* little is, but it would be overtaken */
    assert_int_equal(dispatch(fixture, SHORT), TRAINS);
    assert_int_equal(dispatch(fixture, CONVOY_CUT_LONG_FRAMES), TRAINS); /* also by a long one */
    acknowledge(fixture, 1);
    assert_int_equal(dispatch(fixture, SHORT), CUTS);
}

FIXTURE_TEST(convoy_choose__a_long_burst_is_cut_whatever_is_on_its_way)
{
    add_cutter(fixture);
    for (unsigned i = 0; i < 4 * CONVOY_LOST_MAX; i++) {
        assert_int_equal(dispatch(fixture, CONVOY_CUT_LONG_FRAMES), CUTS);
    }
    assert_int_equal(dispatch(fixture, SHORT), TRAINS);
}

/** Each message of several frames costs a lane that cuts a call of its own, and trains have them
 *  together. */
FIXTURE_TEST(convoy_choose__trains_for_several_messages)
{
    add_cutter(fixture);
    for (unsigned i = 1; i < FRAMES; i++) {
        frame_encode(fixture->heads[i], &(struct frame_fields){.type = FRAME_FRAGMENT});
    }
    assert_int_equal(dispatch(fixture, FRAMES), CUTS); /* one message */
    acknowledge_of(fixture, CUTS, 1);
    frame_encode(fixture->heads[FRAMES / 2], &(struct frame_fields){.type = FRAME_EAGER});
    assert_int_equal(dispatch(fixture, FRAMES), TRAINS); /* two */
    acknowledge(fixture, 1);
    fixture->frames[1].payload_bytes = 100; /* two trains: no better */
    assert_int_equal(dispatch(fixture, FRAMES), CUTS);
}

FIXTURE_TEST(convoy_choose__a_lane_that_cuts_alone_has_all)
{
    fixture->all.down[TRAINS] = true;
    add_cutter(fixture);
    for (unsigned i = 0; i < 4 * CONVOY_LOST_MAX; i++) {
        assert_int_equal(dispatch(fixture, FRAMES), CUTS);
    }
}

/** Does the convoy wait for more than is pushed? */
static bool waits(const struct fixture *fixture)
{
    const struct flow *flow = &fixture->flow;

    return convoy_waits(&fixture->convoy, flow->next - flow->highest,
                        flow_window(flow, flow->first));
}

FIXTURE_TEST(convoy_waits__for_a_whole_train)
{
    struct flow *flow = &fixture->flow;

    flow->limit = FLOW_WINDOW_FRAMES;
    flow->highest = 4;
    flow->next = flow->highest;
    assert_false(waits(fixture)); /* nothing to be sent */
    flow->next++;
    assert_true(waits(fixture));
    flow->next = flow->highest + FLOW_BATCH_FRAMES;
    assert_false(waits(fixture)); /* a train is full */
    flow->next--;
    assert_true(waits(fixture));
    flow->limit = FLOW_BATCH_FRAMES; /* more than half of which is there */
    assert_false(waits(fixture));
    flow->limit = FLOW_WINDOW_FRAMES;
    fixture->paths.fast = TRAINS; /* there is no convoy, but the usual lane has trains itself */
    convoy_find(&fixture->convoy, &fixture->paths, &fixture->all);
    assert_false(convoy_exists(&fixture->convoy));
    assert_true(convoy_has_trains(&fixture->convoy));
    assert_true(waits(fixture));
    convoy_init(&fixture->convoy, CONVOY_FRAMES_MIN);
    assert_false(convoy_has_trains(&fixture->convoy));
    assert_false(waits(fixture));
}
