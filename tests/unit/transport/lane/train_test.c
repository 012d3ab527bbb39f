/* SPDX-License-Identifier: BSD-3-Clause */
/* What recvmsg() does with a train is done here by hand, and in train_fuzz.c at random. */
#include "lane/train.h"

#include "frame/frame.h"
#include "unit/test.h"

#include <string.h>

#define HEAD_BYTES 16
#define MESSAGE 0x01020304
#define TARGET_BYTES 20000

static const struct lane_address peer = {{1, 2, 3}};
static const struct lane_address stranger = {{1, 2, 4}};

struct scene {
    struct lane_expectation expectation;
    struct train train;
    struct train_contents contents;
    struct lane_incoming frames[TRAIN_FRAMES_MAX];
    uint8_t train_bytes[TRAIN_BYTES_MAX + 1]; /* as sent */
    uint32_t bytes;
    uint8_t target[TARGET_BYTES];
    uint8_t room[TRAIN_ROOM_BYTES];
};

static struct scene scene;

/** Expects `bytes` bytes in frames of `payload_bytes` from `offset` on, at the target's offset. */
static void expect(uint64_t offset, uint64_t bytes, uint32_t payload_bytes)
{
    memset(&scene, 0, sizeof scene);
    memset(scene.target, 0xEE, sizeof scene.target);
    scene.expectation = (struct lane_expectation){
        .target = scene.target + offset,
        .frames = (uint32_t)((bytes + payload_bytes - 1) / payload_bytes),
        .head_bytes = HEAD_BYTES,
        .payload_bytes = payload_bytes,
        .bytes = bytes,
        .message = MESSAGE,
        .offset = offset,
        .from = peer,
    };
}

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 7 + offset / 251 + 1);
}

/** Adds a frame to the train that is to come: a segment of what is expected, or (a type that is not
 *  DATA) what looks like one. */
static void add_frame(uint8_t type, uint32_t message, uint32_t segment, uint32_t payload_bytes)
{
    uint8_t *frame = scene.train_bytes + scene.bytes;
    struct frame_data head = frame_encode_data(0xAAAA, 0xAAAAAAAA, message);
    uint64_t offset = (uint64_t)segment * scene.expectation.payload_bytes;

    head.type = type;
    frame_data_set_segment(&head, segment);
    memcpy(frame, &head, sizeof head);
    for (uint32_t i = 0; i < payload_bytes; i++) {
        frame[HEAD_BYTES + i] = byte_at(offset + i);
    }
    scene.bytes += HEAD_BYTES + payload_bytes;
}

static void add_data(uint32_t segment, uint32_t payload_bytes)
{
    add_frame(FRAME_DATA, MESSAGE, segment, payload_bytes);
}

/** The train arrives, as frames of this length. */
static void arrive(uint32_t frame_bytes, unsigned frames_max, const struct lane_address *from)
{
    struct iovec parts[TRAIN_PARTS_MAX];
    uint32_t at = 0;
    unsigned count = train_lay_out(&scene.train, &scene.expectation, frames_max, scene.room, parts);

    assert_true(count <= TRAIN_PARTS_MAX);
    for (unsigned i = 0; i < count && at < scene.bytes; i++) {
        uint32_t left = scene.bytes - at;
        uint32_t bytes = left < parts[i].iov_len ? left : (uint32_t)parts[i].iov_len;
        memcpy(parts[i].iov_base, scene.train_bytes + at, bytes);
        at += bytes;
    }
    assert_int_equal(at, scene.bytes);
    train_sort(&scene.train, scene.bytes, frame_bytes, from, &scene.expectation, scene.frames,
               &scene.contents);
    assert_true(scene.contents.room_bytes <= TRAIN_ROOM_BYTES);
    assert_true(scene.contents.placed <= frames_max);
}

/** What was handed out is what came, byte for byte and in order. */
static void check_all_there(uint32_t frame_bytes, const struct lane_address *from)
{
    struct lane_incoming frame;
    uint32_t at = 0;

    for (unsigned i = 0; i < scene.contents.placed; i++) {
        const struct lane_incoming *placed = &scene.frames[i];
        assert_memory_equal(placed->data, scene.train_bytes + at, HEAD_BYTES);
        assert_memory_equal(placed->payload, scene.train_bytes + at + HEAD_BYTES,
                            placed->bytes - HEAD_BYTES);
        at += placed->bytes;
    }
    for (unsigned run = 0; run < 2; run++) {
        struct train_run left = scene.contents.runs[run];
        while (train_take(&left, from, &frame, 1) > 0) {
            uint32_t length = scene.bytes - at < frame_bytes ? scene.bytes - at : frame_bytes;
            assert_int_equal(frame.bytes, length);
            assert_null(frame.payload);
            assert_memory_equal(frame.data, scene.train_bytes + at, length);
            assert_memory_equal(&frame.from, from, sizeof *from);
            /* In what the lane keeps for them. */
            assert_true(frame.data >= scene.room &&
                        frame.data + length <= scene.room + scene.contents.room_bytes);
            at += length;
        }
    }
    assert_int_equal(at, scene.bytes);
}

static void check(uint32_t frame_bytes, unsigned placed)
{
    assert_int_equal(scene.contents.placed, placed);
    check_all_there(frame_bytes, &peer);
}

TEST(train_can_expect__only_what_makes_sense)
{
    expect(0, 1000, 100);
    assert_true(train_can_expect(&scene.expectation));
    scene.expectation.frames = 0;
    assert_false(train_can_expect(&scene.expectation));
    expect(0, 1000, 100);
    scene.expectation.head_bytes = HEAD_BYTES - 1;
    assert_false(train_can_expect(&scene.expectation));
    scene.expectation.head_bytes = TRAIN_HEAD_BYTES_MAX + 1;
    assert_false(train_can_expect(&scene.expectation));
    expect(0, 1000, 100);
    scene.expectation.payload_bytes = 0;
    assert_false(train_can_expect(&scene.expectation));
    scene.expectation.payload_bytes = TRAIN_BYTES_MAX;
    assert_false(train_can_expect(&scene.expectation));
    expect(0, 1000, 100);
    scene.expectation.bytes = 0;
    assert_false(train_can_expect(&scene.expectation));
    expect(0, 1000, 100);
    scene.expectation.target = NULL;
    assert_false(train_can_expect(&scene.expectation));
}

TEST(train_sort__what_was_expected_is_placed)
{
    expect(0, 1000, 100);
    add_data(0, 100);
    add_data(1, 100);
    add_data(2, 100);
    arrive(116, 64, &peer);
    check(116, 3);
    assert_ptr_equal(scene.frames[2].payload, scene.target + 200);
    assert_int_equal(scene.target[299], byte_at(299));
    assert_int_equal(scene.target[300], 0xEE);
    /* And the next train is expected behind it. */
    assert_int_equal(scene.expectation.offset, 300);
    assert_int_equal(scene.expectation.bytes, 700);
    scene.bytes = 0;
    add_data(3, 100);
    arrive(116, 64, &peer);
    check(116, 1);
    assert_ptr_equal(scene.frames[0].payload, scene.target + 300);
}

TEST(train_sort__a_frame_is_shorter_than_expected)
{
    expect(0, 1000, 100);
    add_data(0, 100);
    add_data(1, 70);
    arrive(116, 64, &peer);
    check(116, 1);
    assert_int_equal(scene.expectation.offset, 170); /* but it has come */
}

TEST(train_sort__all_frames_are_of_another_length)
{
    for (uint32_t payload_bytes = 1; payload_bytes < 300; payload_bytes++) {
        if (payload_bytes == 100) {
            continue;
        }
        expect(0, 1000, 100);
        add_data(0, payload_bytes);
        add_data(1, payload_bytes);
        arrive(HEAD_BYTES + payload_bytes, 64, &peer);
        check(HEAD_BYTES + payload_bytes, 0);
        assert_int_equal(scene.expectation.offset, 100 + payload_bytes);
    }
}

TEST(train_sort__more_than_has_a_place)
{
    /* The place of the last expected frame is shorter than what comes: it ends in the rest. */
    expect(0, 250, 100);
    for (unsigned i = 0; i < 5; i++) {
        add_data(i, 100);
    }
    arrive(116, 64, &peer);
    check(116, 2);
    assert_int_equal(scene.target[250], 0xEE);
    assert_int_equal(scene.expectation.frames, 0); /* all has come, if not as expected */

    expect(0, 1000, 100);
    for (unsigned i = 0; i < 5; i++) {
        add_data(i, 100);
    }
    arrive(116, 2, &peer);
    check(116, 2);
    assert_int_equal(scene.expectation.offset, 500);
}

TEST(train_sort__frames_of_another_type_between)
{
    expect(0, 1000, 100);
    add_data(0, 100);
    add_frame(FRAME_EAGER, MESSAGE, 1, 100);
    add_data(1, 100);
    arrive(116, 64, &peer);
    check(116, 1);
    assert_int_equal(scene.expectation.offset, 200);
}

TEST(train_sort__a_stranger_sends_the_same)
{
    expect(0, 1000, 100);
    add_data(0, 100);
    add_data(1, 100);
    arrive(116, 64, &stranger);
    assert_int_equal(scene.contents.placed, 0);
    check_all_there(116, &stranger);
    assert_int_equal(scene.expectation.offset, 0);
}

TEST(train_sort__after_a_loss_it_goes_on_behind_the_hole)
{
    expect(0, 1000, 100);
    add_data(3, 100);
    add_data(4, 100);
    arrive(116, 64, &peer);
    check(116, 0);
    assert_int_equal(scene.expectation.offset, 500);
    assert_ptr_equal(scene.expectation.target, scene.target + 500);
    /* The hole is filled later: by copying. */
    scene.bytes = 0;
    add_data(0, 100);
    arrive(116, 64, &peer);
    check(116, 0);
    assert_int_equal(scene.expectation.offset, 500);
}

TEST(train_sort__a_segment_far_away)
{
    const uint32_t segments[] = {0, 10, 11, 0x10000, 0x80000000, UINT32_MAX - 1, UINT32_MAX};

    for (unsigned i = 0; i < sizeof segments / sizeof *segments; i++) {
        expect(100, 900, 100);
        add_data(segments[i], 100);
        arrive(116, 64, &peer);
        check(116, 0);
        assert_int_equal(scene.expectation.offset, 100);
        assert_int_equal(scene.expectation.frames, 9);
    }
}

TEST(train_sort__segments_beyond_16_bits)
{
    const uint32_t first = 0x2FFFF;

    expect(0, 300, 100);
    scene.expectation.offset = first * UINT64_C(100);
    for (uint32_t i = 0; i < 3; i++) {
        add_data(first + i, 100);
    }
    arrive(116, 64, &peer);
    check(116, 3);
    assert_ptr_equal(scene.frames[2].payload, scene.target + 200);
}

TEST(train_sort__too_short_to_be_anything)
{
    expect(0, 1000, 100);
    scene.bytes = 5;
    arrive(5, 64, &peer);
    check(5, 0);
    scene.bytes = 0;
    arrive(0, 64, &peer);
    assert_int_equal(scene.contents.placed, 0);
    assert_int_equal(scene.contents.runs[0].bytes + scene.contents.runs[1].bytes, 0);
    scene.bytes = HEAD_BYTES; /* a head of the message without data */
    add_data(0, 0);
    arrive(HEAD_BYTES, 64, &peer);
    assert_int_equal(scene.contents.placed, 0);
}
