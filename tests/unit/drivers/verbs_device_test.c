/* SPDX-License-Identifier: BSD-3-Clause */
/* The device is that of fake_verbs.h: one that is over every interface with an IPv4 address. */
#include "verbs_device.h"

#include <errno.h>

#include "../engine/testing.h"

#define IPV4(LAST)                                                                                 \
    {                                                                                              \
        .raw = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = (LAST) }                              \
    }
#define IPV6(LAST)                                                                                 \
    {                                                                                              \
        .raw = { [0] = 0xFE, [1] = 0x80, [15] = (LAST) }                                           \
    }

static const struct ibv_gid_entry TABLE[] = {
    {.gid = IPV6(1), .gid_index = 0, .gid_type = IBV_GID_TYPE_ROCE_V1, .ndev_ifindex = 2},
    {.gid = IPV6(1), .gid_index = 1, .gid_type = IBV_GID_TYPE_ROCE_V2, .ndev_ifindex = 2},
    {.gid = IPV4(1), .gid_index = 2, .gid_type = IBV_GID_TYPE_ROCE_V1, .ndev_ifindex = 2},
    {.gid = IPV4(1), .gid_index = 3, .gid_type = IBV_GID_TYPE_ROCE_V2, .ndev_ifindex = 2},
    {.gid = IPV4(2), .gid_index = 4, .gid_type = IBV_GID_TYPE_ROCE_V2, .ndev_ifindex = 2},
    {.gid = IPV6(3), .gid_index = 5, .gid_type = IBV_GID_TYPE_ROCE_V2, .ndev_ifindex = 3},
    {.gid = IPV6(4), .gid_index = 6, .gid_type = IBV_GID_TYPE_ROCE_V1, .ndev_ifindex = 4},
};

static const struct ibv_gid_entry *choose(uint32_t interface_index, const union ibv_gid *wanted)
{
    return verbs_device_choose(TABLE, sizeof TABLE / sizeof TABLE[0], interface_index, wanted);
}

TEST(choose__the_address_that_is_wanted)
{
    assert_int_equal(choose(2, &(union ibv_gid)IPV4(1))->gid_index, 3);
    assert_int_equal(choose(2, &(union ibv_gid)IPV4(2))->gid_index, 4);
    assert_int_equal(choose(2, &(union ibv_gid)IPV6(1))->gid_index, 1);
    assert_int_equal(choose(0, &(union ibv_gid)IPV6(3))->gid_index, 5);
}

/* The interface of that number may be another namespace's. */
TEST(choose__an_address_that_it_has_not)
{
    assert_null(choose(2, &(union ibv_gid)IPV4(9)));
    assert_null(choose(3, &(union ibv_gid)IPV4(1)));
}

TEST(choose__any_address)
{
    assert_int_equal(choose(2, NULL)->gid_index, 3);
    assert_int_equal(choose(3, NULL)->gid_index, 5);
    assert_int_equal(choose(0, NULL)->gid_index, 3);
}

TEST(choose__none_without_roce_v2)
{
    assert_null(choose(4, &(union ibv_gid)IPV6(4)));
    assert_null(choose(4, NULL));
    assert_null(choose(5, NULL));
}

TEST(open__the_device_of_the_address)
{
    struct verbs_device device;
    char error[DRIVER_REASON_BYTES] = "";
    const struct driver_options options = {.interface = "", .local_address = "127.0.0.1"};
    const uint8_t expected[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1};
    assert_int_equal(verbs_device_open(&device, &options, error, sizeof error), 0);
    assert_memory_equal(device.gid.raw, expected, sizeof expected);
    assert_int_equal(device.port, 1);
    assert_int_equal(device.gid_index % 2, 1); /* it is a table of pairs */
    assert_int_equal(device.mtu, IBV_MTU_1024);
    assert_true(device.message_bytes_max > 0 && device.reads_max > 0);
    verbs_device_close(&device);
}

TEST(open__no_such_interface)
{
    struct verbs_device device;
    char error[DRIVER_REASON_BYTES] = "";
    const struct driver_options options = {.interface = "nonexistent0", .local_address = ""};
    assert_int_equal(verbs_device_open(&device, &options, error, sizeof error), -ENODEV);
    assert_string_equal(error, "there is no interface 'nonexistent0' on this node");
    assert_null(device.context);
}
