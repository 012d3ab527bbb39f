/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/transport/message/fixture.h"

/** A PULL of the peer. */
static int pull(struct fixture *fixture, unsigned from, uint32_t message, uint64_t offset,
                uint64_t wanted, uint8_t rail)
{
    const struct frame_pull body = {
        .message = to_le32(message),
        .lane_kind = LANE_SIM,
        .lane_rail = rail,
        .offset = to_le64(offset),
        .wanted = to_le64(wanted),
    };

    return serve_pull(&fixture->layer, &fixture->peers[from],
                      &(struct frame){.type = FRAME_PULL, .pull = &body});
}

/** The same for a block and so many after it. */
static int pull_more(struct fixture *fixture, uint32_t message, uint64_t offset, uint64_t wanted,
                     uint16_t more)
{
    const struct frame_pull body = {
        .message = to_le32(message),
        .lane_kind = LANE_SIM,
        .more = to_le16(more),
        .offset = to_le64(offset),
        .wanted = to_le64(wanted),
    };

    return serve_pull(&fixture->layer, &fixture->peers[0],
                      &(struct frame){.type = FRAME_PULL, .pull = &body});
}

/** Announces a message of which nothing is sent unasked. */
static uint32_t announce_quietly(struct fixture *fixture, unsigned to, const void *data,
                                 uint64_t bytes)
{
    fixture->peers[to].unasked_credit = 0;
    return announce_long(fixture, to, 1, data, bytes);
}

static struct pull_batch next(struct fixture *fixture, uint32_t busy)
{
    struct pull_batch batch = {0};

    assert_true(serve_next(&fixture->layer, busy, &batch));
    return batch;
}

static bool nothing_next(struct fixture *fixture)
{
    struct pull_batch batch;

    return !serve_next(&fixture->layer, 0, &batch);
}

static uint32_t frames_of(const struct pull_batch *batch)
{
    return (uint32_t)((batch->bytes + batch->segment_bytes - 1) / batch->segment_bytes);
}

/** What is asked for may be longer than a block: no more than one is sent at once. */
FIXTURE_TEST(serve_next__never_more_than_a_block)
{
    const uint16_t segment_bytes = 9000;
    const uint64_t block = (uint64_t)pull_block_segments(segment_bytes) * segment_bytes;
    uint8_t *data = pattern(64 * (uint64_t)segment_bytes);
    uint64_t offset = 0;

    fixture->peers[0].data_bytes = segment_bytes + 16;
    uint32_t name = announce_quietly(fixture, 0, data, 64 * (uint64_t)segment_bytes);
    assert_int_equal(pull(fixture, 0, name, 0, UINT64_MAX, 0), 0);
    while (offset < 64 * (uint64_t)segment_bytes) {
        struct pull_batch batch = next(fixture, 0);
        assert_int_equal(batch.offset, offset);
        assert_in_range(batch.bytes, 1, block);
        offset += batch.bytes;
        serve_sent(&fixture->layer, &batch, frames_of(&batch));
    }
    assert_true(nothing_next(fixture));
    free(data);
}

FIXTURE_TEST(serve_pull__whole_blocks_after_the_first)
{
    const uint64_t block = pull_block_segments(SEGMENT) * SEGMENT;
    const uint64_t bytes = 5 * block + 2 * SEGMENT + 7;
    uint8_t *data = pattern(bytes);
    uint32_t name = announce_quietly(fixture, 0, data, bytes);

    assert_int_equal(pull_more(fixture, name, block, UINT64_MAX, 2), 0);
    for (unsigned i = 1; i <= 3; i++) {
        struct pull_batch batch = next(fixture, 0);
        assert_int_equal(batch.offset, i * block);
        assert_int_equal(batch.bytes, block);
        serve_sent(&fixture->layer, &batch, frames_of(&batch));
    }
    assert_true(nothing_next(fixture));
    /* Some of the first, and then up to the end of the message. */
    assert_int_equal(pull_more(fixture, name, 4 * block, 2, 1), 0);
    struct pull_batch batch = next(fixture, 0);
    assert_int_equal(batch.offset, 4 * block + SEGMENT);
    assert_int_equal(batch.bytes, SEGMENT);
    serve_sent(&fixture->layer, &batch, frames_of(&batch));
    batch = next(fixture, 0);
    assert_int_equal(batch.offset, 5 * block);
    assert_int_equal(batch.bytes, 2 * SEGMENT + 7);
    serve_sent(&fixture->layer, &batch, frames_of(&batch));
    assert_true(nothing_next(fixture));
    /* Beyond it, or too many. */
    assert_int_equal(pull_more(fixture, name, 5 * block, 1, 1), -EPROTO);
    assert_int_equal(pull_more(fixture, name, 0, 1, 6), -EPROTO);
    assert_int_equal(pull_more(fixture, name, 0, 1, FRAME_PULL_BLOCKS_MAX), -EPROTO);
    assert_int_equal(pull_more(fixture, name, 0, 1, UINT16_MAX), -EPROTO);
    free(data);
}

FIXTURE_TEST(serve_pull__runs_of_what_is_wanted)
{
    uint8_t *data = pattern(100 * SEGMENT);
    uint32_t name = announce_quietly(fixture, 0, data, 100 * SEGMENT);

    assert_int_equal(pull(fixture, 0, name, 10 * SEGMENT, 0xF1, 0), 0);
    struct pull_batch batch = next(fixture, 0);
    assert_ptr_equal(batch.peer, &fixture->peers[0]);
    assert_int_equal(batch.message, name);
    assert_int_equal(batch.lane, 0);
    assert_int_equal(batch.offset, 10 * SEGMENT);
    assert_int_equal(batch.bytes, SEGMENT);
    assert_ptr_equal(batch.source, data + 10 * SEGMENT);
    serve_sent(&fixture->layer, &batch, 1);
    batch = next(fixture, 0);
    assert_int_equal(batch.offset, 14 * SEGMENT);
    assert_int_equal(batch.bytes, 4 * SEGMENT);
    serve_sent(&fixture->layer, &batch, 3); /* the lane took no more */
    batch = next(fixture, 0);
    assert_int_equal(batch.offset, 17 * SEGMENT);
    assert_int_equal(batch.bytes, SEGMENT);
    serve_sent(&fixture->layer, &batch, 1);
    assert_true(nothing_next(fixture));
    assert_int_equal(fixture->layer.counters.data_frames_sent, 5);
    assert_int_equal(fixture->peers[0].requests, 0);
    free(data);
}

FIXTURE_TEST(serve_pull__segments_that_are_not_there)
{
    const uint64_t bytes = 100 * SEGMENT + 7;
    uint8_t *data = pattern(bytes);
    uint32_t name = announce_quietly(fixture, 0, data, bytes);

    assert_int_equal(pull(fixture, 0, name, 38 * SEGMENT, UINT64_MAX, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, 100 * SEGMENT, 2, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, 101 * SEGMENT, 1, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, bytes, 1, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, 1, 1, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, UINT64_MAX / SEGMENT * SEGMENT, 1, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, UINT64_MAX, 1, 0), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, 0, 0, 0), -EPROTO);
    assert_true(nothing_next(fixture));
    free(data);
}

FIXTURE_TEST(serve_pull__of_what_was_not_announced)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint32_t name = announce_quietly(fixture, 0, data, LONG_BYTES);

    assert_int_equal(pull(fixture, 0, name + 1, 0, 1, 0), -ENOENT);
    assert_int_equal(pull(fixture, 0, name ^ 0x10000, 0, 1, 0), -ENOENT);
    assert_int_equal(pull(fixture, 0, OPERATIONS, 0, 1, 0), -ENOENT);
    assert_int_equal(pull(fixture, 0, UINT32_MAX, 0, 1, 0), -ENOENT);
    assert_int_equal(pull(fixture, 1, name, 0, 1, 0), -ENOENT); /* another's */
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, 1000, NULL), 0);
    uint16_t eager = from_le16(pushed_frame(fixture, 0, 0).eager->message);
    for (uint32_t generation = 0; generation < 8; generation++) {
        assert_int_equal(pull(fixture, 0, (eager & 0xFFFFu) | generation << 16, 0, 1, 0), -ENOENT);
    }
    assert_true(nothing_next(fixture));
    free(data);
}

FIXTURE_TEST(serve_pull__over_lanes_that_do_not_exist)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint32_t name = announce_quietly(fixture, 0, data, LONG_BYTES);

    assert_int_equal(pull(fixture, 0, name, 0, 1, 2), -EPROTO);
    assert_int_equal(pull(fixture, 0, name, 0, 1, 255), -EPROTO);
    free(data);
}

FIXTURE_TEST(serve_pull__over_a_lane_that_does_not_reach_the_peer)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint32_t name = announce_quietly(fixture, 0, data, LONG_BYTES);

    assert_int_equal(pull(fixture, 0, name, 0, 1, 1), -ENOENT);
    assert_false(serve_is_needed(&fixture->layer));
    /* And if it is down when its turn comes, the peer has to ask again. */
    fixture->peers[0].usable_lanes = 3;
    assert_int_equal(pull(fixture, 0, name, 0, 1, 1), 0);
    fixture->peers[0].usable_lanes = 1;
    assert_true(nothing_next(fixture));
    assert_false(serve_is_needed(&fixture->layer));
    assert_int_equal(fixture->peers[0].requests, 0);
    free(data);
}

FIXTURE_TEST(serve_pull__asked_twice_is_sent_once)
{
    uint8_t *data = pattern(100 * SEGMENT);
    uint32_t name = announce_quietly(fixture, 0, data, 100 * SEGMENT);

    fixture->peers[0].usable_lanes = 3;
    assert_int_equal(pull(fixture, 0, name, 0, 0x3, 0), 0);
    assert_int_equal(pull(fixture, 0, name, 0, 0x6, 1), 0); /* and over another lane now */
    struct pull_batch batch = next(fixture, 0);
    assert_int_equal(batch.bytes, 3 * SEGMENT);
    assert_int_equal(batch.lane, 1);
    serve_sent(&fixture->layer, &batch, 3);
    assert_true(nothing_next(fixture));
    assert_int_equal(pull(fixture, 0, name, 0, 0x3, 0), 0); /* it was lost: sent again */
    assert_int_equal(next(fixture, 0).bytes, 2 * SEGMENT);
    free(data);
}

FIXTURE_TEST(serve_next__a_small_end_is_not_sent_alone)
{
    const uint64_t bytes = 69 * SEGMENT + 7;
    uint8_t *data = pattern(bytes);
    uint32_t name = announce_quietly(fixture, 0, data, bytes);

    assert_int_equal(pull(fixture, 0, name, 0, UINT64_MAX, 0), 0);
    assert_int_equal(pull(fixture, 0, name, 64 * SEGMENT, 0x3F, 0), 0);
    struct pull_batch batch = next(fixture, 0); /* 70 are more than go at once: two halves */
    assert_int_equal(batch.offset, 0);
    assert_int_equal(batch.bytes, 35 * SEGMENT);
    serve_sent(&fixture->layer, &batch, 35);
    batch = next(fixture, 0);
    assert_int_equal(batch.offset, 35 * SEGMENT);
    assert_int_equal(batch.bytes, 34 * SEGMENT + 7);
    serve_sent(&fixture->layer, &batch, 31); /* the lane took two of the second request's */
    batch = next(fixture, 0);
    assert_int_equal(batch.offset, 66 * SEGMENT);
    assert_int_equal(batch.bytes, 3 * SEGMENT + 7);
    serve_sent(&fixture->layer, &batch, 4);
    assert_true(nothing_next(fixture));
    assert_int_equal(fixture->layer.counters.data_frames_sent, 70);
    assert_int_equal(fixture->peers[0].requests, 0);
    free(data);
}

FIXTURE_TEST(serve_next__only_what_follows_goes_together)
{
    const uint64_t bytes = 70 * SEGMENT;
    uint8_t *data = pattern(bytes);
    uint32_t name = announce_quietly(fixture, 0, data, bytes);
    const struct {
        uint64_t first;
        uint64_t second;
        uint8_t rail;
    } cases[] = {
        {0xF0, 0x3F, 0},                     /* not up to the second */
        {UINT64_C(0xF0) << 56, 1, 0},        /* not up to the end of the message */
        {UINT64_C(0xF0) << 56, 0x3F, 1},     /* over another lane */
        {UINT64_C(0xF0) << 56 | 1, 0x3F, 0}, /* its other run comes first, and is not at the end */
    };

    pull_set_lanes(&fixture->layer, &fixture->peers[0], 3, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pull(fixture, 0, name, 0, cases[i].first, 0), 0);
        assert_int_equal(pull(fixture, 0, name, 64 * SEGMENT, cases[i].second, cases[i].rail), 0);
        struct pull_batch batch = next(fixture, 0);
        assert_null(batch.rest);
        assert_true(batch.offset + batch.bytes <= 64 * SEGMENT);
        while (serve_next(&fixture->layer, 0, &batch)) {
            serve_sent(&fixture->layer, &batch, frames_of(&batch));
        }
    }
    assert_int_equal(fixture->peers[0].requests, 0);
    free(data);
}

FIXTURE_TEST(serve_next__a_busy_lane_does_not_hold_up_another)
{
    uint8_t *data = pattern(100 * SEGMENT);
    uint32_t name = announce_quietly(fixture, 0, data, 100 * SEGMENT);

    fixture->peers[0].usable_lanes = 3;
    assert_int_equal(pull(fixture, 0, name, 0, 1, 0), 0);
    assert_int_equal(pull(fixture, 0, name, SEGMENT, 1, 1), 0);
    assert_int_equal(pull(fixture, 0, name, 2 * SEGMENT, 1, 1), 0);
    struct pull_batch batch = next(fixture, 1);
    assert_int_equal(batch.offset, SEGMENT);
    serve_sent(&fixture->layer, &batch, 1);
    batch = next(fixture, 1);
    assert_int_equal(batch.offset, 2 * SEGMENT);
    serve_sent(&fixture->layer, &batch, 1);
    assert_false(serve_next(&fixture->layer, 1, &batch));
    assert_true(serve_is_needed(&fixture->layer));
    assert_int_equal(next(fixture, 0).offset, 0);
    free(data);
}

FIXTURE_TEST(serve_pull__what_was_wasted_teaches_not_to_send_unasked)
{
    struct message_peer *peer = &fixture->peers[0];
    uint8_t *data = pattern(LONG_BYTES);
    unsigned unasked = 0;
    unsigned unasked_late = 0;

    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = fixture->layer.counters.data_unasked;
        uint32_t name = announce_long(fixture, 0, 1, data, LONG_BYTES);
        bool was = fixture->layer.counters.data_unasked > before;
        unasked += was;
        unasked_late += was && i >= 50;
        /* The receive is posted late: all is asked for. */
        assert_int_equal(pull(fixture, 0, name, 0, 1, 0), 0);
        assert_int_equal(arrive_done(fixture, 0, name), 0);
        (void)completed(fixture);
        assert_true(nothing_next(fixture));
        assert_true(peer->unasked_credit >= -PULL_UNASKED_CREDIT - 1);
        assert_true(peer->unasked_credit <= PULL_UNASKED_CREDIT);
    }
    assert_true(unasked < 50);
    assert_true(unasked_late > 0); /* but it is tried now and then */
    free(data);
}

FIXTURE_TEST(serve_pull__one_peer_does_not_take_all_the_memory)
{
    uint8_t *data = pattern(100000 * SEGMENT / 64);
    uint64_t bytes = 100000 * SEGMENT / 64;
    uint32_t name = announce_quietly(fixture, 0, data, bytes);
    uint32_t other = announce_quietly(fixture, 1, data, bytes);

    for (uint64_t i = 0; i < 1500; i++) {
        assert_int_equal(pull(fixture, 0, name, i * SEGMENT, 1, 0), 0);
    }
    assert_int_equal(fixture->peers[0].requests, PULL_REQUESTS_PER_PEER);
    assert_int_equal(fixture->layer.counters.requests_dropped, 1500 - PULL_REQUESTS_PER_PEER);
    assert_int_equal(pull(fixture, 1, other, 0, 1, 0), 0);
    assert_int_equal(fixture->peers[1].requests, 1);
    /* What is asked for already is not dropped. */
    assert_int_equal(pull(fixture, 0, name, 0, 2, 0), 0);
    assert_int_equal(fixture->layer.counters.requests_dropped, 1500 - PULL_REQUESTS_PER_PEER);
    free(data);
}

/** The lane had no room for it: the receiver would drop the data, and wait for it. */
FIXTURE_TEST(serve_next__unasked_data_does_not_overtake_its_announcement)
{
    uint8_t *data = pattern(LONG_BYTES);

    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, LONG_BYTES, NULL), 0);
    fixture->peers[0].waits_for_lane = true;
    assert_true(nothing_next(fixture));
    acknowledge(fixture, 0, 1);
    assert_int_equal(next(fixture, 0).offset, 0);
    free(data);
}
