/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket: where it can be opened, and whom it reaches. */
#include "udp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int try_open(const char *interface, uint16_t port)
{
    struct udp_lane_options options = {.interface = interface, .port = port};
    struct lane *lane = NULL;
    int status = udp_lane_open(&options, &lane);

    if (status == 0) {
        close_lane(lane);
    }
    return status;
}

PAIR_TEST(udp_lane_open__what_it_says_of_itself)
{
    assert_int_equal(pair.a->kind, LANE_UDP);
    assert_int_equal(pair.a->rail, 0);
    assert_true(pair.a->polling_is_costly);
    assert_int_equal(pair.a->frame_bytes, 1472);
    assert_int_equal(pair.a->batch_frames, 44);
    assert_true(pair.a->capacity_bytes > 100000 && pair.a->capacity_bytes < UINT64_MAX);
    assert_int_equal(pair.a->operations->status(pair.a), 0);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

TEST(udp_lane_open__a_port_of_choice)
{
    struct lane *lane = open_udp(here, "end0", 4711);
    struct address_layout address = {.rails = 1};

    lane->operations->publish(lane, &address);
    assert_int_equal(from_le16(address.rail[0].port), 4711);
    assert_int_equal(address.rail[0].ip[10], 0xFF);
    assert_int_equal(address.rail[0].ip[12], 10);
    assert_int_equal(address.rail[0].ip[15], 1);
    assert_int_equal(try_open("end0", 4711), -EADDRINUSE);
    close_lane(lane);
    assert_int_equal(try_open("end0", 4711), 0);
}

TEST(udp_lane_open__no_such_interface)
{
    assert_int_equal(try_open("nowhere0", 0), -ENODEV);
    assert_int_equal(try_open("a-name-that-is-longer-than-any", 0), -ENODEV);
    assert_int_equal(try_open("", 0), -ENODEV);
}

TEST(udp_lane_open__interface_is_down)
{
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    assert_int_equal(try_open("end0", 0), -ENETDOWN);
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
}

TEST(udp_lane_open__no_address)
{
    IP("address", "del", "10.77.0.1/24", "dev", "end0");
    assert_int_equal(try_open("end0", 0), -EADDRNOTAVAIL); /* link-local IPv6 does not count */
    IP("address", "add", "10.77.0.1/24", "dev", "end0");
    assert_int_equal(try_open("end0", 0), 0);
}

TEST(udp_lane_open__mtu_is_too_short)
{
    set_interface_there(here, "end0", SIOCSIFMTU, (int)FRAME_BYTES_MIN + 28);
    assert_int_equal(try_open("end0", 0), -EINVAL);
    set_interface_there(here, "end0", SIOCSIFMTU, (int)FRAME_BYTES_MIN + 29);
    assert_int_equal(try_open("end0", 0), 0);
    set_interface_there(here, "end0", SIOCSIFMTU, 1500);
}

TEST(udp_lane__ipv6_if_there_is_no_ipv4)
{
    struct address_layout v4 = {.rails = 1};
    struct lane_address to;
    struct lane *lane = open_udp(here, "end0", 0);

    lane->operations->publish(lane, &v4);
    close_lane(lane);
    switch_to_ipv6(true);
    struct udp_pair pair = open_pair();
    assert_int_equal(pair.a->frame_bytes, 1452);
    assert_int_equal(pair.at_b.bytes[0], 0xFD);
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_int_equal(pair.a->operations->reach(pair.a, &v4, &to), -EHOSTUNREACH);
    /* A refusal comes by ICMPv6. */
    struct lane_address refused = pair.at_b;
    refused.bytes[16] ^= 0x55;
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &refused);
    assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
    struct lane_loss lost;
    assert_true(pair.a->operations->lost(pair.a, &lost));
    assert_memory_equal(&lost.address, &refused, sizeof refused);
    assert_true(lost.quote_bytes == LANE_QUOTE_BYTES && lost.quote[1] == DATA);
    close_pair(&pair);
    switch_to_ipv6(false);
}

TEST(udp_lane__without_privilege)
{
    pid_t child = fork();
    if (child == 0) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}, {0}};
        struct lane *b = open_udp(far, "end1", 0);
        if (syscall(SYS_capset, &header, none) != 0 || socket(AF_PACKET, SOCK_RAW, 0) >= 0) {
            _exit(2);
        }
        struct udp_lane_options options = {.interface = "end0"};
        struct lane *a = NULL;
        if (udp_lane_open(&options, &a) != 0) {
            _exit(3);
        }
        struct lane_address at_a = address_of(a, b);
        struct lane_address at_b = address_of(b, a);
        exchange(a, b, &at_a, &at_b);
        _exit(a->capacity_bytes > 0 ? 0 : 4);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(udp_lane__endpoints_of_one_host)
{
    struct lane *a = open_udp(here, "end0", 0);
    struct lane *b = open_udp(here, "end0", 0);
    struct lane_address at_a = address_of(a, b);
    struct lane_address at_b = address_of(b, a);

    exchange(a, b, &at_a, &at_b);
    exchange(a, a, &at_a, &at_a);
    close_lane(a);
    close_lane(b);
    a = open_udp(here, "lo", 0);
    b = open_udp(here, "lo", 0);
    at_a = address_of(a, b);
    at_b = address_of(b, a);
    assert_int_equal(a->frame_bytes, 65507);
    assert_int_equal(a->batch_frames, 1);
    exchange(a, b, &at_a, &at_b);
    close_lane(a);
    close_lane(b);
}

/** Both have to be reached, in turns: the far end of one's own cable, and this host's other one. */
TEST(udp_lane__another_interface_of_this_host)
{
    IP("link", "add", "two0", "type", "veth", "peer", "name", "two1");
    IP("address", "add", "10.77.0.3/24", "dev", "two0");
    IP("link", "set", "two0", "up");
    IP("link", "set", "two1", "up");
    struct udp_pair pair = open_pair();
    struct lane *other = open_udp(here, "two0", 0);
    struct lane_address at_other = address_of(other, pair.a);
    struct lane_address at_a = address_of(pair.a, other);

    for (unsigned round = 0; round < 3; round++) {
        exchange(pair.a, other, &at_a, &at_other);
        exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    }
    close_lane(other);
    close_pair(&pair);
    IP("link", "del", "two0");
}

PAIR_TEST(udp_reach__only_what_it_can)
{
    struct lane *loopback = open_udp(here, "lo", 0);
    struct address_layout address = {.rails = 1};
    struct lane_address to;

    pair.b->operations->publish(pair.b, &address);
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), 0);
    /* What is bound to loopback is on this host only, and on another it is another's. */
    assert_int_equal(loopback->operations->reach(loopback, &address, &to), -EHOSTUNREACH);
    address.rails = 0;
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), -EHOSTUNREACH);
    address.rails = 1;
    address.rail[0].port = to_le16(0);
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), -EHOSTUNREACH);
    loopback->operations->publish(loopback, &address);
    assert_int_equal(pair.a->operations->reach(pair.a, &address, &to), -EHOSTUNREACH);
    close_lane(loopback);
}

/** Two interfaces on one network: each lane uses its own. */
TEST(udp_lane__leaves_through_its_own_interface)
{
    IP("link", "add", "two0", "type", "veth", "peer", "name", "two1");
    IP("address", "add", "10.77.0.3/24", "dev", "two0");
    IP("link", "set", "two0", "up");
    IP("link", "set", "two1", "up");
    struct udp_pair pair = open_pair();
    struct lane *second = open_udp(here, "two0", 0);

    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    add_frame(&outbox, DATA, 1, 0, 100);
    (void)second->operations->send(second, &pair.at_b, outbox.frames, 1);
    outbox.count = 0;
    add_frame(&outbox, DATA, 1, 0, 100);
    send_outbox(&outbox, pair.a, &pair.at_b);
    /* What went out of the second interface did not come to the far end of the first. */
    receive_all(pair.b, incoming, 1);
    assert_memory_equal(&incoming[0].from, &pair.at_a, sizeof pair.at_a);
    pair.b->operations->release(pair.b);
    assert_int_equal(pair.b->operations->receive(pair.b, incoming, 1), 0);
    close_lane(second);
    close_pair(&pair);
    IP("link", "del", "two0");
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
