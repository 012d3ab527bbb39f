/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/tso/tso_run.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 52
#define EAGER_BYTES 46
#define FRAGMENT_BYTES 40

/** Of what a FRAGMENT carries, as of an EAGER with its head. */
#define SEGMENT 500

#define NAME 0xBEEF

/** Frames to be sent, as the flow has them: heads that may have data behind them, and data that
 * lies elsewhere. */
struct fixture {
    struct lane_outgoing frames[FRAMES];
    unsigned count;
    uint8_t heads[FRAMES][EAGER_BYTES + SEGMENT];
    uint8_t message[FRAMES * SEGMENT];
    struct tso_run run;
    uint8_t wire[TSO_PAYLOAD_BYTES_MAX]; /* what was sent */
    struct tso_run_head run_heads[64];
    struct lane_incoming incoming[64];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    for (size_t i = 0; i < sizeof fixture->message; i++) {
        fixture->message[i] = (uint8_t)(i * 7 + (i >> 8));
    }
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

/** Adds a frame whose head has been filled in. @param copied its data lies behind the head */
static void push(struct fixture *fixture, enum frame_type type, uint32_t at, uint32_t bytes,
                 bool copied)
{
    unsigned i = fixture->count++;
    uint8_t *head = fixture->heads[i];
    uint32_t head_bytes = (uint32_t)frame_head_bytes(type);

    frame_encode(head, &(struct frame_fields){.type = type,
                                              .destination = 0x1234,
                                              .source = 0x4321,
                                              .key = 0xC0FFEE,
                                              .sequence = UINT32_MAX - 1 + i,
                                              .payload_bytes = (uint16_t)bytes});
    if (copied) {
        memcpy(head + head_bytes, fixture->message + at, bytes);
        head_bytes += bytes;
    }
    fixture->frames[i] = (struct lane_outgoing){
        .head = head,
        .head_bytes = head_bytes,
        .payload = copied ? NULL : fixture->message + at,
        .payload_bytes = copied ? 0 : bytes,
    };
}

static void *header_of(struct fixture *fixture, unsigned i)
{
    return fixture->heads[i] + sizeof(struct frame_header);
}

static void push_eager(struct fixture *fixture, uint32_t message_bytes, uint32_t bytes, bool copied)
{
    push(fixture, FRAME_EAGER, 0, bytes, copied);
    *(struct frame_eager *)header_of(fixture, fixture->count - 1) = (struct frame_eager){
        .tag = to_le64(99),
        .message_bytes = to_le32(message_bytes),
        .message = to_le16(NAME),
    };
}

static void push_fragment(struct fixture *fixture, uint32_t offset, uint32_t bytes, bool copied)
{
    push(fixture, FRAME_FRAGMENT, offset, bytes, copied);
    *(struct frame_fragment *)header_of(fixture, fixture->count - 1) = (struct frame_fragment){
        .message = to_le16(NAME),
        .offset = to_le64(offset),
    };
}

/** All frames of a message, the first such that it is as long as what the others carry. */
static void push_message(struct fixture *fixture, uint32_t bytes, bool copied)
{
    uint32_t first = SEGMENT - EAGER_BYTES;

    push_eager(fixture, bytes, bytes < first ? bytes : first, copied);
    for (uint32_t at = first; at < bytes; at += SEGMENT) {
        push_fragment(fixture, at, bytes - at < SEGMENT ? bytes - at : SEGMENT, copied);
    }
}

static void load(struct fixture *fixture, unsigned from)
{
    tso_run_load(&fixture->run, &fixture->frames[from], fixture->count - from, TSO_RUN_FRAMES_MAX);
}

/** Sends the run, and splits what has come of it: all, or from a segment on. @return frames. */
static unsigned split(struct fixture *fixture, unsigned from, unsigned count)
{
    const struct tso_run *run = &fixture->run;
    const struct lane_address address = {{1, 2, 3}};
    uint32_t bytes = 0;

    for (unsigned i = 1; i < run->part_count; i++) {
        memcpy(fixture->wire + bytes, run->parts[i].iov_base, run->parts[i].iov_len);
        bytes += (uint32_t)run->parts[i].iov_len;
    }
    assert_int_equal(bytes, run->bytes);
    const struct tso_segments segments = {
        .destination = run->destination,
        .kind = run->kind,
        .key = run->key,
        .message = run->sequence,
        .name = run->name,
        .offset = run->offset + (uint64_t)from * run->segment_bytes,
        .segment_bytes = run->segment_bytes,
        .bytes = run->bytes - from * run->segment_bytes,
    };
    return tso_run_split(&segments, fixture->wire + from * (size_t)run->segment_bytes, &address,
                         fixture->run_heads, fixture->incoming, count);
}

/** What has come as `got` is frame `i`. */
static void assert_frame(const struct fixture *fixture, unsigned got, unsigned i)
{
    const struct lane_incoming *incoming = &fixture->incoming[got];
    const struct lane_outgoing *sent = &fixture->frames[i];
    uint8_t whole[EAGER_BYTES + 2 * SEGMENT];
    struct frame was;
    struct frame is;

    memcpy(whole, sent->head, sent->head_bytes);
    if (sent->payload_bytes > 0) {
        memcpy(whole + sent->head_bytes, sent->payload, sent->payload_bytes);
    }
    assert_int_equal(frame_decode(whole, sent->head_bytes + sent->payload_bytes, &was), FRAME_OK);
    assert_int_equal(frame_decode(incoming->data, incoming->bytes, &is), FRAME_OK);
    is.payload = incoming->payload != NULL ? incoming->payload : is.payload;
    assert_int_equal(is.type, was.type);
    assert_int_equal(is.destination, was.destination);
    assert_int_equal(is.source, incoming->tacit ? 0 : was.source);
    assert_int_equal(is.key, was.key);
    assert_int_equal(is.sequence, was.sequence);
    assert_int_equal(is.payload_bytes, was.payload_bytes);
    assert_memory_equal(is.payload, was.payload, was.payload_bytes);
    assert_memory_equal(frame_begin(&is) + sizeof(struct frame_header),
                        frame_begin(&was) + sizeof(struct frame_header),
                        frame_operation_bytes(was.type));
    assert_int_equal(incoming->segment_bytes, 0);
    assert_int_equal(incoming->from.bytes[2], 3);
}

/** The run has all frames but the first `from`, and they can be made of it again, also if its first
 *  segments are lost. */
static void assert_all_go(struct fixture *fixture, unsigned from, enum tso_kind kind)
{
    unsigned frames = fixture->count - from;

    load(fixture, from);
    assert_int_equal(fixture->run.kind, kind);
    assert_int_equal(fixture->run.frames, frames);
    for (unsigned lost = 0; lost < frames; lost++) {
        assert_int_equal(split(fixture, lost, 64), frames - lost);
        for (unsigned i = 0; i < frames - lost; i++) {
            assert_frame(fixture, i, from + lost + i);
            assert_int_equal(fixture->incoming[i].tacit,
                             kind == TSO_MESSAGE && fixture->run.offset + lost + i > 0);
        }
    }
}

FIXTURE_TEST(tso_run__a_message_needs_one_head)
{
    const uint32_t lengths[] = {SEGMENT, 3 * SEGMENT - EAGER_BYTES, 3 * SEGMENT, 4096, 10000};

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fixture->count = 0;
        push_message(fixture, lengths[i], false);
        assert_all_go(fixture, 0, TSO_MESSAGE);
        assert_int_equal(fixture->run.bytes, EAGER_BYTES + lengths[i]);
        assert_int_equal(fixture->run.part_count, 3); /* the head, and the message in one piece */
    }
}

FIXTURE_TEST(tso_run__data_behind_the_heads_goes_without_them)
{
    push_message(fixture, 10 * SEGMENT + 1, true);
    assert_all_go(fixture, 0, TSO_MESSAGE);
    assert_int_equal(fixture->run.bytes, EAGER_BYTES + 10 * SEGMENT + 1);
}

FIXTURE_TEST(tso_run__begins_in_the_middle_of_a_message)
{
    push_message(fixture, 10 * SEGMENT, false);
    for (unsigned from = 1; from < fixture->count - 1; from++) {
        assert_all_go(fixture, from, TSO_MESSAGE);
        assert_int_equal(fixture->run.part_count, 2);
    }
}

FIXTURE_TEST(tso_run__a_last_fragment_alone_keeps_its_head)
{
    push_message(fixture, 3 * SEGMENT, false);
    assert_all_go(fixture, fixture->count - 1, TSO_FRAMES);
}

FIXTURE_TEST(tso_run__a_first_frame_of_another_length)
{
    push_eager(fixture, 2000, SEGMENT, false); /* 46 more than a segment */
    push_fragment(fixture, SEGMENT, SEGMENT, false);
    push_fragment(fixture, 2 * SEGMENT, SEGMENT, false);
    load(fixture, 0);
    assert_int_equal(fixture->run.kind, TSO_MESSAGE);
    assert_int_equal(fixture->run.frames, 2); /* a shorter one is the last */
    assert_all_go(fixture, 1, TSO_FRAMES);
}

FIXTURE_TEST(tso_run__what_asks_for_an_answer_keeps_its_head)
{
    push_message(fixture, 5 * SEGMENT, false);
    frame_stamp(fixture->heads[4], FRAME_ACK_REQUEST, 0, 0);
    load(fixture, 0);
    assert_int_equal(fixture->run.kind, TSO_MESSAGE);
    assert_int_equal(fixture->run.frames, 4);
    assert_all_go(fixture, 4, TSO_FRAMES);
}

FIXTURE_TEST(tso_run__ends_with_the_message)
{
    push_message(fixture, 3 * SEGMENT - EAGER_BYTES, false); /* whole segments */
    push_message(fixture, 3 * SEGMENT, false);
    load(fixture, 0);
    assert_int_equal(fixture->run.frames, 3);
    load(fixture, 3);
    assert_int_equal(fixture->run.frames, 4);
}

FIXTURE_TEST(tso_run__frames_of_one_length_go_together)
{
    for (unsigned i = 0; i < 7; i++) {
        push_eager(fixture, 300, 300, i % 2 == 0);
    }
    push_eager(fixture, 10, 10, true);
    assert_all_go(fixture, 0, TSO_FRAMES);
    push_eager(fixture, 10, 10, true);
    load(fixture, 0);
    assert_int_equal(fixture->run.frames, 8); /* a shorter one is the last */
    load(fixture, 7);
    assert_int_equal(fixture->run.frames, 2);
}

FIXTURE_TEST(tso_run__whole_frames_leave_a_message_to_itself)
{
    push_eager(fixture, SEGMENT - EAGER_BYTES, SEGMENT - EAGER_BYTES, false);
    push_eager(fixture, SEGMENT - EAGER_BYTES, SEGMENT - EAGER_BYTES, false);
    push_message(fixture, 3 * SEGMENT, false);
    load(fixture, 0);
    assert_int_equal(fixture->run.kind, TSO_FRAMES);
    assert_int_equal(fixture->run.frames, 2);
}

FIXTURE_TEST(tso_run__no_more_than_asked_for_and_than_a_lane_carries)
{
    push_message(fixture, 50 * SEGMENT, false);
    load(fixture, 0);
    assert_int_equal(fixture->run.frames, TSO_RUN_FRAMES_MAX);
    tso_run_load(&fixture->run, fixture->frames, fixture->count, 1);
    assert_int_equal(fixture->run.kind, TSO_FRAMES);
    assert_int_equal(fixture->run.frames, 1);
}

FIXTURE_TEST(tso_run_split__no_more_than_there_is_room_for)
{
    push_message(fixture, 10 * SEGMENT, false);
    load(fixture, 0);
    assert_int_equal(split(fixture, 0, 4), 4);
    assert_frame(fixture, 3, 3);
}
