/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes finds its place, or is kept apart; over a real link. */
#include "refused.h"
#include "tso_checksum.h"
#include "tso_pair.h"
#include "tso_raw.h"
#include "tuning.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

PAIR_TEST_OF(open_lanes, tso_receive__expected_data_is_placed)
{
    const uint32_t bytes = 3 * TRAIN_BYTES + 2 * SEGMENT + 17;

    expect(&pair, MESSAGE, 5, bytes);
    for (unsigned i = 0; i < 3; i++) {
        send_part(&pair, MESSAGE, 5 + i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
        assert_ptr_equal(take_train(&pair, MESSAGE, 5 + i * TRAIN_SEGMENTS),
                         target + (size_t)i * TRAIN_BYTES);
    }
    send_part(&pair, MESSAGE, 5 + 3 * TRAIN_SEGMENTS, SEGMENT, 2 * SEGMENT + 17);
    take_part(&pair, MESSAGE, 5 + 3 * TRAIN_SEGMENTS, SEGMENT, 2 * SEGMENT + 17);
    assert_quiet(pair.b);
    assert_ptr_equal(incoming[0].payload, target + (size_t)3 * TRAIN_BYTES);
    assert_int_equal(pair.b->placed_frames, 3 * TRAIN_SEGMENTS + 3);
    for (uint32_t i = 0; i < bytes; i++) {
        assert_int_equal(target[i], content_at(5 * SEGMENT + i));
    }
    assert_int_equal(target[bytes], 0);
    /* All has come: what follows is nobody's. */
    send_part(&pair, MESSAGE, 200, SEGMENT, TRAIN_BYTES);
    assert_ptr_not_equal(take_train(&pair, MESSAGE, 200), target + bytes);
    assert_int_equal(target[bytes], 0);
}

/** What is expected after that is said between two calls, so none may go too far. */
PAIR_TEST_OF(open_lanes, tso_receive__stops_when_all_that_was_expected_has_come)
{
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 4; i++) {
            send_part(&pair, MESSAGE, i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
        }
        expect(&pair, MESSAGE, 0, 2 * TRAIN_BYTES);
        take_part(&pair, MESSAGE, 0, SEGMENT, 2 * TRAIN_BYTES);
        expect(&pair, MESSAGE, 2 * TRAIN_SEGMENTS, 2 * TRAIN_BYTES);
        take_part(&pair, MESSAGE, 2 * TRAIN_SEGMENTS, SEGMENT, 2 * TRAIN_BYTES);
        assert_int_equal(pair.b->placed_frames, (round + 1) * 4 * TRAIN_SEGMENTS);
    }
}

/** Whatever of the expectation is not as it comes, or if it is less than comes at once: the data is
 *  right, and not at the target. */
TEST(tso_receive__expected_otherwise)
{
    const uint64_t lengths[] = {1, 1000, TRAIN_BYTES - 1, TRAIN_BYTES, sizeof target};

    for (unsigned i = 0; i < 5; i++) {
        for (unsigned wrong = 0; wrong < 6; wrong++) {
            struct udp_pair pair = open_lanes();
            struct lane_expectation expectation = {
                .target = target,
                .frames = 1,
                .head_bytes = HEAD_BYTES,
                .payload_bytes = wrong == 0 ? SEGMENT - 1 : SEGMENT,
                .bytes = lengths[i],
                .key = wrong == 4 ? KEY + 1 : KEY, /* another process there */
                .message = wrong == 1 ? MESSAGE + 1 : MESSAGE,
                .offset = wrong == 2 ? SEGMENT : 0,
                .from = wrong == 3 ? pair.at_b : pair.at_a,
            };
            pair.b->operations->expect(pair.b, &expectation);
            send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
            bool right = wrong == 5 && lengths[i] >= TRAIN_BYTES;
            assert_int_equal(is_at_target(take_train(&pair, MESSAGE, 0)), right);
            assert_int_equal(pair.b->placed_frames, right ? TRAIN_SEGMENTS : 0);
            close_pair(&pair);
        }
    }
}

/** From then on headers are read before the payload is copied: what is not expected leaves the
 *  target alone, and the next is placed. */
PAIR_TEST_OF(open_lanes, tso_receive__after_a_wrong_expectation)
{
    for (unsigned i = 0; i < 4; i++) {
        expect(&pair, MESSAGE, i, TRAIN_BYTES);
        send_part(&pair, MESSAGE + 1, i, SEGMENT, TRAIN_BYTES);
        assert_false(is_at_target(take_train(&pair, MESSAGE + 1, i)));
        assert_true(i == 0 || target[0] == 0);
        expect(&pair, MESSAGE, i, TRAIN_BYTES);
        send_part(&pair, MESSAGE, i, SEGMENT, TRAIN_BYTES);
        assert_ptr_equal(take_train(&pair, MESSAGE, i), target);
    }
}

/** A segment that came alone is in the ring, and keeps its turn. Once there was one, the place of a
 *  train that follows it is known. */
PAIR_TEST_OF(open_lanes, tso_receive__a_segment_and_then_a_train)
{
    for (unsigned round = 0; round < 2; round++) {
        expect(&pair, MESSAGE, 0, SEGMENT + TRAIN_BYTES);
        send_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
        send_part(&pair, MESSAGE, 1, SEGMENT, TRAIN_BYTES);
        assert_int_equal(receive_some(pair.b, incoming, PAIR_FRAMES), 2);
        assert_int_equal(check_part(&pair, &incoming[0], MESSAGE, 0, SEGMENT), SEGMENT);
        assert_int_equal(check_part(&pair, &incoming[1], MESSAGE, 1, SEGMENT), TRAIN_BYTES);
        assert_int_equal(incoming[1].payload == target + SEGMENT, round);
        pair.b->operations->release(pair.b);
    }
    assert_int_equal(pair.b->placed_frames, TRAIN_SEGMENTS);
}

/** The same, while it is not known that segments come alone. */
PAIR_TEST_OF(open_lanes, tso_receive__what_is_expected_ends_before_a_train)
{
    expect(&pair, MESSAGE, 0, SEGMENT);
    send_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
    send_part(&pair, MESSAGE, 1, SEGMENT, TRAIN_BYTES);
    take_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT + TRAIN_BYTES);
    assert_nothing_is_there(pair.b);
}

/** Slots have no room for a frame of this length, so each is taken from the socket's queue. */
TEST(tso_receive__jumbo_frames_are_placed)
{
    const uint32_t segment_bytes = 8960;

    set_mtu(9000);
    struct udp_pair pair = open_lanes();
    struct lane_expectation expectation = {
        .target = target,
        .frames = 7,
        .head_bytes = HEAD_BYTES,
        .payload_bytes = segment_bytes,
        .bytes = 7 * (uint64_t)segment_bytes,
        .key = KEY,
        .message = MESSAGE,
        .from = pair.at_a,
    };
    pair.b->operations->expect(pair.b, &expectation);
    for (unsigned i = 0; i < 7; i++) {
        send_part(&pair, MESSAGE, i, segment_bytes, segment_bytes);
        take_part(&pair, MESSAGE, i, segment_bytes, segment_bytes);
        assert_ptr_equal(incoming[0].payload, target + (size_t)i * segment_bytes);
    }
    assert_int_equal(pair.b->placed_frames, 7);
    close_pair(&pair);
    set_mtu(1500);
}

/** Takes whatever has come, and then one more train, to see that ring and queue agree. */
static void take_all_and_a_train(struct udp_pair *pair)
{
    unsigned count;

    do {
        count = pair->b->operations->receive(pair->b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < count; i++) {
            const struct frame_data *head =
                (const struct frame_data *)(const void *)incoming[i].data;
            (void)check_part(pair, &incoming[i], MESSAGE, frame_data_segment(head), SEGMENT);
        }
        if (count > 0) {
            pair->b->operations->release(pair->b);
        }
    } while (count > 0);
    assert_nothing_is_there(pair->b);
    expect(pair, MESSAGE, 0, TRAIN_BYTES);
    send_part(pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    assert_ptr_equal(take_train(pair, MESSAGE, 0), target);
}

/** More packets than slots, or more bytes than the queue holds: some are lost, and counted, and
 *  those that are not are right. */
PAIR_TEST_OF(open_lanes, tso_receive__more_than_there_is_room_for)
{
    const uint32_t bytes[] = {SEGMENT, TRAIN_BYTES};

    for (unsigned i = 0; i < 2; i++) {
        const uint64_t dropped = pair.b->dropped_frames;
        const uint64_t came = pair.b->received_frames;
        const uint32_t segments = lane_segments(bytes[i], SEGMENT);
        for (unsigned sent = 0; sent < 2 * LANE_TSO_RING_PACKETS; sent++) {
            send_part(&pair, MESSAGE, sent * segments, SEGMENT, bytes[i]);
        }
        take_all_and_a_train(&pair);
        (void)pair.b->operations->status(pair.b);
        uint64_t packets = (pair.b->received_frames - came - TRAIN_SEGMENTS) / segments;
        assert_true(packets > 100);
        assert_true(pair.b->dropped_frames > dropped);
        assert_int_equal(packets + pair.b->dropped_frames - dropped, 2 * LANE_TSO_RING_PACKETS);
    }
}

/** Many frames in one packet, in front of a train that has been received early: none is lost. */
PAIR_TEST_OF(open_lanes, tso_receive__a_train_behind_many_frames)
{
    struct {
        struct tso_head head;
        uint8_t payload[1200];
    } frame = {0};
    struct tso_segments many = {.ethertype = ETHERTYPE,
                                .destination = NUMBER,
                                .kind = TSO_FRAMES,
                                .key = KEY,
                                .segment_bytes = 30,
                                .bytes = sizeof frame.payload};
    unsigned frames = 0;
    unsigned trains = 0;
    int raw = open_raw(here, "end0", 0);

    memcpy(many.to, pair.at_b.bytes, ETH_ALEN);
    memcpy(many.from, pair.at_a.bytes, ETH_ALEN);
    tso_head_write(&frame.head, &many);
    send_raw(raw, frame.head.ethernet, sizeof frame - offsetof(struct tso_head, ethernet));
    for (unsigned i = 0; i < 6; i++) {
        send_part(&pair, MESSAGE, i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
    }
    close(raw);
    while (frames < 40 || trains < 6) {
        unsigned count = receive_some(pair.b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < count; i++) {
            trains += incoming[i].segment_bytes == SEGMENT;
            frames += incoming[i].segment_bytes != SEGMENT;
        }
        pair.b->operations->release(pair.b);
    }
    assert_nothing_is_there(pair.b);
    assert_int_equal(frames, 40);
    assert_int_equal(trains, 6);
    assert_int_equal(pair.b->dropped_frames, 0);
}

/** As before Linux 4.6. */
static bool comes_without_a_ring(void)
{
    struct udp_pair pair = open_lanes();

    for (unsigned round = 0; round < 3; round++) {
        expect(&pair, MESSAGE, 1, TRAIN_BYTES);
        send_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
        take_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
        expect(&pair, MESSAGE, 1, TRAIN_BYTES);
        send_part(&pair, MESSAGE, 1, SEGMENT, TRAIN_BYTES);
        take_train(&pair, MESSAGE, 1);
        assert_nothing_is_there(pair.b);
    }
    bool named = pair.b->lack_count == 1 && strcmp(pair.b->lacks[0].what, "PACKET_RX_RING") == 0;
    close_pair(&pair);
    return named;
}

TEST(tso_receive__without_a_ring)
{
    const struct refused ring = {SYS_setsockopt, EINVAL, 3, PACKET_RX_RING};

    assert_true_without(&ring, 1, comes_without_a_ring);
}

/** What is not ours and longer than a slot does not stay in the queue, nor confuse it. */
PAIR_TEST_OF(open_lanes, tso_receive__long_garbage_is_foreign)
{
    struct tso_head right = head_of(&pair, 1);
    static uint8_t frame[8000];
    int raw = open_raw(here, "end0", 0);

    set_mtu(9000);
    memcpy(frame, right.ethernet, WIRE_HEAD_BYTES);
    memset(frame + TSO_ETHERNET_BYTES + TSO_IP_BYTES + 4, 0xFF, TSO_TCP_BYTES - 4);
    for (unsigned round = 1; round <= 2000; round++) {
        if (round % 500 == 0) { /* from then on slots are looked at first */
            send_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
            take_part(&pair, MESSAGE, 0, SEGMENT, SEGMENT);
        }
        send_raw(raw, frame, sizeof frame);
        assert_nothing_is_there(pair.b);
        assert_int_equal(pair.b->foreign_frames, round);
    }
    set_mtu(1500);
    close(raw);
    take_all_and_a_train(&pair);
    assert_int_equal(pair.b->dropped_frames, 0);
}

/** Its place may be handed out in another frame, so nothing is put there until more is said. */
PAIR_TEST_OF(open_lanes, tso_receive__expects_nothing_after_something_else)
{
    expect(&pair, MESSAGE, 0, sizeof target);
    send_part(&pair, MESSAGE, SEGMENT, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, SEGMENT);
    for (unsigned i = 0; i < 12; i++) {
        send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
        assert_false(is_at_target(take_train(&pair, MESSAGE, 0)));
    }
    assert_int_equal(pair.b->placed_frames, 0);
}

PAIR_TEST_OF(open_lanes, tso_receive__expect_nothing_any_more)
{
    const struct lane_expectation nothing = {0};

    expect(&pair, MESSAGE, 0, sizeof target);
    pair.b->operations->expect(pair.b, &nothing);
    send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 0);
    assert_int_equal(pair.b->placed_frames, 0);
    assert_int_equal(target[0], 0);
}

/* ---- damaged frames ------------------------------------------------------------------------- */

/** Sends a segment as it is on a wire, its checksum made, and perhaps a bit of it flipped since. */
static void send_on_wire(const struct udp_pair *pair, uint32_t segment, bool damaged)
{
    struct {
        struct tso_head head;
        uint8_t payload[SEGMENT];
    } frame;
    struct tso_segments one = {
        .ethertype = ETHERTYPE,
        .destination = NUMBER,
        .key = KEY,
        .message = MESSAGE,
        .offset = (uint64_t)segment * SEGMENT,
        .segment_bytes = SEGMENT,
        .bytes = SEGMENT,
    };
    const struct sockaddr_ll end0 = {
        .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("end0"), .sll_halen = ETH_ALEN};
    size_t bytes = sizeof frame - offsetof(struct tso_head, ethernet);
    int wire = socket(AF_PACKET, SOCK_RAW, 0);

    memcpy(one.to, pair->at_b.bytes, sizeof one.to);
    memcpy(one.from, pair->at_a.bytes, sizeof one.from);
    tso_head_write(&frame.head, &one);
    for (uint32_t i = 0; i < SEGMENT; i++) {
        frame.payload[i] = content_at(one.offset + i);
    }
    tso_complete_checksum(&frame.head, frame.payload, SEGMENT);
    frame.payload[segment % SEGMENT] ^= damaged ? 0x10 : 0;
    assert_int_equal(
        sendto(wire, frame.head.ethernet, bytes, 0, (const struct sockaddr *)&end0, sizeof end0),
        bytes);
    close(wire);
}

/** It is handed out as such, and what is expected stays so: the train is placed. */
PAIR_TEST_OF(open_lanes, tso_receive__a_damaged_segment)
{
    pair.b->verify = true;
    expect(&pair, MESSAGE, 0, 3 * SEGMENT);
    send_on_wire(&pair, 0, true);
    assert_int_equal(receive_some(pair.b, incoming, 1), 1);
    assert_true(incoming[0].damaged);
    assert_memory_equal(&incoming[0].from, &pair.at_a, sizeof pair.at_a);
    pair.b->operations->release(pair.b);
    send_on_wire(&pair, 0, false);
    assert_int_equal(receive_some(pair.b, incoming, 1), 1);
    assert_false(incoming[0].damaged);
    assert_int_equal(check_part(&pair, &incoming[0], MESSAGE, 0, SEGMENT), SEGMENT);
    pair.b->operations->release(pair.b);
    send_part(&pair, MESSAGE, 1, SEGMENT, 2 * SEGMENT);
    take_part(&pair, MESSAGE, 1, SEGMENT, 2 * SEGMENT);
    assert_ptr_equal(incoming[0].payload, target + SEGMENT);
}

PAIR_TEST_OF(open_lanes, tso_receive__nobody_wants_to_know_whether_it_is_damaged)
{
    send_on_wire(&pair, 0, true);
    assert_int_equal(receive_some(pair.b, incoming, 1), 1);
    assert_false(incoming[0].damaged);
    assert_int_equal(incoming[0].bytes, sizeof(struct frame_data) + SEGMENT);
    pair.b->operations->release(pair.b);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
