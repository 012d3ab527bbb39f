/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include "message/spare.h"

/** Bytes that are reserved for frames which nobody has received. */
static size_t reserved_bytes(const struct message_layer *layer)
{
    size_t bytes = 0;

    for (const struct spare_pile *pile = layer->spare_piles; pile != NULL; pile = pile->next) {
        bytes += pile->memory_bytes;
    }
    return bytes;
}

FIXTURE_TEST(message_open__reserves_little)
{
    assert_int_equal(fixture->layer.chunk_count, MESSAGE_CHUNKS + PEERS * MESSAGE_PEER_CHUNKS + 1);
    assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count);
    assert_int_equal(reserved_bytes(&fixture->layer),
                     (MESSAGE_CHUNKS_STEP + 1 + MESSAGE_PEERS_STEP * MESSAGE_PEER_CHUNKS) *
                         FRAME_BYTES);
}

FIXTURE_TEST(message_admits__makes_what_peers_have_alone)
{
    size_t others = (MESSAGE_CHUNKS_STEP + 1) * FRAME_BYTES;

    for (uint32_t peers = 1; peers < 5 * MESSAGE_PEERS_STEP; peers++) {
        assert_true(message_admits(&fixture->layer, peers));
        size_t room = (reserved_bytes(&fixture->layer) - others) / FRAME_BYTES;
        assert_true(room >= peers * MESSAGE_PEER_CHUNKS);
        assert_true(room <= (2 * peers + MESSAGE_PEERS_STEP) * MESSAGE_PEER_CHUNKS);
    }
}

/** More than are used in turn come into use only when all of those are out. */
FIXTURE_TEST(operation_take__goes_on_with_what_was_never_used)
{
    static struct message_layer layer;
    const uint32_t most = MESSAGE_OPERATIONS_LISTED + 3;
    uint32_t taken = 0;

    assert_int_equal(message_open(&layer, most, PEERS, FRAME_BYTES), 0);
    assert_int_equal(layer.sends_used, MESSAGE_OPERATIONS_LISTED);
    while (operation_take_send(&layer) != NULL) {
        taken++;
    }
    assert_int_equal(taken, most);
    assert_int_equal(layer.sends_used, most);
    for (taken = 0; operation_take_receive(&layer) != NULL; taken++) {
        assert_int_equal(layer.receives_used,
                         taken < MESSAGE_OPERATIONS_LISTED ? MESSAGE_OPERATIONS_LISTED : taken + 1);
    }
    assert_int_equal(taken, most);
    message_close(&layer);
}

/** Sends messages that nobody waits for, as many as there is credit for. @return how many. */
static uint32_t pile_up(struct fixture *fixture)
{
    const struct message_peer *peer = &fixture->peers[0];
    uint32_t before = peer->flow.expected;

    while (peer->flow.expected != peer->flow.granted) {
        assert_int_equal(arrive_eager(fixture, 0, 1, 1, 0, "x", 1), 0);
    }
    return peer->flow.expected - before;
}

/** Takes so many of those with the tag. */
static void take_tagged(struct fixture *fixture, uint64_t tag, unsigned count)
{
    uint8_t buffer[1];
    struct beowire_completion done;

    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(post(fixture, 0, tag, 0, buffer, 1, NULL), 0);
        assert_true(message_complete(&fixture->layer, &done));
    }
    message_renew_credit(&fixture->layer, &fixture->peers[0]);
}

/** Takes so many of those that are piled up. */
static void take(struct fixture *fixture, unsigned count)
{
    take_tagged(fixture, 1, count);
}

FIXTURE_TEST(message_renew_credit__a_pile_ends_it)
{
    const struct message_peer *peer = &fixture->peers[0];

    assert_int_equal(pile_up(fixture), MESSAGE_PILE_FRAMES);
    take(fixture, MESSAGE_PILE_STEP_FRAMES - 1);
    assert_int_equal(peer->flow.granted, peer->flow.expected);
    take(fixture, 1);
    assert_int_equal(pile_up(fixture), MESSAGE_PILE_STEP_FRAMES);
    assert_int_equal(peer->chunks, MESSAGE_PILE_FRAMES);
}

/** It may be that the application waits for what would come next. */
FIXTURE_TEST(message_starving__a_pile_of_which_nothing_is_taken_may_grow)
{
    struct message_peer *peer = &fixture->peers[0];

    (void)pile_up(fixture);
    message_starving(&fixture->layer, peer);
    assert_int_equal(pile_up(fixture), 3 * MESSAGE_PILE_FRAMES);
    /* While something is taken, it is only a matter of time. */
    for (unsigned i = 0; i < 5; i++) {
        take(fixture, 1);
        message_starving(&fixture->layer, peer);
        assert_int_equal(pile_up(fixture), 1);
        assert_int_equal(peer->chunks, 4 * MESSAGE_PILE_FRAMES);
    }
    message_starving(&fixture->layer, peer);
    assert_true(pile_up(fixture) > 10 * MESSAGE_PILE_FRAMES);
    assert_int_equal(fixture->layer.chunks_shared, 0);
}

/** What comes is waited for, and what came before is not: room for each alone would have to be
 * asked for. */
FIXTURE_TEST(message_starving__a_pile_that_leaves_room_for_a_few)
{
    struct message_peer *peer = &fixture->peers[0];

    (void)pile_up(fixture);
    take(fixture, 1);
    message_starving(&fixture->layer, peer);
    assert_int_equal(peer->flow.granted - peer->flow.expected, 1);
    assert_int_equal(arrive_eager(fixture, 0, 2, 1, 0, "x", 1), 0);
    take_tagged(fixture, 2, 1);
    message_starving(&fixture->layer, peer);
    assert_int_equal(peer->flow.granted - peer->flow.expected, FLOW_WINDOW_FRAMES);
}

FIXTURE_TEST(message_starving__who_has_credit_does_not_starve)
{
    struct message_peer *peer = &fixture->peers[0];
    uint32_t granted = peer->flow.granted;

    peer->drained = true;
    message_starving(&fixture->layer, peer);
    assert_int_equal(peer->flow.granted, granted);
    assert_int_equal(peer->pile_frames, MESSAGE_PILE_FRAMES);
    assert_true(peer->drained);
}

FIXTURE_TEST(message_starving__the_pile_takes_no_more_than_there_is)
{
    struct message_peer *peer = &fixture->peers[0];
    uint32_t others = fixture->peers[1].chunks - MESSAGE_PEER_CHUNKS;

    while (peer->flow.expected != peer->flow.granted) {
        assert_int_equal(arrive_eager(fixture, 0, 1, 1, 0, "x", 1), 0);
        assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count - peer->flow.expected);
        message_starving(&fixture->layer, peer);
    }
    assert_int_equal(peer->chunks, MESSAGE_CHUNKS + MESSAGE_PEER_CHUNKS - others);
    assert_int_equal(fixture->layer.chunks_shared, 0);
    /* Matching one makes room for one. */
    uint8_t buffer[1];
    assert_int_equal(post(fixture, 0, 1, 0, buffer, 1, NULL), 0);
    message_starving(&fixture->layer, peer);
    assert_int_equal(peer->flow.granted - peer->flow.expected, 1);
}

/** Fills all the memory that there is for unexpected messages of the first peer, which starves. */
static void fill_all(struct fixture *fixture)
{
    struct message_peer *peer = &fixture->peers[0];

    fixture->layer.grows = true;
    while (pile_up(fixture) > 0) {
        message_starving(&fixture->layer, peer);
    }
    assert_int_equal(fixture->layer.chunks_shared, 0);
    assert_int_equal(fixture->layer.chunks_added, 0);
}

/** Starves again, and again: in between, the application takes nothing. @return whether it was let
 *  send more. */
static bool starves(struct fixture *fixture)
{
    struct message_peer *peer = &fixture->peers[0];

    message_starving(&fixture->layer, peer);
    message_starving(&fixture->layer, peer);
    return peer->flow.granted != peer->flow.expected;
}

/** Then only what is behind all that can be what it waits for. */
FIXTURE_TEST(message_starving__memory_is_full_and_another_tag_is_waited_for)
{
    uint8_t buffer[1];
    uint32_t more = 0;

    fill_all(fixture);
    assert_int_equal(post(fixture, 0, 2, 0, buffer, 1, NULL), 0);
    while (more <= 3 * MESSAGE_CHUNKS) {
        assert_true(starves(fixture));
        more += pile_up(fixture);
        assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count +
                                                   fixture->layer.chunks_added -
                                                   fixture->peers[0].flow.expected);
    }
    assert_true(starves(fixture));
    assert_int_equal(arrive_eager(fixture, 0, 2, 1, 0, "y", 1), 0);
    assert_int_equal(completed(fixture).tag, 2);
    assert_int_equal(buffer[0], 'y');
    take(fixture, fixture->peers[0].flow.expected - 1);
    assert_int_equal(free_chunks(fixture),
                     fixture->layer.chunk_count + fixture->layer.chunks_added);
}

FIXTURE_TEST(message_starving__memory_is_full_and_anybody_is_waited_for)
{
    struct message_peer *touched = NULL;

    fill_all(fixture);
    assert_int_equal(message_receive(&fixture->layer, NULL, 2, 0, NULL, 0, NULL, &touched), 0);
    assert_true(starves(fixture));
}

FIXTURE_TEST(message_starving__memory_is_full_and_a_message_is_looked_for)
{
    struct beowire_completion found;

    fill_all(fixture);
    assert_int_equal(message_peek(&fixture->layer, NULL, 2, 0, &found), -ENOMSG);
    message_starving(&fixture->layer, &fixture->peers[0]);
    assert_int_not_equal(fixture->layer.chunks_added, 0);
}

/** Both send, and neither receives before it has sent all. */
FIXTURE_TEST(message_starving__memory_is_full_and_the_peer_takes_nothing)
{
    struct message_peer *peer = &fixture->peers[0];

    fill_all(fixture);
    peer->flow.limit = peer->flow.next;
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, "x", 1, NULL), 0);
    message_pump(&fixture->layer, peer);
    assert_true(starves(fixture));
}

/** Whoever asked for a number of operations has all memory at the beginning. */
FIXTURE_TEST(message_starving__memory_is_full_and_may_not_grow)
{
    uint8_t buffer[1];

    fill_all(fixture);
    fixture->layer.grows = false;
    assert_int_equal(post(fixture, 0, 2, 0, buffer, 1, NULL), 0);
    assert_false(starves(fixture));
}

FIXTURE_TEST(message_renew_credit__a_peers_share_shrinks_with_their_number)
{
    fixture->peers[0].window_frames = FLOW_WINDOW_FRAMES;
    fixture->layer.ready_peers = 2 * LANE_RING_FRAMES / FLOW_WINDOW_FRAMES;
    message_renew_credit(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(fixture->peers[0].flow.granted, FLOW_WINDOW_FRAMES / 2);
    fixture->layer.ready_peers = 1000000;
    message_renew_credit(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(fixture->peers[0].flow.granted, FLOW_WINDOW_FRAMES / 2);
}

FIXTURE_TEST(message_peer_failed__ends_all_its_operations)
{
    uint8_t *data = pattern(EAGER_BYTES + 1);
    uint8_t buffer[8];
    unsigned ended = 0;
    struct beowire_completion done;

    /* DRAINING, ANNOUNCED, QUEUED; POSTED, RECEIVING */
    use_up_copies(fixture);
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, 1000, NULL), 0);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, EAGER_BYTES + 1, NULL), 0);
    fixture->peers[0].ready = false;
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, 10, NULL), 0);
    fixture->peers[0].ready = true;
    assert_int_equal(post(fixture, 0, 5, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(post(fixture, ANYONE, 6, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 6, 600, 9, data, 100), 0);
    fail_peer(fixture, 0, -ETIMEDOUT);
    while (message_complete(&fixture->layer, &done)) {
        assert_int_equal(done.status, -ETIMEDOUT);
        assert_int_equal(done.peer, 0);
        ended++;
    }
    assert_int_equal(ended, 5);
    assert_int_equal(pushed(fixture, 0), 0);
    free(data);
}

FIXTURE_TEST(message_peer_failed__whole_messages_can_still_be_received)
{
    uint8_t buffer[8] = {0};

    assert_int_equal(arrive_eager(fixture, 0, 6, 3, 0, "abc", 3), 0);
    fail_peer(fixture, 0, -ETIMEDOUT);
    assert_int_equal(fixture->peers[0].chunks, 1);
    assert_int_equal(post(fixture, 0, 6, 0, buffer, sizeof buffer, NULL), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.bytes, 3);
    assert_memory_equal(buffer, "abc", 3);
    assert_int_equal(fixture->peers[0].chunks, 0);
    assert_int_equal(post(fixture, 0, 6, 0, buffer, sizeof buffer, NULL), -ETIMEDOUT);
}

FIXTURE_TEST(message_complete__oldest_first)
{
    struct beowire_completion done;
    int contexts[3];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], i, 0, "x", 1, &contexts[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        done = completed(fixture);
        assert_ptr_equal(done.context, &contexts[i]);
        assert_int_equal(done.operation, BEOWIRE_SEND);
        assert_int_equal(done.tag, i);
    }
    assert_false(message_complete(&fixture->layer, &done));
}

FIXTURE_TEST(message_peer_leaves__what_has_not_begun_ends)
{
    struct message_peer *peer = &fixture->peers[0];
    uint8_t *data = pattern(LONG_BYTES);

    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, data, LONG_BYTES, data), 0);
    peer->flow.limit = peer->flow.next;
    assert_int_equal(message_send(&fixture->layer, peer, 2, 0, data, 1, data + 1), 0);
    assert_true(message_peer_leaves(&fixture->layer, peer));
    struct beowire_completion done = completed(fixture);
    assert_ptr_equal(done.context, data + 1);
    assert_int_equal(done.status, -ECONNRESET);
    done = completed(fixture);
    assert_ptr_equal(done.context, data);
    assert_int_equal(done.status, -ECONNRESET);
    assert_false(message_peer_leaves(&fixture->layer, peer));
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, data, 1, NULL), -ECONNRESET);
    assert_int_equal(message_inject(&fixture->layer, peer, 1, 0, data, 1), -ECONNRESET);
    free(data);
}

/** Its first frame has left: the peer waits for the others. */
FIXTURE_TEST(message_peer_leaves__what_has_begun_goes_on)
{
    struct message_peer *peer = &fixture->peers[0];
    uint8_t *data = pattern(EAGER_ROOM + FRAGMENT_ROOM);

    while (pushed(fixture, 0) < FLOW_WINDOW_FRAMES - 1) {
        assert_int_equal(message_send(&fixture->layer, peer, 1, 0, data, 1, NULL), 0);
        (void)completed(fixture);
    }
    assert_int_equal(
        message_send(&fixture->layer, peer, 1, 0, data, EAGER_ROOM + FRAGMENT_ROOM, data), 0);
    assert_int_equal(pushed(fixture, 0), FLOW_WINDOW_FRAMES);
    assert_false(message_peer_leaves(&fixture->layer, peer));
    acknowledge(fixture, 0, 1);
    struct beowire_completion done = completed(fixture);
    assert_ptr_equal(done.context, data);
    assert_int_equal(done.status, 0);
    free(data);
}

FIXTURE_TEST(message_initial_credit__less_the_more_peers_there_are)
{
    const struct {
        uint32_t ready;
        uint32_t credit;
    } cases[] = {{0, FLOW_INITIAL_CREDIT_FRAMES},
                 {PULL_FREE_PEERS - 1, FLOW_INITIAL_CREDIT_FRAMES},
                 {PULL_FREE_PEERS, PULL_UNASKED_FRAMES_MIN - 1},
                 {31, LANE_RING_FRAMES / 32},
                 {500, MESSAGE_PEER_CHUNKS}};
    struct message_peer *peer = &fixture->peers[0];
    const uint32_t ready = fixture->layer.ready_peers;
    const uint32_t far = fixture->layer.far_peers;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture->layer.ready_peers = fixture->layer.far_peers = cases[i].ready;
        assert_int_equal(message_initial_credit(&fixture->layer, peer, FRAME_BYTES),
                         cases[i].credit);
        message_peer_never_ready(&fixture->layer, peer, cases[i].credit);
    }
    /* As little if the others are not ready yet, or for fewer and longer frames. */
    fixture->layer.ready_peers = fixture->layer.far_peers = 0;
    fixture->layer.first_credits = 31;
    assert_int_equal(message_initial_credit(&fixture->layer, peer, FRAME_BYTES),
                     LANE_RING_FRAMES / 32);
    message_peer_never_ready(&fixture->layer, peer, LANE_RING_FRAMES / 32);
    fixture->layer.first_credits = 15;
    assert_int_equal(message_initial_credit(&fixture->layer, peer, 9000),
                     PULL_CROWD_SHARED_BYTES / 2 / 9000 / 16);
    message_peer_never_ready(&fixture->layer, peer, PULL_CROWD_SHARED_BYTES / 2 / 9000 / 16);
    /* On our host, no switch is between. */
    assert_int_equal(message_initial_credit(&fixture->layer, peer, 0), FLOW_INITIAL_CREDIT_FRAMES);
    message_peer_never_ready(&fixture->layer, peer, FLOW_INITIAL_CREDIT_FRAMES);
    fixture->layer.first_credits = 0;
    fixture->layer.ready_peers = ready;
    fixture->layer.far_peers = far;
}

FIXTURE_TEST(message_peer_shares_memory__is_not_far)
{
    struct message_peer *peer = &fixture->peers[0];
    const uint32_t far = fixture->layer.far_peers;

    assert_int_equal(far, fixture->layer.ready_peers);
    for (unsigned i = 0; i < 4; i++) { /* each twice */
        message_peer_shares_memory(&fixture->layer, peer, i < 2);
        assert_int_equal(fixture->layer.far_peers, i < 2 ? far - 1 : far);
    }
}
