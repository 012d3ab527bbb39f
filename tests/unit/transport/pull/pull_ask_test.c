/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull_rig.h"

FIXTURE_TEST(pull_ask__covers_every_length_and_buffer)
{
    const uint64_t sizes[] = {
        1,         SEGMENT - 1,         SEGMENT,   SEGMENT + 1,         BLOCK - 1,     BLOCK,
        BLOCK + 1, 3 * BLOCK - SEGMENT, 3 * BLOCK, 3 * BLOCK + SEGMENT, 20 * BLOCK + 5};
    const uint64_t count = sizeof sizes / sizeof *sizes;
    uint64_t now_ns = START_NS;

    for (uint64_t i = 0; i < count * count; i++) {
        uint64_t bytes = sizes[i / count];
        uint64_t capacity = sizes[i % count];
        struct transfer transfer = begin(fixture, 0, (uint32_t)i, bytes, capacity);
        uint64_t asked_bytes = 0;
        struct pull_ask ask;
        while (ask_next(&fixture->layer, ++now_ns, &ask)) {
            assert_ptr_equal(ask.peer, &fixture->peers[0]);
            assert_int_equal(ask.message, i);
            assert_int_equal(ask.offset, asked_bytes);
            unsigned segments = (unsigned)__builtin_popcountll(ask.wanted);
            assert_true(ask.wanted == UINT64_MAX || ask.wanted == (UINT64_C(1) << segments) - 1);
            asked_bytes += segments * SEGMENT;
            check_balance(fixture);
            bring_all(&transfer, &ask, 0, now_ns);
        }
        uint64_t wanted = bytes < capacity ? bytes : capacity;
        assert_int_equal(asked_bytes, (wanted + SEGMENT - 1) / SEGMENT * SEGMENT);
        check_complete(&transfer);
        check_nothing_outstanding(fixture);
        acknowledge(fixture, 0, pushed(fixture, 0));
        end(&transfer);
    }
    assert_int_equal(fixture->layer.counters.pulls_repeated, 0);
}

FIXTURE_TEST(pull_ask__several_blocks_in_one)
{
    const uint64_t bytes = 22 * BLOCK + 5;

    fixture->layer.limits.blocks_together = 4;
    fixture->layer.lanes[0].capacity_bytes = UINT64_MAX;
    struct transfer transfer = begin(fixture, 0, 1, bytes, bytes);
    for (unsigned i = 0; i < PULL_BLOCKS; i += 4) {
        struct pull_ask ask = asked(fixture, START_NS);
        assert_int_equal(ask.offset, i * BLOCK);
        assert_int_equal(ask.more, 3);
    }
    assert_true(nothing_asked(fixture, START_NS));
    /* While enough is under way it waits until it pays; for the last ones it does not. */
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(nothing_asked(fixture, START_NS));
        bring_block(&transfer, i, START_NS);
    }
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.offset, PULL_BLOCKS * BLOCK);
    assert_int_equal(ask.more, 3);
    assert_true(nothing_asked(fixture, START_NS));
    for (uint64_t i = 4; i < 6; i++) {
        assert_true(nothing_asked(fixture, START_NS));
        bring_block(&transfer, i, START_NS);
    }
    assert_true(nothing_asked(fixture, START_NS));
    bring_block(&transfer, 6, START_NS);
    ask = asked(fixture, START_NS);
    assert_int_equal(ask.offset, 20 * BLOCK);
    assert_int_equal(ask.more, 2);
    check_balance(fixture);
    for (uint64_t i = 7; i < 23; i++) {
        bring_block(&transfer, i, START_NS);
    }
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

FIXTURE_TEST(pull_ask__no_whole_blocks_where_the_buffer_ends_before)
{
    fixture->layer.limits.blocks_together = 4;
    struct transfer transfer = begin(fixture, 0, 1, 8 * BLOCK, 3 * BLOCK + 1);
    for (unsigned i = 0; i < 4; i++) {
        struct pull_ask ask = asked(fixture, START_NS);
        assert_int_equal(ask.offset, i * BLOCK);
        assert_int_equal(ask.wanted, i < 3 ? UINT64_MAX : 1);
        assert_int_equal(ask.more, 0);
        bring_all(&transfer, &ask, 0, START_NS);
    }
    check_complete(&transfer);
    end(&transfer);
}

FIXTURE_TEST(pull_ask__no_more_than_the_lane_has_room_for)
{
    fixture->layer.lanes[0].capacity_bytes = 3 * BLOCK;
    struct transfer first = begin(fixture, 0, 1, 10 * BLOCK, 10 * BLOCK);
    struct transfer second = begin(fixture, 1, 2, 10 * BLOCK, 10 * BLOCK);
    struct pull_ask ask[3];
    for (unsigned i = 0; i < 3; i++) {
        ask[i] = asked(fixture, START_NS);
    }
    /* In turns. */
    assert_ptr_not_equal(ask[0].peer, ask[1].peer);
    assert_ptr_equal(ask[0].peer, ask[2].peer);
    assert_true(nothing_asked(fixture, START_NS));
    assert_int_equal(fixture->layer.lanes[0].outstanding_bytes, 3 * BLOCK);
    bring_all(ask[0].message == 1 ? &first : &second, &ask[0], 0, START_NS);
    assert_ptr_equal(asked(fixture, START_NS).peer, ask[1].peer);
    assert_true(nothing_asked(fixture, START_NS));
    fail_peer(fixture, 0, -ETIMEDOUT);
    fail_peer(fixture, 1, -ETIMEDOUT);
    check_nothing_outstanding(fixture);
    end(&first);
    end(&second);
}

/** Short blocks fit wherever something becomes free, a long one only when they leave it some room.
 */
FIXTURE_TEST(pull_ask__a_long_block_is_not_passed_by_short_ones_for_ever)
{
    struct message_layer *layer = &fixture->layer;
    enum { SHORTS = 12, SHORT_BYTES = BLOCK / 4 };
    struct transfer shorts[SHORTS];
    struct pull_ask asks[SHORTS];
    struct pull_ask ask;
    bool asked_for[SHORTS] = {false};
    unsigned rounds = 0;
    bool come = false;

    layer->lanes[0].capacity_bytes = SHORTS * SHORT_BYTES;
    for (unsigned i = 0; i < SHORTS; i++) {
        shorts[i] = begin(fixture, 0, i, SHORT_BYTES, SHORT_BYTES);
        asks[i] = asked(fixture, START_NS);
    }
    struct transfer long_one = begin(fixture, 1, 100, BLOCK, BLOCK);
    assert_true(nothing_asked(fixture, START_NS));
    /* One after the other ends, and another takes its place in the line. */
    for (; rounds < SHORTS && !come; rounds++) {
        bring_all(&shorts[rounds], &asks[rounds], 0, START_NS);
        check_complete(&shorts[rounds]);
        end(&shorts[rounds]);
        shorts[rounds] = begin(fixture, 0, 200 + rounds, SHORT_BYTES, SHORT_BYTES);
        while (ask_next(layer, START_NS, &ask)) {
            come = come || ask.message == 100;
            asked_for[rounds] = ask.message >= 200;
        }
        assert_true(layer->lanes[0].outstanding_bytes <= SHORTS * SHORT_BYTES);
        check_balance(fixture);
    }
    assert_true(come);
    assert_int_equal(rounds, BLOCK / SHORT_BYTES);
    for (unsigned i = 0; i < rounds; i++) {
        assert_false(asked_for[i]); /* all came later than the long one */
    }
    fail_peer(fixture, 0, -ETIMEDOUT);
    fail_peer(fixture, 1, -ETIMEDOUT);
    check_nothing_outstanding(fixture);
    for (unsigned i = 0; i < SHORTS; i++) {
        end(&shorts[i]);
    }
    end(&long_one);
}

/** A peer that has died owes many messages: what does waiting for it cost? */
FIXTURE_TEST(pull_ask__a_dead_peer_costs_little)
{
    struct transfer transfers[OPERATIONS];
    struct pull_ask ask;
    unsigned asks = 0;
    uint64_t now_ns = START_NS;

    fixture->layer.lanes[0].capacity_bytes = 64 * BLOCK;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        transfers[i] = begin(fixture, 0, i + 1, 10 * BLOCK, 10 * BLOCK);
    }
    while (now_ns < START_NS + UINT64_C(30000000000)) {
        while (ask_next(&fixture->layer, now_ns, &ask)) {
            asks++;
        }
        check_balance(fixture);
        assert_true(pull_deadline(&fixture->layer) > now_ns);
        now_ns = pull_deadline(&fixture->layer);
    }
    assert_true(asks < 2 * 64 + 100);
    assert_int_equal(fixture->layer.lanes[0].outstanding_bytes, 0); /* others have all the room */
    fail_peer(fixture, 0, -ETIMEDOUT);
    check_nothing_outstanding(fixture);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        assert_int_equal(completed(fixture).status, -ETIMEDOUT);
        end(&transfers[i]);
    }
}

/** A card has no room for requests, or will never take one again. */
FIXTURE_TEST(pull_refused__is_asked_again_and_a_path_falls_silent_in_time)
{
    struct message_layer *layer = &fixture->layer;
    const uint64_t due_ns = START_NS + PULL_TIMEOUT_FIRST_NS;

    use_two_lanes(fixture, 0);
    layer->limits.blocks_together = 2;
    struct transfer transfer = begin(fixture, 0, 7, 2 * BLOCK, 2 * BLOCK);
    struct pull_ask ask = asked(fixture, START_NS);
    const uint8_t lane = ask.lane;
    const uint32_t more = ask.more;
    for (uint64_t now_ns = START_NS; now_ns < due_ns; now_ns += PULL_TIMEOUT_FIRST_NS / 10) {
        assert_int_equal(ask.lane, lane);
        assert_int_equal(ask.offset, 0);
        assert_int_equal(ask.more, more);
        assert_int_equal(fixture->peers[0].pull_paths[lane].silences, 0);
        pull_refused(layer, &ask);
        assert_true(nothing_asked(fixture, now_ns));
        assert_int_equal(pull_deadline(layer), due_ns);
        pull_retry(layer);
        ask = asked(fixture, now_ns);
        check_balance(fixture);
    }
    assert_int_equal(layer->counters.pulls_repeated, 0);
    pull_refused(layer, &ask);
    pull_retry(layer);
    ask = asked(fixture, due_ns);
    assert_int_not_equal(ask.lane, lane);
    assert_int_equal(fixture->peers[0].pull_paths[lane].silences, 1);
    assert_int_equal(layer->counters.pull_timeouts, 1);
    do {
        bring_all(&transfer, &ask, 0, due_ns);
    } while (ask_next(layer, due_ns, &ask));
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

/** Those of other messages may leave over another lane. */
FIXTURE_TEST(pull_refused__others_are_asked)
{
    struct message_layer *layer = &fixture->layer;
    struct transfer transfers[] = {begin(fixture, 0, 1, BLOCK, BLOCK),
                                   begin(fixture, 1, 2, BLOCK, BLOCK)};
    struct pull_ask refused = asked(fixture, START_NS);

    pull_refused(layer, &refused);
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.message, 2);
    assert_true(nothing_asked(fixture, START_NS));
    bring_all(&transfers[1], &ask, 0, START_NS);
    assert_true(nothing_asked(fixture, START_NS));
    pull_retry(layer);
    ask = asked(fixture, START_NS + 1000);
    assert_int_equal(ask.message, 1);
    assert_true(nothing_asked(fixture, START_NS + 1000));
    pull_retry(layer); /* it was sent */
    assert_true(nothing_asked(fixture, START_NS + 1000));
    assert_int_equal(pull_deadline(layer), START_NS + 1000 + PULL_TIMEOUT_FIRST_NS);
    bring_all(&transfers[0], &ask, 0, START_NS + 1000);
    for (unsigned i = 0; i < 2; i++) {
        check_complete(&transfers[1 - i]);
        end(&transfers[1 - i]);
    }
    check_nothing_outstanding(fixture);
}

FIXTURE_TEST(pull_ask__goes_on_at_once_when_a_peer_is_back)
{
    struct transfer transfer = begin(fixture, 0, 7, 5 * BLOCK, 5 * BLOCK);
    struct pull_ask ask = {0};
    uint64_t now_ns = START_NS;

    for (unsigned i = 0; i < 20; i++) {
        while (ask_next(&fixture->layer, now_ns, &ask)) {
            /* nothing comes */
        }
        now_ns = pull_deadline(&fixture->layer);
    }
    ask = asked(fixture, now_ns);
    assert_true(nothing_asked(fixture, now_ns));
    uint64_t probed = ask.offset;
    bring_all(&transfer, &ask, 0, now_ns);
    for (unsigned i = 0; i < 4; i++) {
        ask = asked(fixture, now_ns);
        assert_int_not_equal(ask.offset, probed);
        bring_all(&transfer, &ask, 0, now_ns);
    }
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    end(&transfer);
}

#define MANY (PULL_FREE_PEERS + 1u)

/** The others send nothing. */
static void make_many_ready(struct fixture *fixture)
{
    for (unsigned i = 2; i < PEERS; i++) {
        make_ready(fixture, i);
    }
    fixture->layer.ready_peers = fixture->layer.far_peers = MANY;
}

FIXTURE_TEST(pull_ask__of_many_peers_little_at_first_and_more_as_it_comes)
{
    const uint64_t bytes = 4 * BLOCK;
    uint64_t most = PULL_BEGIN_BYTES;
    uint64_t largest = 0;
    struct pull_ask ask;

    make_many_ready(fixture);
    fixture->layer.pulled_last = fixture->peers[0].handle; /* as when it is the first of all */
    struct transfer transfer = begin(fixture, 0, 1, bytes, bytes);
    assert_int_equal(fixture->layer.pull_window_bytes, PULL_BEGIN_BYTES);
    while (ask_next(&fixture->layer, START_NS, &ask)) {
        uint64_t asked_bytes = (unsigned)__builtin_popcountll(ask.wanted) * SEGMENT;
        assert_true(fixture->layer.lanes[0].outstanding_bytes <= most);
        bring_all(&transfer, &ask, 0, START_NS);
        most += asked_bytes;
        largest = asked_bytes > largest ? asked_bytes : largest;
    }
    assert_int_equal(largest, BLOCK); /* a whole block, in the end */
    check_complete(&transfer);
    check_nothing_outstanding(fixture);
    assert_int_equal(fixture->layer.counters.pulls_repeated, 0);
    end(&transfer);
}

/** The requests of a block are for different segments, and each of them is for another message
 *  than the one before. */
FIXTURE_TEST(pull_ask__of_a_crowd_small_pieces_in_turn)
{
    struct transfer transfers[PEERS];
    struct pull_ask asks[PEERS];
    const uint64_t room = PULL_CROWD_BYTES + PULL_CROWD_SHARED_BYTES / MANY;
    const uint64_t piece = room / PULL_CROWD_PIECES / SEGMENT;

    make_many_ready(fixture);
    for (unsigned i = 0; i < PEERS; i++) {
        transfers[i] = begin(fixture, i, i, BLOCK, BLOCK);
    }
    assert_true(piece < 64);
    for (uint64_t done = 0; done < 64; done += piece) {
        uint64_t left = 64 - done < piece ? 64 - done : piece;
        for (unsigned i = 0; i < PEERS; i++) {
            asks[i] = asked(fixture, START_NS);
            assert_int_equal(asks[i].message, i);
            assert_int_equal(asks[i].wanted, ((UINT64_C(1) << left) - 1) << done);
            assert_int_equal(asks[i].more, 0);
        }
        assert_true(nothing_asked(fixture, START_NS)); /* not two pieces of a block */
        check_balance(fixture);
        for (unsigned i = 0; i < PEERS; i++) {
            bring_all(&transfers[i], &asks[i], 0, START_NS);
        }
    }
    for (unsigned i = 0; i < PEERS; i++) {
        check_complete(&transfers[i]);
        end(&transfers[i]);
    }
    check_nothing_outstanding(fixture);
    assert_int_equal(fixture->layer.counters.pulls_repeated, 0);
}

/** Of a slow sender no more than of others. */
FIXTURE_TEST(pull_ask__of_a_crowd_no_more_than_a_switch_has_room_for)
{
    struct transfer transfers[PEERS];
    const uint64_t room = PULL_CROWD_BYTES + PULL_CROWD_SHARED_BYTES / MANY;

    make_many_ready(fixture);
    for (unsigned i = 0; i < PEERS; i++) {
        transfers[i] = begin(fixture, i, i, PULL_BLOCKS * BLOCK, PULL_BLOCKS * BLOCK);
    }
    while (!nothing_asked(fixture, START_NS)) {
        assert_true(fixture->layer.lanes[0].outstanding_bytes <= room);
    }
    for (unsigned i = 0; i < PEERS; i++) {
        uint64_t out = fixture->peers[i].pull_paths[0].outstanding_bytes;
        assert_in_range(out, room / PEERS - room / PULL_CROWD_PIECES, room / PEERS);
    }
    for (unsigned i = 0; i < PEERS; i++) {
        fail_peer(fixture, i, -ETIMEDOUT);
        end(&transfers[i]);
    }
    check_nothing_outstanding(fixture);
}

static void begin_crowd(struct fixture *fixture, struct transfer *transfers)
{
    make_many_ready(fixture);
    for (unsigned i = 0; i < PEERS; i++) {
        transfers[i] = begin(fixture, i, i, PULL_BLOCKS * BLOCK, PULL_BLOCKS * BLOCK);
    }
}

/** @return how much is requested. */
static uint64_t ask_of_crowd(struct fixture *fixture, struct transfer *transfers)
{
    uint64_t out = 0;

    while (!nothing_asked(fixture, START_NS)) {
        /* as much as there is room for */
    }
    for (unsigned i = 0; i < 2; i++) {
        out += fixture->layer.lanes[i].outstanding_bytes;
    }
    for (unsigned i = 0; i < PEERS; i++) {
        fail_peer(fixture, i, -ETIMEDOUT);
        end(&transfers[i]);
    }
    check_nothing_outstanding(fixture);
    return out;
}

/** What comes in the shortest round trip fills the window, so more would come. */
FIXTURE_TEST(pull_ask__of_a_crowd_more_if_the_window_is_the_limit)
{
    const uint64_t room = PULL_CROWD_BYTES + PULL_CROWD_SHARED_BYTES / MANY;
    struct transfer transfers[PEERS];

    begin_crowd(fixture, transfers);
    fixture->layer.pull_rtt.minimum_ns = 20000;
    fixture->layer.lanes[0].rate.bytes_per_us = (uint32_t)(room * 9 / 10 / 20);
    assert_in_range(ask_of_crowd(fixture, transfers), room, room + PULL_CROWD_BYTES * 3);
}

/** What is requested if 50 bytes come in a microsecond, at most `best`, so late. */
static uint64_t ask_of_late_crowd(struct fixture *fixture, uint32_t best, uint64_t late_ns)
{
    struct message_lane *lane = &fixture->layer.lanes[0];
    struct transfer transfers[PEERS];

    lane->best_rate = UINT32_MAX; /* of another load */
    begin_crowd(fixture, transfers);
    assert_int_equal(lane->best_rate, 0);
    fixture->layer.pull_rtt.minimum_ns = 20000;
    fixture->layer.pull_rtt.smoothed_ns = late_ns;
    lane->rate.bytes_per_us = 50;
    lane->best_rate = best;
    return ask_of_crowd(fixture, transfers);
}

FIXTURE_TEST(pull_ask__of_a_crowd_more_if_its_senders_are_busy)
{
    assert_in_range(ask_of_late_crowd(fixture, 50 * 100 / PULL_CROWD_LATE_PERCENT + 1, 2000000),
                    100000, PULL_CROWD_BYTES_MAX + PULL_CROWD_SHARED_BYTES / MANY);
}

FIXTURE_TEST(pull_ask__of_a_crowd_no_more_if_it_waits_in_the_switch)
{
    assert_in_range(ask_of_late_crowd(fixture, 50, 2000000), 1,
                    PULL_CROWD_BYTES + PULL_CROWD_SHARED_BYTES / MANY);
}

/** Its link may have become slower. */
FIXTURE_TEST(pull_ask__of_a_crowd_not_more_and_more)
{
    assert_in_range(ask_of_late_crowd(fixture, 1000, PULL_TIMEOUT_MAX_NS), PULL_CROWD_BYTES_MAX / 2,
                    PULL_CROWD_BYTES_MAX + PULL_CROWD_SHARED_BYTES / MANY);
}

FIXTURE_TEST(pull_ask__of_a_crowd_as_much_over_each_of_two_rails)
{
    const uint64_t room = PULL_CROWD_BYTES + PULL_CROWD_SHARED_BYTES / MANY;
    struct transfer transfers[PEERS];

    begin_crowd(fixture, transfers);
    for (unsigned i = 0; i < PEERS; i++) {
        fixture->peers[i].bulk_lanes = fixture->peers[i].usable_lanes = 3;
    }
    assert_in_range(ask_of_crowd(fixture, transfers), room * 9 / 5, room * 2);
}

/** Few senders are left, or all are on our host. */
FIXTURE_TEST(pull_ask__whole_blocks_of_those_that_are_no_crowd)
{
    const uint64_t bytes = 4 * BLOCK;
    struct transfer transfers[PULL_CROWD_PEERS + 1];

    make_many_ready(fixture);
    for (unsigned i = 0; i <= PULL_CROWD_PEERS; i++) {
        message_peer_shares_memory(&fixture->layer, &fixture->peers[i], true);
        transfers[i] = begin(fixture, i, i, bytes, bytes);
        assert_false(fixture->layer.pulls_crowd);
    }
    struct pull_ask ask = asked(fixture, START_NS);
    assert_int_equal(ask.wanted, UINT64_MAX);
    bring_all(&transfers[ask.message], &ask, 0, START_NS);
    assert_int_equal(fixture->layer.pull_window_bytes, 0); /* it is for other hosts */
    for (unsigned i = 0; i <= PULL_CROWD_PEERS; i++) {
        fail_peer(fixture, i, -ETIMEDOUT);
        end(&transfers[i]);
    }
    assert_int_equal(fixture->layer.pulled_peers, 0);
}

FIXTURE_TEST(pull_ask__a_crowd_ends_with_its_senders)
{
    const uint64_t bytes = 16 * BLOCK;
    struct transfer transfers[PULL_CROWD_PEERS + 1];
    uint64_t largest = 0;
    struct pull_ask ask;

    make_many_ready(fixture);
    for (unsigned i = 0; i <= PULL_CROWD_PEERS; i++) {
        transfers[i] = begin(fixture, i, i, bytes, bytes);
    }
    assert_true(fixture->layer.pulls_crowd);
    for (unsigned i = 1; i <= PULL_CROWD_PEERS; i++) {
        fail_peer(fixture, i, -ETIMEDOUT);
        assert_int_equal(completed(fixture).status, -ETIMEDOUT);
        end(&transfers[i]);
    }
    assert_false(fixture->layer.pulls_crowd);
    while (ask_next(&fixture->layer, START_NS, &ask)) {
        uint64_t asked_bytes = (unsigned)__builtin_popcountll(ask.wanted) * SEGMENT;
        largest = asked_bytes > largest ? asked_bytes : largest;
        bring_all(&transfers[0], &ask, 0, START_NS);
    }
    assert_int_equal(largest, BLOCK);
    check_complete(&transfers[0]);
    end(&transfers[0]);
    check_nothing_outstanding(fixture);
}

/** A piece has come, and before the next is requested, the answer to an earlier request. */
FIXTURE_TEST(pull_data__the_rest_of_a_block_comes_late_and_unrequested)
{
    struct transfer transfer = begin(fixture, 0, 1, BLOCK, BLOCK);
    struct pull_ask whole = asked(fixture, START_NS);

    assert_int_equal(whole.wanted, UINT64_MAX);
    make_many_ready(fixture);
    struct transfer others[PULL_CROWD_PEERS]; /* with them it is a crowd */
    for (unsigned i = 0; i < PULL_CROWD_PEERS; i++) {
        others[i] = begin(fixture, 1 + i, 2, BLOCK, BLOCK);
    }
    for (unsigned i = 0; i < PULL_CROWD_PEERS; i++) {
        (void)asked(fixture, START_NS);
    }
    struct pull_ask piece = asked(fixture, START_NS + PULL_TIMEOUT_FIRST_NS);
    assert_int_equal(piece.message, 1);
    assert_true(piece.wanted != whole.wanted);
    bring_all(&transfer, &piece, 0, START_NS + PULL_TIMEOUT_FIRST_NS);
    check_balance(fixture);
    bring_all(&transfer, &whole, piece.wanted, START_NS + PULL_TIMEOUT_FIRST_NS);
    check_complete(&transfer);
    for (unsigned i = 0; i < PULL_CROWD_PEERS; i++) {
        fail_peer(fixture, 1 + i, -ETIMEDOUT);
        end(&others[i]);
    }
    check_nothing_outstanding(fixture);
    end(&transfer);
}
