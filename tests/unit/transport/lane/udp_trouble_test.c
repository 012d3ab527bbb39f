/* SPDX-License-Identifier: BSD-3-Clause */
/* What the lane notices of peers that end and of its interface. */
#include "udp_pair.h"

#include <errno.h>

TEST(udp_lost__names_who_refuses_once)
{
    struct udp_pair pair = open_pair();
    struct lane_loss lost;

    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    assert_false(pair.a->operations->lost(pair.a, &lost));
    close_lane(pair.b);
    for (unsigned round = 0; round < 2; round++) {
        add_frame(&outbox, DATA, 1, 0, 100);
        send_outbox(&outbox, pair.a, &pair.at_b);
        assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
        assert_true(pair.a->operations->lost(pair.a, &lost));
        assert_false(lost.certain);
        assert_int_equal(lost.quote_bytes, LANE_QUOTE_BYTES);
        assert_memory_equal(lost.quote, outbox.heads[0] + LANE_HEADROOM, HEAD_BYTES);
        assert_memory_equal(&lost.address, &pair.at_b, sizeof lost.address);
        assert_false(pair.a->operations->lost(pair.a, &lost));
    }
    /* Nothing is left that would keep poll() from sleeping. */
    struct pollfd readable = {.fd = pair.a->operations->descriptor(pair.a), .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 0), 0);
    close_lane(pair.a);
}

/** Of a train it is the beginning that is quoted. */
TEST(udp_lost__quotes_a_train)
{
    struct udp_pair pair = open_pair();
    struct lane_loss lost;

    close_lane(pair.b);
    for (uint32_t i = 0; i < 8; i++) {
        add_frame(&outbox, DATA, 7, i, 1000);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
    unsigned count = 0;
    while (pair.a->operations->lost(pair.a, &lost)) {
        assert_int_equal(lost.quote_bytes, LANE_QUOTE_BYTES);
        /* All but the number of the segment. */
        assert_memory_equal(lost.quote + 4, outbox.heads[0] + LANE_HEADROOM + 4, HEAD_BYTES - 4);
        count++;
    }
    assert_true(count > 0);
    close_lane(pair.a);
}

PAIR_TEST(udp_lost__many_refuse)
{
    struct lane_loss lost;
    unsigned count = 0;

    for (unsigned i = 0; i < 100; i++) {
        struct lane_address refused = pair.at_b;
        refused.bytes[16] = (uint8_t)(1 + i / 50); /* ports that are not in use */
        refused.bytes[17] = (uint8_t)i;
        add_frame(&outbox, DATA, 1, 0, 100);
        send_outbox(&outbox, pair.a, &refused);
    }
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
    while (pair.a->operations->lost(pair.a, &lost)) {
        count++;
    }
    assert_true(count > 0); /* how many: ICMP is sent no faster than its host allows */
}

PAIR_TEST(udp_status__interface_goes_down_and_comes_back)
{
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    assert_int_equal(pair.a->operations->status(pair.a), -ENETDOWN);
    add_frame(&outbox, DATA, 1, 0, 100);
    assert_int_equal(pair.a->operations->send(pair.a, &pair.at_b, outbox.frames, 1), 0);
    outbox.count = 0;
    assert_int_equal(pair.a->operations->receive(pair.a, incoming, 1), 0);
    /* The kernel tells of a carrier a moment later, here, too. */
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
    while (pair.a->operations->status(pair.a) != 0) {
    }
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

PAIR_TEST(udp_status__the_cable_is_pulled)
{
    /* The kernel tells of a carrier a moment later; the test has a timeout. */
    set_interface_there(far, "end1", SIOCSIFFLAGS, 0);
    while (pair.a->operations->status(pair.a) == 0) {
    }
    assert_int_equal(pair.a->operations->status(pair.a), -ENETDOWN);
    set_interface_there(far, "end1", SIOCSIFFLAGS, IFF_UP);
    while (pair.a->operations->status(pair.a) != 0) {
    }
    exchange(pair.a, pair.b, &pair.at_a, &pair.at_b);
}

TEST(udp_status__the_interface_is_gone)
{
    IP("link", "add", "gone0", "type", "veth", "peer", "name", "gone1");
    IP("address", "add", "10.78.0.1/24", "dev", "gone0");
    IP("link", "set", "gone1", "up");
    IP("link", "set", "gone0", "up");
    struct lane *lane = open_udp(here, "gone0", 0);
    struct lane_address nobody = address_of(lane, lane);
    nobody.bytes[15] = 99;
    IP("link", "del", "gone0");
    assert_int_equal(lane->operations->status(lane), -ENETDOWN);
    add_frame(&outbox, DATA, 1, 0, 100);
    assert_int_equal(lane->operations->send(lane, &nobody, outbox.frames, 1), 0);
    outbox.count = 0;
    close_lane(lane);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
