/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_ends.h"

#include "tuning.h"

/** On a wire of the least MTU that frames are made for, they are as short as they may be here. */
FAKE_TEST(verbs_lane_open__frames_are_as_long_as_the_devices_mtu)
{
    fake.mtu = IBV_MTU_4096;
    struct lane *lane = open_on(HOST_A);
    assert_int_equal(lane->frame_bytes, 4096);
    assert_int_equal(lane->frame_bytes - (lane->mtu - CONNECTION_SHORTEST_MTU), 1024);
    close_lane(lane);
    fake.mtu = IBV_MTU_512;
    assert_int_equal(try_open(NULL, NULL), -EADDRNOTAVAIL);
    fake.mtu = 77;
    assert_int_equal(try_open(NULL, NULL), -EADDRNOTAVAIL);
}

FAKE_TEST(verbs_lane_open__of_the_first_interface_that_has_a_device)
{
    assert_int_equal(try_open("lo", NULL), 0);
    assert_int_equal(try_open("none-such", "lo"), 0);
    assert_int_equal(try_open("none-such", NULL), -ENXIO);
    fake.interface = 9999;
    assert_int_equal(try_open("lo", NULL), -ENXIO);
    assert_int_equal(try_open(NULL, NULL), 0); /* of any */
}

FAKE_TEST(verbs_lane_open__no_device_that_can_be_used)
{
    fake.devices = 0;
    assert_int_equal(try_open(NULL, NULL), -ENXIO);
    fake.devices = 2;
    fake.refuses = true;
    assert_int_equal(try_open(NULL, NULL), -ENXIO);
    fake.refuses = false;
    fake.gid_type = IBV_GID_TYPE_ROCE_V1;
    assert_int_equal(try_open(NULL, NULL), -ENXIO);
    fake.gid_type = IBV_GID_TYPE_ROCE_V2;
    fake.state = IBV_PORT_DOWN;
    assert_int_equal(try_open("none-such", "lo"), -ENETDOWN);
    fake.state = IBV_PORT_ACTIVE;
    fake.gone = true;
    assert_int_equal(try_open(NULL, NULL), -ENETDOWN);
}

FAKE_TEST(verbs_status__of_the_port)
{
    struct verbs_ends ends = open_ends();

    fake.state = IBV_PORT_DOWN;
    assert_int_equal(ends.a->operations->status(ends.a), -ENETDOWN);
    fake.state = IBV_PORT_ACTIVE;
    assert_int_equal(ends.a->operations->status(ends.a), 0);
    assert_int_equal(ends.a->narrowed_bytes, 0);
    fake.mtu = IBV_MTU_512;
    assert_int_equal(ends.a->operations->status(ends.a), 0);
    assert_int_equal(ends.a->narrowed_bytes, 512);
    fake.mtu = IBV_MTU_1024;
    assert_int_equal(ends.a->operations->status(ends.a), 0);
    assert_int_equal(ends.a->narrowed_bytes, 0);
    close_ends(&ends);
}

FAKE_TEST(verbs_status__the_device_has_gone)
{
    struct verbs_ends ends = open_ends();

    fake.gone = true;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 100), 0);
    assert_int_equal(ends.a->operations->status(ends.a), -ENETDOWN);
    close_ends(&ends);
}
