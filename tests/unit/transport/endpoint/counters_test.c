/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/endpoint.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/** An endpoint with two peers, all counters 0. */
struct fixture {
    struct beowire_endpoint endpoint;
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
    fixture->endpoint.is_open = true;
    fixture->endpoint.core.options.lanes = (struct path_lanes){{&fixture->lane}, 1, {false}};
    fixture->pointers[0] = &fixture->peers[0];
    fixture->pointers[1] = &fixture->peers[1];
    fixture->endpoint.core.peers = fixture->pointers;
    fixture->endpoint.core.peer_count = 2;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static uint64_t value_of(const struct fixture *fixture, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(&fixture->endpoint, i, &name, &value) == 0; i++) {
        if (strcmp(name, wanted) == 0) {
            return value;
        }
    }
    fail_msg("there is no counter %s", wanted);
    return 0;
}

static void beowire_counter__each_name_once(void **state)
{
    struct fixture *fixture = *state;
    const char *names[200];
    uint64_t value;
    unsigned count = 0;

    while (beowire_counter(&fixture->endpoint, count, &names[count], &value) == 0) {
        assert_int_equal(value, 0);
        for (unsigned i = 0; i < count; i++) {
            assert_string_not_equal(names[i], names[count]);
        }
        count++;
    }
    assert_true(count > 30);
    assert_int_equal(beowire_counter(&fixture->endpoint, count, &names[0], &value), -ENOENT);
    assert_int_equal(beowire_counter(&fixture->endpoint, UINT32_MAX, &names[0], &value), -ENOENT);
}

static void beowire_counter__reads_its_own_place(void **state)
{
    struct fixture *fixture = *state;

    fixture->lane.sent_frames = 1;
    fixture->lane.dropped_frames = 2;
    fixture->endpoint.core.counters.dropped_key = 3;
    fixture->endpoint.core.counters.dropped[FRAME_BAD_FIELD] = 4;
    fixture->endpoint.core.messages.counters.truncated_messages = 5;
    assert_int_equal(value_of(fixture, "lane_sent_frames"), 1);
    assert_int_equal(value_of(fixture, "lane_dropped_frames"), 2);
    assert_int_equal(value_of(fixture, "dropped_key"), 3);
    assert_int_equal(value_of(fixture, "dropped_field"), 4);
    assert_int_equal(value_of(fixture, "message_truncated"), 5);
}

static void beowire_counter__of_lanes_by_kind(void **state)
{
    struct fixture *fixture = *state;
    struct path_lanes *lanes = &fixture->endpoint.core.options.lanes;

    fixture->lane.kind = LANE_UDP;
    lanes->lanes[1] = &fixture->lane;
    lanes->count = 2;
    assert_int_equal(value_of(fixture, "lanes_udp"), 2);
    assert_int_equal(value_of(fixture, "lanes_packet"), 0);
    assert_int_equal(value_of(fixture, "lanes_shm"), 0);
}

static void beowire_counter__of_flows_is_the_sum(void **state)
{
    struct fixture *fixture = *state;

    fixture->peers[0].message.flow.retransmitted_frames = 5;
    fixture->peers[1].message.flow.retransmitted_frames = 7;
    assert_int_equal(value_of(fixture, "flow_retransmitted_frames"), 12);
}

static void beowire_error__every_documented_error_has_its_own_line(void **state)
{
    static const int documented[] = {0,           -EINVAL,        -ENODEV, -ENETDOWN,  -EPERM,
                                     -EADDRINUSE, -EADDRNOTAVAIL, -ENOMEM, -ETIMEDOUT, -ENOSPC,
                                     -EAGAIN,     -EMSGSIZE,      -ENOENT, -ECANCELED, -EPROTO,
                                     -EINTR,      -ECONNRESET};
    const unsigned count = sizeof documented / sizeof *documented;

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        assert_string_not_equal(beowire_error(documented[i]), beowire_error(-99999));
        assert_null(strchr(beowire_error(documented[i]), '\n'));
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(beowire_error(documented[i]), beowire_error(documented[j]));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(beowire_counter__each_name_once),
        TEST(beowire_counter__reads_its_own_place),
        TEST(beowire_counter__of_lanes_by_kind),
        TEST(beowire_counter__of_flows_is_the_sum),
        TEST(beowire_error__every_documented_error_has_its_own_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
