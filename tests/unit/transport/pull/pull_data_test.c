/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull_rig.h"

FIXTURE_TEST(pull_data__unknown)
{
    struct transfer transfer = begin(fixture, 0, 7, 10 * SEGMENT, 10 * SEGMENT);

    assert_int_equal(arrive_data(fixture, 0, 8, 0, transfer.data, SEGMENT, 0, START_NS),
                     PULL_UNKNOWN);
    assert_int_equal(arrive_data(fixture, 1, 7, 0, transfer.data, SEGMENT, 0, START_NS),
                     PULL_UNKNOWN);
    struct pull_ask ask = asked(fixture, START_NS);
    bring_all(&transfer, &ask, 0, START_NS);
    assert_int_equal(bring(&transfer, 0, 0, START_NS), PULL_UNKNOWN); /* it has ended */
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_data__not_a_segment)
{
    struct transfer transfer = begin(fixture, 0, 7, 10 * SEGMENT + 5, 10 * SEGMENT + 5);
    const struct {
        uint64_t offset;
        uint32_t bytes;
    } wrong[] = {
        {0, SEGMENT - 1},
        {0, SEGMENT + 1},
        {0, 5},
        {0, 30},
        {10 * SEGMENT, 4},
        {10 * SEGMENT, 31}, /* one more than padding explains */
        {10 * SEGMENT, SEGMENT},
        {11 * SEGMENT, SEGMENT},
        {11 * SEGMENT, 5},
        {UINT32_MAX * SEGMENT, SEGMENT},
        {UINT32_MAX * SEGMENT, 5},
        {(UINT64_C(1) << 31) * SEGMENT, SEGMENT},
    };
    uint8_t *any = pattern(2 * SEGMENT);

    (void)asked(fixture, START_NS);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            arrive_data(fixture, 0, 7, wrong[i].offset, any, wrong[i].bytes, 0, START_NS),
            PULL_INVALID);
    }
    for (uint64_t i = 0; i < transfer.capacity + SEGMENT; i++) {
        assert_int_equal(transfer.buffer[i], GUARD);
    }
    fail_peer(fixture, 0, -EPROTO);
    free(any);
    end(&transfer);
}

FIXTURE_TEST(pull_data__beyond_what_is_wanted)
{
    struct transfer transfer = begin(fixture, 0, 7, 100 * BLOCK, 2 * SEGMENT + 3);

    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.wanted, 7);
    /* A segment of the message, but nobody has asked for it. */
    for (uint64_t offset = 3 * SEGMENT; offset < 100 * BLOCK; offset += 7 * SEGMENT) {
        assert_int_equal(bring(&transfer, offset, 0, START_NS), PULL_DUPLICATE);
    }
    bring_all(&transfer, &ask, 0, START_NS);
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_data__twice)
{
    struct transfer transfer = begin(fixture, 0, 7, 2 * SEGMENT, 2 * SEGMENT);

    (void)asked(fixture, START_NS);
    assert_int_equal(bring(&transfer, SEGMENT, 0, START_NS), PULL_PLACED);
    assert_int_equal(bring(&transfer, SEGMENT, 0, START_NS), PULL_DUPLICATE);
    assert_int_equal(bring(&transfer, SEGMENT, 1, START_NS), PULL_DUPLICATE);
    assert_true(nothing_completed(fixture));
    assert_int_equal(bring(&transfer, 0, 1, START_NS), PULL_PLACED); /* by whichever way */
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

/** Whatever happens to frames on two lanes, messages of several peers end well. */
FIXTURE_TEST(pull_data__in_any_order_with_losses)
{
    struct frame_on_the_way {
        uint64_t offset;
        uint8_t transfer;
        uint8_t lane;
    } *way = calloc(200000, sizeof *way);
    const uint64_t seeds = getenv("BEOWIRE_TEST_LONG") != NULL ? 300 : 60;

    assert_non_null(way);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct transfer transfers[3];
        struct random random;
        uint64_t now_ns = START_NS * 1000 * seed;
        size_t first = 0; /* on the way are `ways` from here on */
        size_t ways = 0;
        unsigned left = 3;
        bool ended[3] = {false};
        unsigned steps = 0;

        random_seed(&random, seed);
        uint32_t lost_ppm = (uint32_t)random_below(&random, 4) * 100000;
        use_two_lanes(fixture, 0);
        fixture->layer.lanes[0].capacity_bytes = (1 + random_below(&random, 20)) * BLOCK;
        for (unsigned i = 0; i < 3; i++) {
            uint64_t bytes = 1 + random_below(&random, 25 * BLOCK);
            uint64_t capacity = random_below(&random, 3) > 0 ? bytes : random_below(&random, bytes);
            fixture->layer.now_ns = now_ns;
            transfers[i] =
                begin(fixture, i % 2, (uint32_t)(seed * 3 + i), bytes, capacity > 0 ? capacity : 1);
        }
        while (left > 0) {
            struct pull_ask ask;
            assert_true(++steps < 1000000);
            now_ns += random_below(&random, 20000);
            while (ask_next(&fixture->layer, now_ns, &ask)) {
                for (unsigned i = 0; i < 64; i++) {
                    if ((ask.wanted >> i & 1) != 0 && !random_chance(&random, lost_ppm)) {
                        assert_true(first + ways < 200000);
                        way[first + ways++] = (struct frame_on_the_way){
                            .offset = ask.offset + i * SEGMENT,
                            .transfer = (uint8_t)(ask.message - seed * 3),
                            .lane = ask.lane,
                        };
                    }
                }
            }
            check_balance(fixture);
            assert_true(fixture->layer.lanes[0].outstanding_bytes <
                        fixture->layer.lanes[0].capacity_bytes + 3 * PULL_BLOCKS * BLOCK);
            if (ways == 0) {
                uint64_t deadline_ns = pull_deadline(&fixture->layer);
                assert_true(deadline_ns < now_ns + UINT64_C(60000000000));
                now_ns = deadline_ns > now_ns ? deadline_ns : now_ns;
                continue;
            }
            for (uint64_t count = 1 + random_below(&random, 100); count > 0 && ways > 0; count--) {
                size_t at = random_below(&random, random_below(&random, 2) ? ways : 1);
                struct frame_on_the_way frame = way[first + at];
                const struct transfer *transfer = &transfers[frame.transfer];
                if (!random_chance(&random, 50000)) { /* else it comes again */
                    memmove(&way[first + 1], &way[first], at * sizeof *way);
                    first++;
                    ways--;
                }
                enum pull_verdict verdict = bring(transfer, frame.offset, frame.lane, now_ns);
                assert_int_not_equal(verdict, PULL_INVALID);
                assert_true(verdict != PULL_UNKNOWN || ended[frame.transfer]);
                message_pump(&fixture->layer, &fixture->peers[transfer->from]);
                if (!nothing_completed(fixture)) {
                    check_complete(transfer);
                    ended[frame.transfer] = true;
                    left--;
                }
            }
        }
        check_nothing_outstanding(fixture);
        for (unsigned i = 0; i < 3; i++) {
            end(&transfers[i]);
        }
        acknowledge(fixture, 0, pushed(fixture, 0));
        acknowledge(fixture, 1, pushed(fixture, 1));
    }
    free(way);
}

FIXTURE_TEST(pull_data__of_a_later_block_shows_losses)
{
    struct transfer transfer = begin(fixture, 0, 7, 3 * BLOCK, 3 * BLOCK);

    struct pull_ask first = asked(fixture, START_NS);
    struct pull_ask second = asked(fixture, START_NS);
    struct pull_ask third = asked(fixture, START_NS);
    bring_all(&transfer, &first, UINT64_C(1) << 63, START_NS);
    bring_all(&transfer, &second, ~UINT64_C(1), START_NS); /* the first of it alone */
    struct pull_ask again = asked(fixture, START_NS);
    assert_int_equal(again.offset, 0);
    assert_int_equal(again.wanted, UINT64_C(1) << 63);
    assert_true(nothing_asked(fixture, START_NS)); /* once */
    bring_all(&transfer, &second, 1, START_NS);
    assert_true(nothing_asked(fixture, START_NS));
    bring_all(&transfer, &third, 0, START_NS);
    bring_all(&transfer, &again, 0, START_NS);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_data__of_another_message_shows_losses)
{
    struct transfer transfers[3];
    struct pull_ask asks[3];

    for (unsigned i = 0; i < 3; i++) {
        transfers[i] = begin(fixture, i == 1 ? 1 : 0, 7 + i, BLOCK, BLOCK);
        asks[i] = asked(fixture, START_NS);
    }
    bring_all(&transfers[2], &asks[2], ~UINT64_C(1), START_NS); /* the first of it alone */
    struct pull_ask again = asked(fixture, START_NS);
    assert_ptr_equal(again.peer, &fixture->peers[0]);
    assert_int_equal(again.message, 7);
    assert_true((again.wanted & 1) != 0); /* from the beginning */
    /* Once, and not of the other peer: nothing orders what two of them send. */
    bring_all(&transfers[2], &asks[2], 1, START_NS);
    assert_true(nothing_asked(fixture, START_NS));
    bring_all(&transfers[1], &asks[1], 0, START_NS);
    do {
        assert_int_equal(again.message, 7);
        bring_all(&transfers[0], &again, 0, START_NS);
    } while (ask_next(&fixture->layer, START_NS, &again));
    for (unsigned i = 0; i < 3; i++) {
        message_pump(&fixture->layer, &fixture->peers[0]);
        message_pump(&fixture->layer, &fixture->peers[1]);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(completed(fixture).status, 0);
        end(&transfers[i]);
    }
    check_nothing_outstanding(fixture);
}

FIXTURE_TEST(pull_data__unasked_shows_losses_of_unasked_only)
{
    struct transfer asked_for = begin(fixture, 0, 7, BLOCK, BLOCK);
    struct pull_ask ask = asked(fixture, START_NS);
    struct transfer lost = begin_unasked(fixture, 8, BLOCK, BLOCK);
    struct transfer here = begin_unasked(fixture, 9, BLOCK, BLOCK);

    assert_int_equal(bring(&here, 0, 0, START_NS), PULL_PLACED);
    struct pull_ask again = asked(fixture, START_NS);
    assert_int_equal(again.message, 8); /* and not 7: PULL may be on its way still */
    assert_true(nothing_asked(fixture, START_NS));
    const struct pull_ask rest = {.wanted = ~UINT64_C(1)};
    bring_all(&here, &rest, 0, START_NS);
    check_complete(&here);
    bring_all(&asked_for, &ask, 0, START_NS);
    check_complete(&asked_for);
    bring_all(&lost, &again, 0, START_NS);
    check_complete(&lost);
    check_nothing_outstanding(fixture);
    end(&asked_for);
    end(&lost);
    end(&here);
}

FIXTURE_TEST(pull_data__asked_for_shows_losses_of_unasked)
{
    struct transfer lost = begin_unasked(fixture, 7, BLOCK, BLOCK);
    struct transfer later = begin(fixture, 0, 8, BLOCK, BLOCK);
    struct pull_ask ask = asked(fixture, START_NS);

    assert_int_equal(ask.message, 8);
    assert_int_equal(bring(&later, 0, 0, START_NS), PULL_PLACED);
    struct pull_ask again = asked(fixture, START_NS);
    assert_int_equal(again.message, 7);
    ask.wanted &= ~UINT64_C(1);
    bring_all(&later, &ask, 0, START_NS);
    check_complete(&later);
    bring_all(&lost, &again, 0, START_NS);
    check_complete(&lost);
    end(&lost);
    end(&later);
}

FIXTURE_TEST(pull_data__late_ones_show_nothing)
{
    struct transfer transfer = begin(fixture, 0, 7, 3 * BLOCK, 3 * BLOCK);

    (void)asked(fixture, START_NS);
    struct pull_ask second = asked(fixture, START_NS);
    struct pull_ask third = asked(fixture, START_NS);
    bring_all(&transfer, &second, ~UINT64_C(1), START_NS); /* it has overtaken the first */
    struct pull_ask again = asked(fixture, START_NS);
    assert_int_equal(again.offset, 0);
    /* The first comes late: it was asked for a second time after the others, but this is no answer
     * to that. */
    bring_all(&transfer, &again, 0, START_NS);
    assert_true(nothing_asked(fixture, START_NS));
    bring_all(&transfer, &second, 1, START_NS);
    bring_all(&transfer, &third, 0, START_NS);
    check_complete(&transfer);
    end(&transfer);
}

/** What is sent unasked over a way on which nothing comes is not waited for. */
FIXTURE_TEST(pull_start__does_not_wait_for_what_a_quiet_lane_brings)
{
    struct message_peer *peer = &fixture->peers[0];

    peer->bulk_lanes = 1;
    peer->usable_lanes = 3;
    for (unsigned i = 0; i < PULL_PATIENCE_SILENCES; i++) {
        pull_path_silent(&fixture->layer, peer, 0, START_NS);
    }
    struct transfer transfer = begin_unasked(fixture, 7, BLOCK, BLOCK);
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.lane, 1);
    assert_int_equal(ask.offset, 0);
    assert_int_equal(ask.wanted, UINT64_MAX);
    assert_int_equal(arrive_data(fixture, 0, 7, 0, transfer.data, BLOCK, 1, START_NS), PULL_PLACED);
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_expect__the_missing_run)
{
    struct lane_expectation expectation;
    const struct message_peer *peer = NULL;

    assert_false(pull_expect(&fixture->layer, 0, &expectation, &peer));
    struct transfer transfer = begin(fixture, 0, 7, 2 * BLOCK - 3, 2 * BLOCK - 3);
    assert_false(pull_expect(&fixture->layer, 0, &expectation, &peer)); /* not asked for */
    struct pull_ask first = asked(fixture, START_NS);
    struct pull_ask second = asked(fixture, START_NS);
    assert_false(pull_expect(&fixture->layer, 1, &expectation, &peer));

    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer));
    assert_ptr_equal(peer, &fixture->peers[0]);
    assert_ptr_equal(expectation.target, transfer.buffer);
    assert_int_equal(expectation.frames, 64);
    assert_int_equal(expectation.head_bytes, 16);
    assert_int_equal(expectation.payload_bytes, SEGMENT);
    assert_int_equal(expectation.bytes, 2 * BLOCK - 3); /* the next one follows */
    assert_int_equal(expectation.message, 7);
    assert_int_equal(expectation.offset, 0);

    bring_all(&transfer, &first, ~UINT64_C(0x11), START_NS); /* segments 0 and 4 are here */
    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer));
    assert_ptr_equal(expectation.target, transfer.buffer + SEGMENT);
    assert_int_equal(expectation.frames, 3);
    assert_int_equal(expectation.bytes, 3 * SEGMENT);
    assert_int_equal(expectation.offset, SEGMENT);

    bring_all(&transfer, &first, 0x11, START_NS);
    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer));
    assert_int_equal(expectation.offset, BLOCK);
    assert_int_equal(expectation.frames, 64);
    assert_int_equal(expectation.bytes, BLOCK - 3); /* the last one is shorter */
    bring_all(&transfer, &second, 0, START_NS);
    assert_false(pull_expect(&fixture->layer, 0, &expectation, &peer));
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_data__several_segments_that_were_joined)
{
    const uint64_t bytes = 2 * BLOCK + 3 * SEGMENT + 5;
    struct transfer transfer = begin(fixture, 0, 7, bytes, bytes);

    for (unsigned i = 0; i < 3; i++) {
        (void)asked(fixture, START_NS);
    }
    /* Over the end of a block; then all of that again and more; then a part; then the rest. */
    assert_int_equal(arrive_data(fixture, 0, 7, BLOCK - 2 * SEGMENT,
                                 transfer.data + BLOCK - 2 * SEGMENT, 5 * SEGMENT, 0, START_NS),
                     PULL_PLACED);
    assert_int_equal(arrive_data(fixture, 0, 7, BLOCK - 3 * SEGMENT,
                                 transfer.data + BLOCK - 3 * SEGMENT, 7 * SEGMENT, 0, START_NS),
                     PULL_PLACED);
    assert_int_equal(arrive_data(fixture, 0, 7, BLOCK - SEGMENT, transfer.data + BLOCK - SEGMENT,
                                 2 * SEGMENT, 0, START_NS),
                     PULL_DUPLICATE);
    check_balance(fixture);
    assert_int_equal(arrive_data(fixture, 0, 7, 0, transfer.data, BLOCK, 0, START_NS), PULL_PLACED);
    assert_int_equal(arrive_data(fixture, 0, 7, BLOCK + 4 * SEGMENT,
                                 transfer.data + BLOCK + 4 * SEGMENT,
                                 (uint32_t)(bytes - BLOCK - 4 * SEGMENT), 0, START_NS),
                     PULL_PLACED);
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_data__joined_ones_that_are_not_of_whole_segments)
{
    const uint64_t bytes = 5 * SEGMENT + 100;
    struct transfer transfer = begin(fixture, 0, 7, bytes, bytes);
    const uint32_t bad[] = {SEGMENT + 1, 2 * SEGMENT - 1, 5 * SEGMENT + 99, 5 * SEGMENT + 101,
                            6 * SEGMENT};

    (void)asked(fixture, START_NS);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(arrive_data(fixture, 0, 7, 0, transfer.data, bad[i], 0, START_NS),
                         PULL_INVALID);
    }
    assert_int_equal(arrive_data(fixture, 0, 7, 0, transfer.data, (uint32_t)bytes, 0, START_NS),
                     PULL_PLACED);
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_expect__over_blocks_that_follow)
{
    struct lane_expectation expectation;
    const struct message_peer *peer = NULL;
    struct transfer transfer = begin(fixture, 0, 7, 3 * BLOCK, 2 * BLOCK + 1);

    (void)asked(fixture, START_NS);
    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer));
    assert_int_equal(expectation.bytes, BLOCK); /* no more was asked for */
    struct pull_ask second = asked(fixture, START_NS);
    (void)asked(fixture, START_NS);
    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer));
    assert_int_equal(expectation.bytes, 2 * BLOCK);
    assert_int_equal(expectation.frames, 64);
    bring_all(&transfer, &second, ~UINT64_C(1), START_NS); /* of the second something is here: */
    assert_true(pull_expect(&fixture->layer, 0, &expectation, &peer)); /* it goes on */
    assert_int_equal(expectation.offset, BLOCK + SEGMENT);
    assert_int_equal(expectation.bytes, BLOCK - SEGMENT);
    fail_peer(fixture, 0, -ETIMEDOUT);
    end(&transfer);
}

FIXTURE_TEST(pull_expect__never_beyond_the_buffer)
{
    uint32_t name = 1;

    for (uint64_t capacity = 1; capacity < 5 * SEGMENT; capacity += 97) {
        struct transfer transfer = begin(fixture, 0, name++, 10 * SEGMENT, capacity);
        struct lane_expectation expectation;
        const struct message_peer *peer;
        struct pull_ask ask = asked(fixture, START_NS);
        for (unsigned i = 0; i < (capacity + SEGMENT - 1) / SEGMENT; i++) {
            if (pull_expect(&fixture->layer, 0, &expectation, &peer)) {
                assert_true(expectation.offset >= i * SEGMENT);
                assert_true(expectation.offset + expectation.bytes <= capacity);
                assert_ptr_equal(expectation.target, transfer.buffer + expectation.offset);
            }
            assert_int_equal(bring(&transfer, i * SEGMENT, ask.lane, START_NS), PULL_PLACED);
        }
        assert_false(pull_expect(&fixture->layer, 0, &expectation, &peer));
        check_complete(&transfer);
        acknowledge(fixture, 0, pushed(fixture, 0));
        end(&transfer);
    }
}

FIXTURE_TEST(pull_data__a_block_is_lost__less_is_requested_of_that_peer_alone)
{
    const uint64_t bytes = 2 * PULL_BLOCKS * BLOCK;
    struct transfer one = begin(fixture, 0, 1, bytes, bytes);
    struct transfer other;
    struct pull_ask ask;

    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        assert_int_equal(asked(fixture, START_NS).offset, i * BLOCK);
    }
    for (unsigned i = 1; i < 4; i++) {
        bring_block(&one, i, START_NS);
    }
    ask = asked(fixture, START_NS);
    assert_int_equal(ask.offset, 0);
    bring_all(&one, &ask, 0, START_NS);
    /* There are blocks to request, and room for them on the lane. */
    assert_true(nothing_asked(fixture, START_NS));
    other = begin(fixture, 1, 2, bytes, bytes);
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        ask = asked(fixture, START_NS);
        assert_int_equal(ask.message, 2);
        bring_all(&other, &ask, 0, START_NS);
    }
    for (unsigned i = 4; i < PULL_BLOCKS; i++) {
        bring_block(&one, i, START_NS);
    }
    while (ask_next(&fixture->layer, START_NS, &ask)) {
        bring_all(ask.message == 1 ? &one : &other, &ask, 0, START_NS);
    }
    message_pump(&fixture->layer, &fixture->peers[0]);
    message_pump(&fixture->layer, &fixture->peers[1]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(completed(fixture).status, 0);
    }
    assert_memory_equal(one.buffer, one.data, bytes);
    assert_memory_equal(other.buffer, other.data, bytes);
    check_nothing_outstanding(fixture);
    end(&one);
    end(&other);
}
