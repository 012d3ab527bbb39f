/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull_rig.h - long messages on their way in: the test is their sender, and brings what is asked
 * for or not.
 */
#ifndef BEOWIRE_TESTS_MESSAGE_PULL_RIG_H
#define BEOWIRE_TESTS_MESSAGE_PULL_RIG_H

#include "lane/random.h"
#include "pull/pull_path.h"
#include "unit/transport/message/fixture.h"

#define BLOCK (64 * SEGMENT)
#define START_NS UINT64_C(1000000)
#define GUARD 0xA5

/** A message on its way in. */
struct transfer {
    struct fixture *fixture;
    unsigned from;
    uint32_t name;
    uint64_t bytes;
    uint64_t capacity;
    uint8_t *data;   /**< at the sender */
    uint8_t *buffer; /**< of the receive; a segment of guard follows */
};

/** A message that nobody has heard of, and a receive that waits for it. */
static inline struct transfer expect(struct fixture *fixture, unsigned from, uint32_t name,
                                     uint64_t bytes, uint64_t capacity)
{
    struct transfer transfer = {.fixture = fixture,
                                .from = from,
                                .name = name,
                                .bytes = bytes,
                                .capacity = capacity,
                                .data = pattern(bytes),
                                .buffer = malloc(capacity + SEGMENT)};

    assert_non_null(transfer.buffer);
    memset(transfer.buffer, GUARD, capacity + SEGMENT);
    assert_int_equal(post(fixture, from, name, 0, transfer.buffer, capacity, transfer.buffer), 0);
    return transfer;
}

/** Announces it. */
static inline void announce_it(const struct transfer *transfer,
                               const struct frame_announce *announce)
{
    assert_int_equal(arrive(transfer->fixture, transfer->from,
                            &(struct frame){.type = FRAME_ANNOUNCE, .announce = announce}),
                     0);
}

static inline struct transfer begin(struct fixture *fixture, unsigned from, uint32_t name,
                                    uint64_t bytes, uint64_t capacity)
{
    struct transfer transfer = expect(fixture, from, name, bytes, capacity);

    assert_int_equal(arrive_announce(fixture, from, name, bytes, name), 0);
    return transfer;
}

/** Brings a block of it, joined. */
static inline void bring_block(const struct transfer *transfer, uint64_t index, uint64_t now_ns)
{
    uint64_t offset = index * BLOCK;
    uint64_t left = transfer->bytes - offset;

    assert_int_equal(arrive_data(transfer->fixture, transfer->from, transfer->name, offset,
                                 transfer->data + offset, (uint32_t)(left < BLOCK ? left : BLOCK),
                                 0, now_ns),
                     PULL_PLACED);
}

/** Announces a message whose first blocks follow unasked. */
static inline struct transfer begin_unasked(struct fixture *fixture, uint32_t name, uint64_t bytes,
                                            uint32_t unasked)
{
    struct transfer transfer = expect(fixture, 0, name, bytes, bytes);
    struct frame_announce announce = announcement(name, bytes, name);

    announce.unasked_bytes = to_le32(unasked);
    announce.lane_kind = LANE_SIM;
    fixture->layer.now_ns = START_NS;
    announce_it(&transfer, &announce);
    return transfer;
}

static inline void end(struct transfer *transfer)
{
    free(transfer->data);
    free(transfer->buffer);
}

/** The bytes of a segment. */
static inline uint32_t segment_at(const struct transfer *transfer, uint64_t offset)
{
    uint64_t left = transfer->bytes - offset;

    return left < SEGMENT ? (uint32_t)left : (uint32_t)SEGMENT;
}

static inline enum pull_verdict bring(const struct transfer *transfer, uint64_t offset,
                                      uint8_t lane, uint64_t now_ns)
{
    return arrive_data(transfer->fixture, transfer->from, transfer->name, offset,
                       transfer->data + offset, segment_at(transfer, offset), lane, now_ns);
}

/** Brings the wanted segments of an answer but those in `but`. */
static inline void bring_all(const struct transfer *transfer, const struct pull_ask *ask,
                             uint64_t but, uint64_t now_ns)
{
    for (unsigned i = 0; i < 64; i++) {
        if ((ask->wanted >> i & 1) != 0 && (but >> i & 1) == 0) {
            assert_int_equal(bring(transfer, ask->offset + i * SEGMENT, ask->lane, now_ns),
                             PULL_PLACED);
        }
    }
}

/** The message is all there, and nothing but what was wanted has been written. */
static inline void check_complete(const struct transfer *transfer)
{
    message_pump(&transfer->fixture->layer, &transfer->fixture->peers[transfer->from]);
    struct beowire_completion done = completed(transfer->fixture);
    uint64_t there = transfer->bytes < transfer->capacity ? transfer->bytes : transfer->capacity;

    assert_ptr_equal(done.context, transfer->buffer);
    assert_int_equal(done.status, transfer->bytes > transfer->capacity ? -EMSGSIZE : 0);
    assert_int_equal(done.bytes, transfer->bytes);
    assert_memory_equal(transfer->buffer, transfer->data, there);
    for (uint64_t i = there; i < transfer->capacity + SEGMENT; i++) {
        assert_int_equal(transfer->buffer[i], GUARD);
    }
}

/** What is counted as outstanding is what blocks are waited for. */
static inline void check_balance(const struct fixture *fixture)
{
    for (unsigned lane = 0; lane < 2; lane++) {
        uint64_t bytes = 0;
        uint32_t blocks = 0;
        for (unsigned i = 0; i < PEERS; i++) {
            const struct pull_path *path = &fixture->peers[i].pull_paths[lane];
            bytes += pull_path_is_quiet(path) ? 0 : path->outstanding_bytes;
            blocks += path->blocks;
        }
        assert_int_equal(fixture->layer.lanes[lane].outstanding_bytes, bytes);
        assert_int_equal(fixture->layer.lanes[lane].blocks, blocks);
    }
}

static inline void check_nothing_outstanding(const struct fixture *fixture)
{
    check_balance(fixture);
    for (unsigned lane = 0; lane < 2; lane++) {
        assert_int_equal(fixture->layer.lanes[lane].outstanding_bytes, 0);
        assert_int_equal(fixture->layer.lanes[lane].blocks, 0);
        for (unsigned i = 0; i < PEERS; i++) {
            assert_int_equal(fixture->peers[i].pull_paths[lane].outstanding_bytes, 0);
        }
    }
    assert_true(list_is_empty(&fixture->layer.pulls));
    assert_true(list_is_empty(&fixture->layer.waiting_pulls));
}

static inline void use_two_lanes(struct fixture *fixture, unsigned peer)
{
    pull_set_lanes(&fixture->layer, &fixture->peers[peer], 3, 3);
}

#endif /* BEOWIRE_TESTS_MESSAGE_PULL_RIG_H */
