/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull_rig.h"

#include <sys/mman.h>

FIXTURE_TEST(pull_set_lanes__what_was_asked_over_others_moves)
{
    use_two_lanes(fixture, 0);
    struct transfer transfer = begin(fixture, 0, 7, 6 * BLOCK, 6 * BLOCK);
    uint64_t moved = 0;
    for (unsigned i = 0; i < 6; i++) {
        struct pull_ask ask = asked(fixture, START_NS);
        moved |= ask.lane == 0 ? UINT64_C(1) << ask.offset / BLOCK : 0;
    }
    assert_true(moved != 0 && moved != 0x3F);
    pull_set_lanes(&fixture->layer, &fixture->peers[0], 2, 2);
    while (moved != 0) {
        struct pull_ask ask = asked(fixture, START_NS);
        assert_int_equal(ask.lane, 1);
        assert_true((moved >> ask.offset / BLOCK & 1) != 0);
        moved &= ~(UINT64_C(1) << ask.offset / BLOCK);
    }
    assert_true(nothing_asked(fixture, START_NS));
    fail_peer(fixture, 0, -ETIMEDOUT);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_set_lanes__none_and_then_one)
{
    pull_set_lanes(&fixture->layer, &fixture->peers[0], 0, 0);
    struct transfer transfer = begin(fixture, 0, 7, BLOCK, BLOCK);
    assert_true(nothing_asked(fixture, START_NS));
    assert_int_equal(pull_deadline(&fixture->layer), UINT64_MAX);
    pull_set_lanes(&fixture->layer, &fixture->peers[0], 2, 2);
    assert_int_equal(pull_deadline(&fixture->layer), 0);
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.lane, 1);
    bring_all(&transfer, &ask, 0, START_NS);
    check_complete(&transfer);
    end(&transfer);
}

/** All before this block is here. */
static void skip_to(struct pull *pull, uint32_t block)
{
    assert_int_equal(pull->next_block, 0);
    pull->next_block = block;
    pull->blocks_done = block;
}

/** Positions have more than 32 bits. */
FIXTURE_TEST(pull_start__message_of_more_than_four_gibibytes)
{
    const uint64_t bytes = (UINT64_C(1) << 33) + 1;
    const uint32_t last = (uint32_t)(bytes / BLOCK);
    uint8_t *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(buffer, MAP_FAILED);
    assert_int_equal(post(fixture, 0, 7, 0, buffer, bytes, buffer), 0);
    assert_int_equal(arrive_announce(fixture, 0, 7, bytes, 7), 0);
    skip_to(LIST_ENTRY(fixture->layer.pulls.next, struct pull, link), last);
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.offset, (uint64_t)last * BLOCK);
    for (unsigned i = 0; ask.wanted != 0; i++, ask.wanted >>= 1) {
        uint64_t offset = ask.offset + i * SEGMENT;
        uint64_t left = bytes - offset;
        uint8_t data[SEGMENT];
        memset(data, 1 + (int)i, sizeof data);
        assert_int_equal(arrive_data(fixture, 0, 7, offset, data,
                                     (uint32_t)(left < SEGMENT ? left : SEGMENT), 0, START_NS),
                         PULL_PLACED);
        assert_int_equal(buffer[offset], 1 + i);
    }
    assert_int_not_equal(buffer[bytes - 1], 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.bytes, bytes);
    check_nothing_outstanding(fixture);
    assert_int_equal(munmap(buffer, bytes), 0);
}

TEST(pull_start__more_than_all_peers_may_have)
{
    struct fixture fixture = {0};
    enum { EACH = PULLS_MAX / PEERS + 1 };
    static_assert(EACH > PULLS_PER_PEER, "peers that are held back by their own share alone");
    struct transfer transfers[PEERS][EACH];

    assert_int_equal(message_open(&fixture.layer, 200, PEERS, FRAME_BYTES), 0);
    fixture.layer.lanes[0] = (struct message_lane){.kind = LANE_SIM, .capacity_bytes = UINT64_MAX};
    for (uint32_t i = 0; i < PEERS; i++) {
        message_peer_init(&fixture.peers[i], i, fixture.pull_paths[i]);
        make_ready(&fixture, i);
        for (uint32_t j = 0; j < EACH; j++) {
            transfers[i][j] = begin(&fixture, i, i * EACH + j, SEGMENT, SEGMENT);
        }
    }
    for (unsigned i = 0; i < PULLS_MAX; i++) {
        (void)asked(&fixture, START_NS);
    }
    assert_true(nothing_asked(&fixture, START_NS));
    /* A failure gives room to others, whose own share allows it. */
    fail_peer(&fixture, 0, -ETIMEDOUT);
    assert_true(nothing_asked(&fixture, START_NS));
    bring_all(&transfers[1][0], &(struct pull_ask){.wanted = 1}, 0, START_NS);
    assert_int_equal(asked(&fixture, START_NS).message, 2 * EACH - 1);
    for (uint32_t i = 0; i < PEERS; i++) {
        fail_peer(&fixture, i, -ETIMEDOUT);
        for (uint32_t j = 0; j < EACH; j++) {
            end(&transfers[i][j]);
        }
    }
    check_nothing_outstanding(&fixture);
    message_close(&fixture.layer);
}

FIXTURE_TEST(pull_stop__in_the_middle)
{
    for (unsigned blocks = 0; blocks < 6; blocks++) {
        struct transfer transfer = begin(fixture, 1, 7 + blocks, 5 * BLOCK, 5 * BLOCK);
        struct pull_ask ask;
        for (unsigned i = 0; i < blocks && ask_next(&fixture->layer, START_NS, &ask); i++) {
            bring_all(&transfer, &ask, i == 4 ? 1 : UINT64_C(0xFF) << i, START_NS);
        }
        check_balance(fixture);
        fail_peer(fixture, 1, -ECONNRESET);
        assert_int_equal(completed(fixture).status, -ECONNRESET);
        check_nothing_outstanding(fixture);
        assert_int_equal(fixture->peers[1].pulls, 0);
        memset(transfer.buffer, 0, transfer.capacity); /* it is the caller's again */
        assert_int_equal(bring(&transfer, 0, 0, START_NS), PULL_UNKNOWN);
        assert_int_equal(transfer.buffer[0], 0);
        end(&transfer);
        fixture->peers[1].error = 0;
        make_ready(fixture, 1);
    }
}

FIXTURE_TEST(pull_start__unasked_blocks_do_not_come)
{
    struct transfer transfer = begin_unasked(fixture, 7, 2 * BLOCK, 2 * BLOCK);

    assert_true(nothing_asked(fixture, START_NS));
    uint64_t now_ns = pull_deadline(&fixture->layer);
    assert_int_equal(now_ns, START_NS + PULL_TIMEOUT_FIRST_NS);
    for (unsigned i = 0; i < 2; i++) {
        struct pull_ask ask = asked(fixture, now_ns);
        assert_int_equal(ask.offset, i * BLOCK);
        bring_all(&transfer, &ask, 0, now_ns);
    }
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_start__lies_about_unasked_bytes)
{
    const uint32_t lies[] = {1, 2 * BLOCK - 1, 2 * BLOCK + 1, UINT32_MAX};

    for (uint32_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct transfer transfer = begin_unasked(fixture, 7 + i, 100 * BLOCK, lies[i]);
        struct pull_ask ask;
        uint64_t now_ns = START_NS;
        check_balance(fixture);
        assert_true(fixture->layer.lanes[0].outstanding_bytes <= PULL_BLOCKS * BLOCK);
        while (nothing_completed(fixture)) {
            while (ask_next(&fixture->layer, now_ns, &ask)) {
                bring_all(&transfer, &ask, 0, now_ns);
            }
            message_pump(&fixture->layer, &fixture->peers[0]);
            now_ns = nothing_completed(fixture) ? pull_deadline(&fixture->layer) : now_ns;
        }
        check_complete(&transfer);
        check_nothing_outstanding(fixture);
        end(&transfer);
    }
}

/** Announces a message of two blocks and a tail, which comes with its announcement. */
static struct transfer begin_with_tail(struct fixture *fixture, uint64_t bytes, uint64_t capacity)
{
    struct transfer transfer = expect(fixture, 0, 9, bytes, capacity);
    struct frame_announce announce = announcement(9, bytes, 9);
    uint32_t tail = pull_tail_bytes(bytes, SEGMENT);

    assert_int_equal(arrive(fixture, 0,
                            &(struct frame){.type = FRAME_ANNOUNCE,
                                            .announce = &announce,
                                            .payload = transfer.data + bytes - tail,
                                            .payload_bytes = tail}),
                     0);
    return transfer;
}

FIXTURE_TEST(pull_start__the_tail_came_with_the_announcement)
{
    struct transfer transfer = begin_with_tail(fixture, 2 * BLOCK + 7, 2 * BLOCK + 7);

    assert_int_equal(asked(fixture, 1000).offset, 0);
    assert_int_equal(asked(fixture, 1000).offset, BLOCK);
    assert_true(nothing_asked(fixture, 1000));
    bring_block(&transfer, 0, 2000);
    bring_block(&transfer, 1, 3000);
    check_complete(&transfer);
    end(&transfer);
}

/** It does not fit, so it is not placed, but pulled as far as it is wanted. */
FIXTURE_TEST(pull_start__the_tail_is_longer_than_the_buffer)
{
    struct transfer transfer = begin_with_tail(fixture, BLOCK + 7, BLOCK + 3);

    struct pull_ask ask = asked(fixture, 1000);
    assert_int_equal(ask.offset, 0);
    bring_all(&transfer, &ask, 0, 2000);
    ask = asked(fixture, 2000);
    assert_int_equal(ask.offset, BLOCK);
    bring_all(&transfer, &ask, 0, 3000);
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_start__the_tail_is_all)
{
    struct transfer transfer = begin_with_tail(fixture, 7, 7);

    assert_true(nothing_asked(fixture, 1000));
    check_complete(&transfer);
    end(&transfer);
}

/** Nobody has kept the tail: it is asked for. */
FIXTURE_TEST(pull_start__the_tail_came_before_the_receive)
{
    struct frame_announce announce = announcement(9, BLOCK + 7, 9);

    assert_int_equal(arrive(fixture, 0,
                            &(struct frame){.type = FRAME_ANNOUNCE,
                                            .announce = &announce,
                                            .payload = (const uint8_t *)"1234567",
                                            .payload_bytes = 7}),
                     0);
    struct transfer transfer = expect(fixture, 0, 9, BLOCK + 7, BLOCK + 7);
    assert_int_equal(asked(fixture, 1000).offset, 0);
    assert_int_equal(asked(fixture, 1000).offset, BLOCK);
    bring_block(&transfer, 0, 2000);
    bring_block(&transfer, 1, 2000);
    check_complete(&transfer);
    end(&transfer);
}
