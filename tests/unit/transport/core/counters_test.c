/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/counters.h"
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A core with two peers, all counters 0. */
struct fixture {
    struct core core;
    struct lane lane;
    struct core_peer peers[2];
    struct core_peer *pointers[2];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    fixture->lane.kind = LANE_SIM;
    fixture->core.options.lanes = (struct path_lanes){.lanes = {&fixture->lane}, .count = 1};
    fixture->pointers[0] = &fixture->peers[0];
    fixture->pointers[1] = &fixture->peers[1];
    fixture->core.peers = fixture->pointers;
    fixture->core.peer_count = 2;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

static uint64_t value_of(const struct fixture *fixture, const char *wanted)
{
    for (unsigned i = 0; i < counters_count(); i++) {
        if (strcmp(counters_name(i), wanted) == 0) {
            return counters_read(&fixture->core, i);
        }
    }
    fail_msg("there is no counter %s", wanted);
    return 0;
}

/** A type that is added is counted by name. */
FIXTURE_TEST(counters_read__of_every_type)
{
    char name[64];

    for (unsigned type = 0; type < FRAME_TYPES; type++) {
        if (frame_type_name(type) != NULL) {
            (void)snprintf(name, sizeof name, "sent_%s", frame_type_name(type));
            assert_int_equal(value_of(fixture, name), 0);
            (void)snprintf(name, sizeof name, "received_%s", frame_type_name(type));
            assert_int_equal(value_of(fixture, name), 0);
        }
    }
}

FIXTURE_TEST(counters_name__each_once)
{
    assert_true(counters_count() > 30);
    for (unsigned i = 0; i < counters_count(); i++) {
        assert_int_equal(counters_read(&fixture->core, i), 0);
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(counters_name(j), counters_name(i));
        }
    }
}

FIXTURE_TEST(counters_read__reads_its_own_place)
{
    fixture->lane.sent_frames = 1;
    fixture->lane.dropped_frames = 2;
    fixture->core.counters.dropped_key = 3;
    fixture->core.counters.dropped[FRAME_BAD_FIELD] = 4;
    fixture->core.messages.counters.truncated_messages = 5;
    assert_int_equal(value_of(fixture, "lane_sent_frames"), 1);
    assert_int_equal(value_of(fixture, "lane_dropped_frames"), 2);
    assert_int_equal(value_of(fixture, "dropped_key"), 3);
    assert_int_equal(value_of(fixture, "dropped_field"), 4);
    assert_int_equal(value_of(fixture, "message_truncated"), 5);
}

FIXTURE_TEST(counters_read__of_lanes_by_kind)
{
    struct path_lanes *lanes = &fixture->core.options.lanes;

    fixture->lane.kind = LANE_UDP;
    lanes->lanes[1] = &fixture->lane;
    lanes->count = 2;
    assert_int_equal(value_of(fixture, "lanes_udp"), 2);
    assert_int_equal(value_of(fixture, "lanes_packet"), 0);
    assert_int_equal(value_of(fixture, "lanes_shm"), 0);
}

FIXTURE_TEST(counters_read__bytes_by_kind_of_lane)
{
    struct lane other = {.kind = LANE_TSO, .sent_bytes = 70};
    struct path_lanes *lanes = &fixture->core.options.lanes;

    fixture->lane.kind = LANE_UDP;
    fixture->lane.sent_bytes = 8;
    lanes->lanes[1] = &fixture->lane;
    lanes->lanes[2] = &other;
    lanes->count = 3;
    assert_int_equal(value_of(fixture, "sent_by_udp"), 16);
    assert_int_equal(value_of(fixture, "sent_by_tso"), 70);
    assert_int_equal(value_of(fixture, "sent_by_packet"), 0);
    assert_int_equal(value_of(fixture, "sent_by_shm"), 0);
}

FIXTURE_TEST(counters_read__of_flows_is_the_sum)
{
    fixture->peers[0].message.flow.retransmitted_frames = 5;
    fixture->peers[1].message.flow.retransmitted_frames = 7;
    assert_int_equal(value_of(fixture, "flow_retransmitted_frames"), 12);
}
