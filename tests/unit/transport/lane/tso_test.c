/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two lanes in two network namespaces. The kernel cuts in place of a card, and joins if it is told
 * to; or nobody does either, and a train goes through as it is.
 */
#include "lane/tso/tso.h"

#include "lane/random.h"
#include "tso_pair.h"
#include "tso_raw.h"
#include "tuning.h"

#include <errno.h>

#define FORGED_ROUNDS 5000

/* ---- data ----------------------------------------------------------------------------------- */

PAIR_TEST_OF(open_lanes, tso_lane__a_train_arrives_as_one)
{
    assert_true(pair.a->cuts);
    assert_int_equal(pair.a->frame_bytes, SEGMENT);
    assert_nothing_is_there(pair.b);
    send_part(&pair, MESSAGE, 3, SEGMENT, TRAIN_BYTES);
    assert_int_equal(take_part(&pair, MESSAGE, 3, SEGMENT, TRAIN_BYTES), 1);
    assert_int_equal(pair.a->sent_calls, 1);
    assert_int_equal(pair.a->sent_frames, TRAIN_SEGMENTS);
    assert_int_equal(pair.a->sent_bytes, TRAIN_SEGMENTS * 1500);
    assert_int_equal(pair.b->received_frames, TRAIN_SEGMENTS);
    assert_int_equal(pair.b->received_bytes, TRAIN_SEGMENTS * 1500);
    assert_int_equal(pair.b->placed_frames, 0);
    assert_nothing_is_there(pair.b);
}

PAIR_TEST_OF(open_lanes, tso_lane__the_last_segment_is_shorter)
{
    const uint32_t lengths[] = {SEGMENT + 1, 10 * SEGMENT + 17, TRAIN_BYTES - 1, TRAIN_BYTES + 1};

    for (unsigned i = 0; i < 4; i++) {
        send_part(&pair, MESSAGE, 0, SEGMENT, lengths[i]);
        assert_int_equal(take_part(&pair, MESSAGE, 0, SEGMENT, lengths[i]), 1);
    }
    /* So long that, with all its headers, the kernel does not take it for one. */
    send_part(&pair, MESSAGE, 0, SEGMENT, TSO_SENT_BYTES_MAX);
    (void)take_part(&pair, MESSAGE, 0, SEGMENT, TSO_SENT_BYTES_MAX);
    assert_int_equal(pair.a->sent_frames, 2 + 11 + 44 + 45 + 45);
    assert_int_equal(pair.b->received_frames, pair.a->sent_frames);
}

PAIR_TEST_OF(open_lanes, tso_lane__one_segment)
{
    const uint32_t lengths[] = {1, 5, 6, 7, SEGMENT - 1, SEGMENT};

    for (unsigned i = 0; i < 6; i++) {
        send_part(&pair, MESSAGE, i, SEGMENT, lengths[i]);
        assert_int_equal(take_part(&pair, MESSAGE, i, SEGMENT, lengths[i]), 1);
    }
    assert_int_equal(pair.b->received_frames, 6);
}

TEST(tso_lane__trains_of_jumbo_frames)
{
    set_mtu(9000);
    struct udp_pair pair = open_lanes();
    assert_int_equal(pair.a->frame_bytes, 8960);
    for (unsigned i = 0; i < 20; i++) {
        send_part(&pair, MESSAGE, 7 * i, 8960, 7 * 8960);
    }
    assert_int_equal(take_part(&pair, MESSAGE, 0, 8960, 20 * 7 * 8960), 20);
    close_pair(&pair);
    set_mtu(1500);
}

/** Of long messages, far behind. */
PAIR_TEST_OF(open_lanes, tso_lane__beyond_four_gigabytes)
{
    const uint32_t segments[] = {(uint32_t)(UINT64_C(0x100000000) / SEGMENT) + 1, UINT32_C(1) << 31,
                                 UINT32_MAX - TRAIN_SEGMENTS + 1};

    for (unsigned i = 0; i < 3; i++) {
        send_part(&pair, MESSAGE, segments[i], SEGMENT, TRAIN_BYTES);
        take_train(&pair, MESSAGE, segments[i]);
    }
}

PAIR_TEST_OF(open_lanes, tso_lane__several_trains_in_one_call)
{
    unsigned most = 0;

    for (unsigned i = 0; i < 12; i++) {
        send_part(&pair, MESSAGE, i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
    }
    for (unsigned train = 0; train < 12;) {
        unsigned count = receive_some(pair.b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < count; i++) {
            check_part(&pair, &incoming[i], MESSAGE, train++ * TRAIN_SEGMENTS, SEGMENT);
        }
        pair.b->operations->release(pair.b);
        most = count > most ? count : most;
    }
    assert_true(most > 1);
}

/* ---- expected or not ------------------------------------------------------------------------ */

TEST(tso_lane__the_kernel_cuts)
{
    const uint32_t offloads[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM, ETHTOOL_SSG};

    for (unsigned i = 0; i < 4; i++) {
        set_offload(here, "end0", offloads[i], false);
        assert_int_equal(send_trains(3, 1000), TRAIN_SEGMENTS);
    }
    for (unsigned i = 4; i-- > 0;) {
        set_offload(here, "end0", offloads[i], true);
    }
    assert_int_equal(send_trains(3, 1000), 1);
}

/** It does so only if all headers follow from one another, and the checksums are right. Within one
 *  host it leaves the last frame alone, which still belongs to the socket that sent it. */
TEST(tso_lane__the_kernel_joins)
{
    set_offload(here, "end0", ETHTOOL_STSO, false);
    set_offload(here, "end0", ETHTOOL_STXCSUM, false); /* else nobody would check */
    set_offload(far, "end1", ETHTOOL_SGRO, true);
    unsigned pieces = send_trains(20, 1000);
    set_offload(far, "end1", ETHTOOL_SGRO, false);
    set_offload(here, "end0", ETHTOOL_STXCSUM, true);
    set_offload(here, "end0", ETHTOOL_STSO, true);
    assert_in_range(pieces, 1, 2);
}

/** The high bits of the position are the same in all frames that are cut from one call. */
TEST(tso_lane__a_train_across_four_gigabytes)
{
    uint32_t segment = (uint32_t)(UINT64_C(0x100000000) / SEGMENT) - TRAIN_SEGMENTS / 2;

    (void)send_trains(2, segment);
    set_offload(here, "end0", ETHTOOL_STSO, false);
    unsigned apart = send_trains(2, segment);
    set_offload(far, "end1", ETHTOOL_SGRO, true);
    (void)send_trains(2, segment);
    set_offload(far, "end1", ETHTOOL_SGRO, false);
    set_offload(here, "end0", ETHTOOL_STSO, true);
    assert_int_equal(apart, TRAIN_SEGMENTS);
}

PAIR_TEST_OF(open_lanes, tso_lane__the_kernel_refuses)
{
    set_mtu(1000);
    assert_int_equal(send_to(pair.a, &pair.at_b, NUMBER, MESSAGE, 0, SEGMENT, SEGMENT), 0);
    assert_int_equal(pair.a->refused_trains, 1);
    assert_int_equal(pair.a->refused_frames, 1);
    assert_int_equal(pair.a->sent_frames, 0);
    assert_int_equal(pair.a->operations->status(pair.a), 0);
    set_mtu(1500);
    /* For a while segments go one by one. */
    for (unsigned i = 0; i < 1100; i++) {
        send_part(&pair, MESSAGE, 9, SEGMENT, SEGMENT + 1);
        assert_int_equal(take_part(&pair, MESSAGE, 9, SEGMENT, SEGMENT + 1), i < 999 ? 2 : 1);
    }
    assert_int_equal(pair.a->refused_trains, 1);
}

TEST(tso_lane__what_was_promised_fits)
{
    set_offload(here, "end0", ETHTOOL_STSO, false);
    struct udp_pair pair = open_lanes();
    uint32_t trains = (uint32_t)(pair.b->capacity_bytes / (TRAIN_SEGMENTS * 1500));
    assert_true(trains > 0);
    for (unsigned i = 0; i < trains; i++) {
        send_part(&pair, MESSAGE, i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
    }
    take_part(&pair, MESSAGE, 0, SEGMENT, trains * TRAIN_BYTES);
    assert_int_equal(pair.b->operations->status(pair.b), 0);
    assert_int_equal(pair.b->dropped_frames, 0);
    close_pair(&pair);
    set_offload(here, "end0", ETHTOOL_STSO, true);
}

PAIR_TEST_OF(open_lanes, tso_lane__what_does_not_fit_is_counted)
{
    const unsigned sent = 400;
    unsigned arrived = 0;

    for (unsigned i = 0; i < sent; i++) {
        send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    }
    for (unsigned count = 1; count > 0;) {
        count = pair.b->operations->receive(pair.b, incoming, PAIR_FRAMES);
        pair.b->operations->release(pair.b);
        arrived += count;
    }
    assert_int_equal(pair.b->operations->status(pair.b), 0);
    assert_true(pair.b->dropped_frames > 0);
    assert_int_equal(arrived + pair.b->dropped_frames, sent);
}

/* ---- whom it is for ------------------------------------------------------------------------- */

PAIR_TEST_OF(open_lanes, tso_lane__gets_only_what_is_for_its_endpoint)
{
    struct tso_lane_options options = options_of("end1");

    options.endpoint = 0x0201;
    struct lane *other = open_tso(far, &options);
    assert_int_equal(send_to(pair.a, &pair.at_b, 0x0103, MESSAGE, 0, SEGMENT, TRAIN_BYTES), 1);
    assert_int_equal(send_to(pair.a, &pair.at_b, 0x0201, MESSAGE, 1, SEGMENT, TRAIN_BYTES), 1);
    send_part(&pair, MESSAGE, 2, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 2);
    assert_int_equal(receive_some(other, incoming, 1), 1);
    const struct frame_data *head = (const struct frame_data *)(const void *)incoming[0].data;
    assert_int_equal(frame_data_segment(head), 1);
    assert_int_equal(from_le16(head->destination), 0x0201);
    other->operations->release(other);
    assert_nothing_is_there(other);
    assert_nothing_is_there(pair.b);
    assert_int_equal(pair.b->foreign_frames, 0);
    close_lane(other);
}

PAIR_TEST_OF(open_lanes, tso_lane__gets_only_what_is_for_its_cluster)
{
    struct tso_lane_options options = options_of("end0");

    options.ethertype = ETHERTYPE + 1;
    struct lane *other = open_tso(here, &options);
    assert_int_equal(send_to(other, &pair.at_b, NUMBER, MESSAGE, 0, SEGMENT, TRAIN_BYTES), 1);
    send_part(&pair, MESSAGE, 1, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 1);
    assert_nothing_is_there(pair.b);
    assert_int_equal(pair.b->foreign_frames, 0);
    close_lane(other);
}

PAIR_TEST_OF(open_lanes, tso_lane__gets_only_what_is_for_its_host)
{
    const struct lane_address elsewhere = {{0x02, 0xFE, 1, 2, 3, 4}};
    const struct lane_address everywhere = {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};

    assert_int_equal(send_to(pair.a, &elsewhere, NUMBER, MESSAGE, 0, SEGMENT, TRAIN_BYTES), 1);
    assert_int_equal(send_to(pair.a, &everywhere, NUMBER, MESSAGE, 1, SEGMENT, TRAIN_BYTES), 1);
    send_part(&pair, MESSAGE, 2, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 2);
    assert_nothing_is_there(pair.b);
}

TEST(tso_lane__reaches_who_has_such_a_lane_at_another_mac)
{
    struct tso_lane_options options = options_of("end0");
    struct address_layout layout = {.rails = 3, .ethertype = to_le16(ETHERTYPE), .tso_rails = 4};
    const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, 7};
    struct lane_address to;

    options.rail = 2;
    struct lane *lane = open_tso(here, &options);
    memcpy(layout.rail[2].mac, mac, sizeof mac);
    assert_int_equal(lane->operations->reach(lane, &layout, &to), 0);
    const struct lane_address expected = {{2, 0, 0, 0, 0, 7}};
    assert_memory_equal(&to, &expected, sizeof to);
    layout.tso_rails = 0xFF & ~4;
    assert_int_equal(lane->operations->reach(lane, &layout, &to), -EHOSTUNREACH);
    layout.tso_rails = 4;
    layout.ethertype = to_le16(ETHERTYPE + 1);
    assert_int_equal(lane->operations->reach(lane, &layout, &to), -EHOSTUNREACH);
    layout.ethertype = to_le16(ETHERTYPE);
    layout.rails = 2;
    assert_int_equal(lane->operations->reach(lane, &layout, &to), -EHOSTUNREACH);
    layout.rails = 3;
    lane->operations->publish(lane, &layout); /* a card does not hear itself */
    assert_int_equal(lane->operations->reach(lane, &layout, &to), -EHOSTUNREACH);
    close_lane(lane);
}

TEST(tso_lane__publishes_its_mac_and_that_it_is_there)
{
    struct tso_lane_options options = options_of("end0");
    struct address_layout layout = {.rails = 2, .tso_rails = 1};
    struct ifreq request = {.ifr_name = "end0"};

    options.rail = 1;
    struct lane *lane = open_tso(here, &options);
    lane->operations->publish(lane, &layout);
    assert_int_equal(layout.tso_rails, 3);
    assert_int_equal(ioctl(lane->operations->descriptor(lane), SIOCGIFHWADDR, &request), 0);
    assert_memory_equal(layout.rail[1].mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
    assert_int_equal(lane->kind, LANE_TSO);
    assert_int_equal(lane->rail, 1);
    close_lane(lane);
}

/* ---- opening, and trouble ------------------------------------------------------------------- */

TEST(tso_lane_open__the_places_of_an_interface)
{
    struct lane *lanes[TSO_ENDPOINTS_MAX];
    struct tso_lane_options options = options_of("end0");
    struct lane *lane = NULL;

    for (unsigned i = 0; i < TSO_ENDPOINTS_MAX; i++) {
        options.endpoint = (uint16_t)(1 + i);
        lanes[i] = open_tso(here, &options);
    }
    options.endpoint = 1 + TSO_ENDPOINTS_MAX;
    assert_int_equal(tso_lane_open(&options, &lane), -EUSERS);
    /* Others have their own. */
    struct tso_lane_options elsewhere = options_of("end1");
    close_lane(open_tso(far, &elsewhere));
    close_lane(lanes[3]);
    lanes[3] = open_tso(here, &options);
    options.endpoint++;
    assert_int_equal(tso_lane_open(&options, &lane), -EUSERS);
    for (unsigned i = 0; i < TSO_ENDPOINTS_MAX; i++) {
        close_lane(lanes[i]);
    }
}

TEST(tso_lane_open__not_an_interface_for_it)
{
    assert_int_equal(opened("lo"), -EADDRNOTAVAIL);
    assert_int_equal(opened("nowhere0"), -ENODEV);
    assert_int_equal(opened("a-name-that-is-longer-than-any"), -ENODEV);
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    assert_int_equal(opened("end0"), -ENETDOWN);
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
}

TEST(tso_lane_open__mtu_decides_the_longest_frame)
{
    struct tso_lane_options options = options_of("end0");
    struct lane *lane = NULL;

    set_mtu((int)FRAME_BYTES_MIN + TSO_OVERHEAD_BYTES);
    assert_int_equal(tso_lane_open(&options, &lane), -EADDRNOTAVAIL);
    set_mtu((int)FRAME_BYTES_MIN + TSO_OVERHEAD_BYTES + 1);
    assert_int_equal(tso_lane_open(&options, &lane), 0);
    assert_int_equal(lane->frame_bytes, FRAME_BYTES_MIN + 1);
    close_lane(lane);
    set_mtu(65535);
    assert_int_equal(tso_lane_open(&options, &lane), 0);
    assert_int_equal(lane->frame_bytes, TSO_PAYLOAD_BYTES_MAX);
    close_lane(lane);
    set_mtu(1500);
}

PAIR_TEST_OF(open_lanes, tso_lane__interface_goes_down)
{
    assert_int_equal(pair.a->operations->status(pair.a), 0);
    assert_int_equal(pair.b->operations->status(pair.b), 0);
    set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
    assert_int_equal(send_to(pair.a, &pair.at_b, NUMBER, MESSAGE, 0, SEGMENT, TRAIN_BYTES), 0);
    assert_int_equal(pair.a->operations->status(pair.a), -ENETDOWN);
    assert_int_equal(pair.a->refused_trains, 0);
    set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
    namespace_wait_until_running("end0");
    assert_int_equal(pair.a->operations->status(pair.a), 0); /* and it comes back */
    assert_int_equal(send_to(pair.a, &pair.at_b, NUMBER, MESSAGE, 0, SEGMENT, TRAIN_BYTES), 1);
}

/** Without sending. */
TEST(tso_lane__interface_goes_down_while_it_listens)
{
    for (unsigned receives = 0; receives < 2; receives++) {
        struct udp_pair pair = open_lanes();
        set_interface_there(here, "end0", SIOCSIFFLAGS, 0);
        if (receives == 1) {
            assert_nothing_is_there(pair.a);
        }
        assert_int_equal(pair.a->operations->status(pair.a), -ENETDOWN);
        set_interface_there(here, "end0", SIOCSIFFLAGS, IFF_UP);
        close_pair(&pair);
    }
}

/* ---- on the wire ---------------------------------------------------------------------------- */

PAIR_TEST_OF(open_lanes, tso_lane__frames_are_valid_tcp)
{
    uint8_t frame[2000] = {0};

    set_offload(here, "end0", ETHTOOL_STSO, false);
    set_offload(here, "end0", ETHTOOL_STXCSUM, false);
    int raw = open_raw(far, "end1", ETH_P_IP);
    send_part(&pair, MESSAGE, 3, SEGMENT, 3 * SEGMENT + 17);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t payload_bytes = i < 3 ? SEGMENT : 17;
        assert_int_equal(capture(raw, frame, sizeof frame), WIRE_HEAD_BYTES + payload_bytes);
        check_tcp(frame, (3 + i) * SEGMENT, payload_bytes);
    }
    assert_int_equal(capture(raw, frame, sizeof frame), 0);
    close(raw);
    set_offload(here, "end0", ETHTOOL_STXCSUM, true);
    set_offload(here, "end0", ETHTOOL_STSO, true);
}

/** Cards do so, veth does not. */
PAIR_TEST_OF(open_lanes, tso_lane__a_short_frame_is_padded)
{
    int raw = open_raw(here, "end0", 0);

    send_padded(raw, &pair, 5);
    assert_int_equal(take_part(&pair, MESSAGE, 0, SEGMENT, 5), 1);
    close(raw);
}

/** Whoever shares the wire may send what we never would. */
PAIR_TEST_OF(open_lanes, tso_lane__garbage_is_foreign)
{
    uint8_t frame[1514] = {0};
    struct random random;
    int raw = open_raw(here, "end0", 0);
    struct tso_head right = head_of(&pair, 1);

    random_seed(&random, 3);
    expect(&pair, MESSAGE, 0, 1000);
    for (unsigned round = 1; round <= FORGED_ROUNDS; round++) {
        send_raw(raw, frame, forge(&right, &random, frame, sizeof frame));
        assert_nothing_is_there(pair.b);
        assert_int_equal(pair.b->foreign_frames, round);
    }
    /* The right headers, and another length. */
    memset(frame, 0, sizeof frame);
    memcpy(frame, right.ethernet, WIRE_HEAD_BYTES);
    send_raw(raw, frame, WIRE_HEAD_BYTES);
    send_raw(raw, frame, WIRE_HEAD_BYTES + 7);
    assert_nothing_is_there(pair.b);
    assert_int_equal(pair.b->foreign_frames, FORGED_ROUNDS + 2);
    assert_int_equal(pair.b->received_frames, 0);
    assert_int_equal(pair.b->placed_frames, 0);
    close(raw);
    send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 0);
}

/** Not the host's TCP either, which does so, with a reset, if the address is its own. */
PAIR_TEST_OF(open_lanes, tso_lane__nobody_answers)
{
    uint8_t frame[2000] = {0};
    unsigned answers = 0;
    int raw = open_raw(here, "end0", ETH_P_IP);

    send_to_host(raw, &pair);
    while (capture(raw, frame, sizeof frame) > 0) {
        answers += frame[TSO_ETHERNET_BYTES + 9] == IPPROTO_TCP;
    }
    assert_int_equal(answers, 1);

    /* Nobody asks for an address, either. */
    int raw_arp = open_raw(here, "end0", ETH_P_ARP);
    discard(raw_arp); /* what belongs to the answer */
    send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    send_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
    send_part(&pair, MESSAGE, 0, SEGMENT, 5);
    assert_int_equal(capture(raw, frame, sizeof frame), 0);
    assert_int_equal(capture(raw_arp, frame, sizeof frame), 0);
    close(raw);
    close(raw_arp);
    take_train(&pair, MESSAGE, 0);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
