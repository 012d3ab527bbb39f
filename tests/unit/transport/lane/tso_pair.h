/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_pair.h - two lanes whose data network cards cut, in two network namespaces as if in two
 * hosts, and data for them. The namespaces and what else lanes have in common are those of
 * udp_pair.h.
 */
#ifndef BEOWIRE_TEST_TSO_PAIR_H
#define BEOWIRE_TEST_TSO_PAIR_H

#include "lane/tso/tso.h"
#include "lane/tso/tso_head.h"
#include "lanes.h"
#include "udp_pair.h"

#define ETHERTYPE 0x88B5
#define NUMBER 0x0102
/** As an IP address it is that of end0, so that an answer would find its way. */
#define KEY 0x0A4D0001
#define MESSAGE 77
#define SEGMENT 1460u /* MTU 1500 */
#define TRAIN_SEGMENTS 44u
#define TRAIN_BYTES (TRAIN_SEGMENTS * SEGMENT)

/** Bytes that end0 sends. */
static uint8_t source[TSO_PAYLOAD_BYTES_MAX];
static uint8_t target[16 * TRAIN_BYTES];

static inline struct tso_lane_options options_of(const char *interface)
{
    return (struct tso_lane_options){
        .interface = interface, .ethertype = ETHERTYPE, .endpoint = NUMBER};
}

static inline struct lane *open_tso(int namespace, const struct tso_lane_options *options)
{
    struct lane *lane = NULL;

    namespace_go(namespace);
    assert_int_equal(tso_lane_open(options, &lane), 0);
    namespace_go(here);
    return lane;
}

/** What tso_lane_open() says where it is to refuse. */
static inline int opened(const char *interface)
{
    struct tso_lane_options options = options_of(interface);
    struct lane *lane = NULL;

    return tso_lane_open(&options, &lane);
}

/** A lane of endpoint 1 on end0, and one of endpoint NUMBER on end1. */
static inline struct udp_pair open_lanes(void)
{
    struct tso_lane_options at_end0 = options_of("end0");
    struct tso_lane_options at_end1 = options_of("end1");

    at_end0.endpoint = 1;
    struct udp_pair pair = {.a = open_tso(here, &at_end0), .b = open_tso(far, &at_end1)};
    pair.at_a = mac_of(pair.a);
    pair.at_b = mac_of(pair.b);
    return pair;
}

/** What a message has at an offset. */
static inline uint8_t content_at(uint64_t offset)
{
    return byte_at(offset % 1000003);
}

/** Sends part of a message in segments, to endpoint `number` at an address.
 *  @return as send(). */
static inline unsigned send_to(struct lane *lane, const struct lane_address *to, uint16_t number,
                               uint32_t message, uint32_t segment, uint32_t segment_bytes,
                               uint32_t bytes)
{
    struct {
        _Alignas(8) uint8_t room[LANE_HEADROOM];
        struct frame_data head;
    } first = {.head = frame_encode_data(number, KEY, message)};
    const struct lane_outgoing outgoing = {.head = (uint8_t *)&first.head,
                                           .head_bytes = sizeof first.head,
                                           .payload = source,
                                           .payload_bytes = bytes,
                                           .segment_bytes = segment_bytes};

    assert_true(bytes <= sizeof source);
    frame_data_set_segment(&first.head, segment);
    for (uint32_t i = 0; i < bytes; i++) {
        source[i] = content_at((uint64_t)segment * segment_bytes + i);
    }
    return lane->operations->send(lane, to, &outgoing, 1);
}

static inline void send_part(struct udp_pair *pair, uint32_t message, uint32_t segment,
                             uint32_t segment_bytes, uint32_t bytes)
{
    assert_int_equal(send_to(pair->a, &pair->at_b, NUMBER, message, segment, segment_bytes, bytes),
                     1);
}

/** Is it part of the message, from this segment on? @return bytes of it. */
static inline uint32_t check_part(const struct udp_pair *pair, const struct lane_incoming *part,
                                  uint32_t message, uint32_t segment, uint32_t segment_bytes)
{
    struct frame frame;

    assert_int_equal(frame_decode(part->data, part->bytes, &frame), FRAME_OK);
    assert_int_equal(frame.type, FRAME_DATA);
    assert_int_equal(frame.destination, NUMBER);
    assert_int_equal(frame.key, KEY);
    assert_int_equal(from_le32(frame.data->message), message);
    assert_int_equal(frame_data_segment(frame.data), segment);
    assert_int_equal(part->segment_bytes, segment_bytes);
    assert_memory_equal(&part->from, &pair->at_a, sizeof part->from);
    assert_non_null(part->payload);
    for (uint32_t i = 0; i < frame.payload_bytes; i++) {
        assert_int_equal(part->payload[i], content_at((uint64_t)segment * segment_bytes + i));
    }
    return frame.payload_bytes;
}

/** Takes part of a message, in whatever order and number of pieces it comes. @return in how many.
 */
static inline unsigned take_part(struct udp_pair *pair, uint32_t message, uint32_t segment,
                                 uint32_t segment_bytes, uint32_t bytes)
{
    static bool came[4096];
    uint32_t segments = lane_segments(bytes, segment_bytes);
    unsigned pieces = 0;

    assert_true(segments <= sizeof came);
    memset(came, false, sizeof came);
    for (uint32_t found = 0; found < bytes;) {
        unsigned count = receive_some(pair->b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < count; i++) {
            const struct frame_data *head =
                (const struct frame_data *)(const void *)incoming[i].data;
            uint32_t first = frame_data_segment(head);
            uint32_t length = check_part(pair, &incoming[i], message, first, segment_bytes);
            for (uint32_t j = 0; j < lane_segments(length, segment_bytes); j++) {
                assert_in_range(first - segment + j, 0, segments - 1);
                assert_false(came[first - segment + j]);
                came[first - segment + j] = true;
            }
            found += length;
        }
        assert_true(found <= bytes);
        pair->b->operations->release(pair->b);
        pieces += count;
    }
    return pieces;
}

/** Takes a whole train. @return where it is; valid until something else comes. */
static inline const uint8_t *take_train(struct udp_pair *pair, uint32_t message, uint32_t segment)
{
    assert_int_equal(receive_some(pair->b, incoming, 1), 1);
    assert_int_equal(check_part(pair, &incoming[0], message, segment, SEGMENT), TRAIN_BYTES);
    pair->b->operations->release(pair->b);
    return incoming[0].payload;
}

static inline bool is_at_target(const uint8_t *at)
{
    return at >= target && at < target + sizeof target;
}

static inline void expect(struct udp_pair *pair, uint32_t message, uint32_t segment, uint64_t bytes)
{
    struct lane_expectation expectation = {
        .target = target,
        .frames = (uint32_t)((bytes + SEGMENT - 1) / SEGMENT),
        .head_bytes = HEAD_BYTES,
        .payload_bytes = SEGMENT,
        .bytes = bytes,
        .key = KEY,
        .message = message,
        .offset = (uint64_t)segment * SEGMENT,
        .from = pair->at_a,
    };

    memset(target, 0, sizeof target);
    pair->b->operations->expect(pair->b, &expectation);
}

/** A thread that sleeps until something comes is not woken. */
static inline void assert_quiet(const struct lane *lane)
{
    struct pollfd readable = {.fd = lane->operations->descriptor(lane), .events = POLLIN};

    assert_int_equal(poll(&readable, 1, 0), 0);
}

/** After 0 frames the core does not call release(). */
static inline void assert_nothing_is_there(struct lane *lane)
{
    assert_int_equal(lane->operations->receive(lane, incoming, PAIR_FRAMES), 0);
    assert_quiet(lane);
}

/** Sends a train several times. @return in how many pieces it came the last time. */
static inline unsigned send_trains(unsigned count, uint32_t segment)
{
    struct udp_pair pair = open_lanes();
    unsigned pieces = 0;

    for (unsigned i = 0; i < count; i++) {
        send_part(&pair, MESSAGE, segment, SEGMENT, TRAIN_BYTES - 17);
        pieces = take_part(&pair, MESSAGE, segment, SEGMENT, TRAIN_BYTES - 17);
    }
    assert_int_equal(pair.b->received_frames, count * TRAIN_SEGMENTS);
    assert_int_equal(pair.b->foreign_frames, 0);
    close_pair(&pair);
    return pieces;
}

#endif
