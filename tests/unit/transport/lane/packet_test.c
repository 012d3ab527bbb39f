/* SPDX-License-Identifier: BSD-3-Clause */
/* On the veth pair of a network namespace of the test's own. */
#include "lane/packet/packet.h"

#include "frame/frame.h"
#include "lane/packet/packet_internal.h"
#include "namespace.h"
#include "packet_pair.h"
#include "tuning.h"
#include "unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(packet_lane__frames_arrive_whole_and_in_order)
{
    frames_arrive_whole_and_in_order(open_packet("end0", 1), open_packet("end1", 2));
}

TEST(packet_lane__says_who_sent)
{
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_packet("end1", 2);
    struct lane_incoming incoming[2];

    assert_int_equal(send_frames(a, b, 2, 1, 1, 0), 1);
    const struct lane_address from = mac_of(a);
    assert_int_equal(wait_for(b, PATIENCE_NS), 1);
    assert_int_equal(b->operations->receive(b, incoming, 2), 1);
    assert_memory_equal(&incoming[0].from, &from, sizeof from);
    b->operations->release(b);
    close_lane(a);
    close_lane(b);
}

TEST(packet_lane__goes_round_its_ring)
{
    goes_round_its_rings(open_packet("end0", 1), open_packet("end1", 2), 160);
}

TEST(packet_lane__counts_what_did_not_fit_its_ring)
{
    counts_what_did_not_fit(open_packet("end0", 1), open_packet("end1", 2));
}

TEST(packet_lane__gets_only_frames_for_its_endpoint)
{
    gets_only_frames_for_its_endpoint(open_packet("end0", 1), open_packet("end1", 0x0102),
                                      open_packet("end1", 0x0201));
}

TEST(packet_lane__gets_only_frames_for_its_host)
{
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_packet("end1", 2);
    const struct lane_address elsewhere = {{0x02, 0xFE, 1, 2, 3, 4}};
    const struct lane_address everywhere = {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};

    assert_int_equal(send_frames_to(a, elsewhere, 2, 1, 1, 0), 1);
    assert_int_equal(send_frames_to(a, everywhere, 2, 1, 2, 0), 1);
    assert_int_equal(send_frames(a, b, 2, 1, 3, 0), 1);
    assert_int_equal(receive_frame(b, PATIENCE_NS, NULL), 3);
    close_lane(a);
    close_lane(b);
}

TEST(packet_lane__wait_ends_when_the_time_is_over)
{
    struct lane *a = open_packet("end0", 1);

    assert_int_equal(wait_for(a, 0), 0);
    assert_int_equal(wait_for(a, 1000000), 0);
    close_lane(a);
}

TEST(packet_lane__reaches_who_is_at_another_mac)
{
    struct lane *a = open_packet("end0", 1);
    struct address_layout layout = {.rails = 1, .ethertype = to_le16(ETHERTYPE)};
    struct lane_address to;

    assert_int_equal(a->operations->reach(a, &layout, &to), -EHOSTUNREACH); /* it has no MAC */
    layout.rail[0].mac[5] = 7;
    assert_int_equal(a->operations->reach(a, &layout, &to), 0);
    assert_memory_equal(to.bytes, layout.rail[0].mac, ETH_ALEN);
    layout.ethertype = to_le16(ETHERTYPE + 1);
    assert_int_equal(a->operations->reach(a, &layout, &to), -EHOSTUNREACH);
    layout.ethertype = to_le16(ETHERTYPE);
    layout.rails = 0;
    assert_int_equal(a->operations->reach(a, &layout, &to), -EHOSTUNREACH);
    layout.rails = 1;
    a->operations->publish(a, &layout); /* a card does not hear itself */
    assert_int_equal(a->operations->reach(a, &layout, &to), -EHOSTUNREACH);
    close_lane(a);
}

TEST(packet_lane_open__no_such_interface)
{
    struct packet_lane_options options = {.interface = "nowhere0", .ethertype = ETHERTYPE};
    struct lane *lane = NULL;

    assert_int_equal(packet_lane_open(&options, &lane), -ENODEV);
    options.interface = "a-name-that-is-longer-than-any";
    assert_int_equal(packet_lane_open(&options, &lane), -ENODEV);
}

TEST(packet_lane_open__interface_is_down)
{
    struct packet_lane_options options = {.interface = "end0", .ethertype = ETHERTYPE};
    struct lane *lane = NULL;

    set_interface("end0", SIOCSIFFLAGS, 0);
    assert_int_equal(packet_lane_open(&options, &lane), -ENETDOWN);
    set_interface("end0", SIOCSIFFLAGS, IFF_UP);
}

/** Whoever has a lane that is a part of his own takes it down in any case: what others have opened
 *  since stays open. */
TEST(packet_set_up__after_a_failure_nothing_is_closed_twice)
{
    struct packet_lane_options options = {.interface = "end0", .ethertype = ETHERTYPE};
    struct packet_lane packet = {.socket = -1, .holder = -1};
    int others[2];

    set_interface("end0", SIOCSIFFLAGS, 0);
    assert_int_equal(packet_set_up(&packet, &options), -ENETDOWN);
    set_interface("end0", SIOCSIFFLAGS, IFF_UP);
    assert_int_equal(pipe(others), 0); /* the lowest numbers that are free: those of before */
    packet_take_down(&packet);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(close(others[i]), 0);
    }
}

TEST(packet_lane_open__mtu_decides_the_longest_frame)
{
    struct packet_lane_options options = {.interface = "end0", .ethertype = ETHERTYPE};
    struct lane *lane = NULL;

    set_interface("end0", SIOCSIFMTU, 9000);
    assert_int_equal(packet_lane_open(&options, &lane), 0);
    assert_int_equal(lane->frame_bytes, 9000);
    close_lane(lane);
    /* No peer would speak to whoever has so little room. */
    set_interface("end0", SIOCSIFMTU, (int)FRAME_BYTES_MIN);
    assert_int_equal(packet_lane_open(&options, &lane), -EINVAL);
    set_interface("end0", SIOCSIFMTU, (int)FRAME_BYTES_MIN + 1);
    assert_int_equal(packet_lane_open(&options, &lane), 0);
    close_lane(lane);
    set_interface("end0", SIOCSIFMTU, 1500);
}

TEST(packet_lane__jumbo_frames_go_round_the_ring)
{
    set_interface("end0", SIOCSIFMTU, 9000);
    set_interface("end1", SIOCSIFMTU, 9000);
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_packet("end1", 2);
    assert_true(b->capacity_bytes >= LANE_RING_FRAMES * UINT64_C(9000));
    goes_round_its_rings(a, b, 9000);
    set_interface("end0", SIOCSIFMTU, 1500);
    set_interface("end1", SIOCSIFMTU, 1500);
}

TEST(packet_lane__over_loopback_frames_are_as_long_as_their_length_field)
{
    struct lane *a = open_packet("lo", 1);
    struct lane *b = open_packet("lo", 2);
    uint32_t bytes = 0;

    assert_int_equal(a->frame_bytes, UINT16_MAX);
    assert_int_equal(send_frames(a, b, 2, 1, 5, UINT16_MAX - HEAD_BYTES), 1);
    assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), 5);
    assert_int_equal(bytes, UINT16_MAX);
    close_lane(a);
    close_lane(b);
}

/** And back. What still fits goes; what does not is refused, and the lane says from which length.
 */
TEST(packet_lane__mtu_is_lowered)
{
    set_interface("end0", SIOCSIFMTU, 9000);
    set_interface("end1", SIOCSIFMTU, 9000);
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_packet("end1", 2);
    assert_int_equal(send_frames(a, b, 2, 1, 0, 8000), 1);
    assert_int_equal(a->narrowed_bytes, 0);
    set_interface("end0", SIOCSIFMTU, 1500);
    assert_int_equal(send_frames(a, b, 2, 1, 1, 8000), 0);
    assert_int_equal(a->narrowed_bytes, 1500);
    assert_int_equal(send_frames(a, b, 2, 2, 2, 1000), 2);
    assert_int_equal(a->operations->status(a), 0);
    assert_int_equal(a->narrowed_bytes, 1500);
    set_interface("end0", SIOCSIFMTU, 9000);
    assert_int_equal(a->operations->status(a), 0);
    assert_int_equal(a->narrowed_bytes, 0);
    assert_int_equal(send_frames(a, b, 2, 1, 4, 8000), 1);
    close_lane(a);
    close_lane(b);
    set_interface("end0", SIOCSIFMTU, 1500);
    set_interface("end1", SIOCSIFMTU, 1500);
}

TEST(packet_lane__interface_goes_down)
{
    struct lane *a = open_packet("end0", 1);
    struct lane *b = open_packet("end1", 2);

    assert_int_equal(a->operations->status(a), 0);
    set_interface("end0", SIOCSIFFLAGS, 0);
    assert_int_equal(send_frames(a, b, 2, 1, 1, 0), 0);
    assert_int_equal(a->operations->status(a), -ENETDOWN);
    set_interface("end0", SIOCSIFFLAGS, IFF_UP);
    namespace_wait_until_running("end0");
    namespace_wait_until_running("end1");
    assert_int_equal(a->operations->status(a), 0); /* and it comes back */
    assert_int_equal(send_frames(a, b, 2, 1, 7, 0), 1);
    uint32_t bytes = 0;
    assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), 7);
    assert_int_equal(send_frames(b, a, 1, 1, 8, 0), 1);
    assert_int_equal(receive_frame(a, PATIENCE_NS, &bytes), 8);
    close_lane(a);
    close_lane(b);
}

/** Whoever shares the wire may send what we never would. */
TEST(packet_lane__a_frame_longer_than_ours)
{
    struct lane *b = open_packet("end1", 2);
    uint8_t raw[ETH_HLEN + 3000] = {0};
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("end0"), .sll_halen = ETH_ALEN};
    uint32_t bytes = 0;
    unsigned cut_short = 0;

    set_interface("end0", SIOCSIFMTU, 4000);
    set_interface("end1", SIOCSIFMTU, 4000);
    int sender = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    assert_true(sender >= 0);
    memcpy(raw, mac_of(b).bytes, ETH_ALEN);
    raw[12] = ETHERTYPE >> 8;
    raw[13] = ETHERTYPE & 0xFF;
    raw[ETH_HLEN + 4] = 2;
    raw[ETH_HLEN + 28] = 99;
    for (unsigned length = 1400; length < 3000; length += 4) {
        (void)!sendto(sender, raw, ETH_HLEN + length, 0, (struct sockaddr *)&to, sizeof to);
        struct lane_incoming incoming;
        while (b->operations->receive(b, &incoming, 1) > 0) {
            /* Cut short is as good as not there. */
            assert_true(incoming.bytes == 0 || incoming.bytes == length);
            cut_short += incoming.bytes == 0;
            b->operations->release(b);
        }
    }
    close(sender);
    assert_true(cut_short > 0);
    assert_int_equal(b->foreign_frames, cut_short);
    set_interface("end0", SIOCSIFMTU, 1500);
    set_interface("end1", SIOCSIFMTU, 1500);
    struct lane *a = open_packet("end0", 1);
    assert_int_equal(send_frames(a, b, 2, 1, 7, 0), 1);
    assert_int_equal(receive_frame(b, PATIENCE_NS, &bytes), 7);
    close_lane(a);
    close_lane(b);
}
