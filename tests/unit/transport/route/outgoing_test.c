/* SPDX-License-Identifier: BSD-3-Clause */
/* The place that all frames to a peer pass on their way out. */
#include "core/core_internal.h"
#include "unit/transport/core/stranger.h"

#define FRAME_HEAD_BYTES 46

/** A lane over another, that takes nothing, and is down. */
struct dead_lane {
    struct lane lane; /* first */
    unsigned asked;   /**< for its status */
};

static unsigned take_nothing(struct lane *lane, const struct lane_address *to,
                             const struct lane_outgoing *frames, unsigned count)
{
    return 0;
}

static int be_down(struct lane *lane)
{
    ((struct dead_lane *)(void *)lane)->asked++;
    return -ENETDOWN;
}

/** A frame of this type, of which only the header is looked at. */
struct sent {
    uint8_t room[LANE_HEADROOM + FRAME_HEAD_BYTES_MAX];
};

static struct lane_outgoing frame_of(struct sent *sent, unsigned type)
{
    *sent = (struct sent){{0}};
    sent->room[LANE_HEADROOM + offsetof(struct frame_header, type)] = (uint8_t)type;
    return (struct lane_outgoing){.head = sent->room + LANE_HEADROOM,
                                  .head_bytes = FRAME_HEAD_BYTES};
}

STRANGER_TEST(core_send__only_what_opens_goes_an_unproven_way)
{
    struct core_peer *peer = be_accepted(stranger);

    peer->route.paths.proven = 0;
    for (unsigned type = FRAME_CONNECT; type <= FRAME_GRANT; type++) {
        struct sent sent;
        struct lane_outgoing frame = frame_of(&sent, type);
        bool opens = type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_CHALLENGE ||
                     type == FRAME_RESPONSE;
        assert_int_equal(core_send(stranger->core, peer, 0, &frame, 1), opens ? 1 : 0);
    }
}

/** Whether a lane works is asked when it takes nothing: not by who sends, but at once. */
STRANGER_TEST(core_send__a_lane_that_takes_nothing_is_asked)
{
    struct core *core = stranger->core;
    struct core_peer *peer = be_accepted(stranger);
    struct path_lanes *lanes = &core->options.lanes;
    struct lane *working = lanes->lanes[0];
    struct lane_operations operations = *working->operations;
    struct dead_lane dead = {.lane = *working};
    struct sent sent;
    struct lane_outgoing frame = frame_of(&sent, FRAME_ACK);

    core->looked_for_lanes_ns = cluster_now(&stranger->cluster);
    core->deadline_ns = UINT64_MAX;
    operations.send = take_nothing;
    operations.status = be_down;
    dead.lane.operations = &operations;
    lanes->lanes[0] = &dead.lane;
    assert_int_equal(core_send(core, peer, 0, &frame, 1), 0);
    assert_int_equal(dead.asked, 0);
    assert_int_equal(core->deadline_ns, 0);
    core_timers(core, cluster_now(&stranger->cluster));
    assert_true(lanes->down[0]);
    assert_int_equal(dead.asked, 1);
    lanes->lanes[0] = working;
}
