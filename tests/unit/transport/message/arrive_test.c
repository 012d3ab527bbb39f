/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include "pull/pull.h"

FIXTURE_TEST(message_frame__eager_for_a_receive_that_waits)
{
    uint8_t buffer[8] = {0};

    assert_int_equal(post(fixture, 0, 5, 0, buffer, sizeof buffer, buffer), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 3, 0, "abc", 3), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.operation, BEOWIRE_RECEIVE);
    assert_int_equal(done.status, 0);
    assert_ptr_equal(done.context, buffer);
    assert_int_equal(done.peer, 0);
    assert_int_equal(done.tag, 5);
    assert_int_equal(done.bytes, 3);
    assert_int_equal(done.immediate, 77);
    assert_memory_equal(buffer, "abc\0", 4);
}

FIXTURE_TEST(message_frame__empty_message)
{
    assert_int_equal(arrive_eager(fixture, 0, 5, 0, 0, NULL, 0), 0);
    assert_int_equal(post(fixture, 0, 5, 0, NULL, 0, NULL), 0);
    assert_int_equal(completed(fixture).bytes, 0);
    assert_int_equal(post(fixture, 0, 5, 0, NULL, 0, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 0, 0, NULL, 0), 0);
    assert_int_equal(completed(fixture).bytes, 0);
}

FIXTURE_TEST(message_frame__longer_than_the_buffer)
{
    uint8_t buffer[] = "....";

    assert_int_equal(post(fixture, 0, 5, 0, buffer, 2, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 3, 0, "abc", 3), 0);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, -EMSGSIZE);
    assert_int_equal(done.bytes, 3);
    assert_memory_equal(buffer, "ab..", 4);
    assert_int_equal(fixture->layer.counters.truncated_messages, 1);
}

FIXTURE_TEST(message_frame__fragments_for_a_receive_that_waits)
{
    uint8_t *data = pattern(1000);
    uint8_t *buffer = calloc(1, 1000);

    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1000, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 1000, 9, data, 400), 0);
    assert_true(message_depends_on(&fixture->peers[0]));
    assert_int_equal(arrive_fragment(fixture, 0, 9, 400, data + 400, 400), 0);
    assert_true(nothing_completed(fixture));
    assert_int_equal(arrive_fragment(fixture, 0, 9, 800, data + 800, 200), 0);
    assert_int_equal(completed(fixture).status, 0);
    assert_memory_equal(buffer, data, 1000);
    assert_false(message_depends_on(&fixture->peers[0]));
    assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count);
    free(data);
    free(buffer);
}

FIXTURE_TEST(message_awaits_rest__if_a_receive_has_the_message)
{
    const struct message_peer *peer = &fixture->peers[0];
    uint8_t *data = pattern(1000);
    uint8_t *buffer = calloc(1, 1000);

    assert_false(message_is_half_here(peer));
    assert_int_equal(arrive_eager(fixture, 0, 5, 1000, 9, data, 400), 0);
    assert_true(message_is_half_here(peer));
    assert_false(message_awaits_rest(peer));
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 1000, NULL), 0);
    assert_true(message_awaits_rest(peer));
    assert_int_equal(arrive_fragment(fixture, 0, 9, 400, data + 400, 600), 0);
    assert_false(message_is_half_here(peer));
    assert_false(message_awaits_rest(peer));
    free(data);
    free(buffer);
}

FIXTURE_TEST(message_frame__messages_of_two_peers_may_have_one_name)
{
    uint8_t *data = pattern(1000);
    uint8_t first[500];
    uint8_t second[500];

    assert_int_equal(post(fixture, 0, 5, 0, first, 500, NULL), 0);
    assert_int_equal(post(fixture, 1, 5, 0, second, 500, NULL), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 500, 9, data, 400), 0);
    assert_int_equal(arrive_eager(fixture, 1, 5, 500, 9, data + 500, 400), 0);
    assert_int_equal(arrive_fragment(fixture, 1, 9, 400, data + 900, 100), 0);
    assert_int_equal(completed(fixture).peer, 1);
    assert_int_equal(arrive_fragment(fixture, 0, 9, 400, data + 400, 100), 0);
    assert_int_equal(completed(fixture).peer, 0);
    assert_memory_equal(first, data, 500);
    assert_memory_equal(second, data + 500, 500);
    free(data);
}

FIXTURE_TEST(message_frame__announced_for_a_short_buffer)
{
    uint8_t buffer[100];
    uint8_t *data = pattern(SEGMENT);

    memset(buffer, '.', sizeof buffer);
    assert_int_equal(post(fixture, 0, 5, 0, buffer, 99, NULL), 0);
    assert_int_equal(arrive_announce(fixture, 0, 5, 5000, 9), 0);
    assert_int_equal(asked(fixture, 1000).wanted, 1);
    assert_int_equal(arrive_data(fixture, 0, 9, 0, data, SEGMENT, 0, 2000), PULL_PLACED);
    struct beowire_completion done = completed(fixture);
    assert_int_equal(done.status, -EMSGSIZE);
    assert_int_equal(done.bytes, 5000);
    assert_memory_equal(buffer, data, 99);
    assert_int_equal(buffer[99], '.');
    free(data);
}

FIXTURE_TEST(message_frame__announced_for_no_buffer_at_all)
{
    assert_int_equal(post(fixture, 0, 5, 0, NULL, 0, NULL), 0);
    assert_int_equal(arrive_announce(fixture, 0, 5, 5000, 9), 0);
    assert_int_equal(completed(fixture).status, -EMSGSIZE);
    assert_true(nothing_asked(fixture, 1000));
    message_pump(&fixture->layer, &fixture->peers[0]);
    struct frame done = pushed_frame(fixture, 0, 0);
    assert_int_equal(done.type, FRAME_DONE);
    assert_int_equal(from_le32(done.done->message), 9);
    assert_int_equal(arrive_data(fixture, 0, 9, 0, "x", 1, 0, 1000), PULL_UNKNOWN);
}

/** A lane of the host leads to the other host's, whichever rails lead to one another. */
FIXTURE_TEST(message_frame__data_on_its_way_over_a_lane_of_the_host)
{
    uint8_t *buffer = calloc(1, LONG_BYTES);
    struct frame_announce announce = announcement(5, LONG_BYTES, 9);

    fixture->layer.lanes[0].of_host = true;
    fixture->layer.lanes[1].kind = LANE_UDP;
    fixture->peers[0].crossing = 1; /* our rail 0 leads to rail 1 of the peer */
    announce.unasked_bytes = to_le32(LONG_BYTES);
    announce.lane_kind = LANE_SIM;
    assert_int_equal(post(fixture, 0, 5, 0, buffer, LONG_BYTES, NULL), 0);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}), 0);
    assert_true(nothing_asked(fixture, 1000)); /* it comes unasked */
    assert_true(fixture->layer.lanes[0].outstanding_bytes >= LONG_BYTES);
    fail_peer(fixture, 0, -ETIMEDOUT);
    free(buffer);
}

FIXTURE_TEST(message_frame__data_on_its_way_over_a_lane_that_is_not_there)
{
    uint8_t *buffer = calloc(1, LONG_BYTES);
    struct frame_announce announce = announcement(5, LONG_BYTES, 9);

    announce.unasked_bytes = to_le32(LONG_BYTES);
    announce.lane_kind = LANE_SIM;
    announce.lane_rail = 2;
    assert_int_equal(post(fixture, 0, 5, 0, buffer, LONG_BYTES, NULL), 0);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}), 0);
    assert_int_equal(asked(fixture, 1000).offset, 0); /* it never came, as far as we can know */
    fail_peer(fixture, 0, -ETIMEDOUT);
    free(buffer);
}

FIXTURE_TEST(message_frame__dones_that_break_rules)
{
    uint8_t *data = pattern(LONG_BYTES);

    uint32_t name = announce_long(fixture, 0, 1, data, LONG_BYTES);
    assert_int_equal(arrive_done(fixture, 0, name + 1), -EPROTO);
    assert_int_equal(arrive_done(fixture, 0, name + 0x10000), -EPROTO); /* of another use */
    assert_int_equal(arrive_done(fixture, 0, OPERATIONS), -EPROTO);     /* a receive */
    assert_int_equal(arrive_done(fixture, 0, 0x7FFF), -EPROTO);
    assert_int_equal(arrive_done(fixture, 1, name), -EPROTO); /* another's */
    assert_int_equal(arrive_done(fixture, 0, name), 0);
    assert_int_equal(arrive_done(fixture, 0, name), -EPROTO); /* twice */
    assert_int_equal(fixture->layer.counters.protocol_errors, 6);
    (void)completed(fixture);
    assert_int_equal(arrive_done(fixture, 0, name), -EPROTO);
    free(data);
}

FIXTURE_TEST(message_frame__done_of_what_was_not_announced)
{
    uint8_t *data = pattern(1000);

    use_up_copies(fixture);
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, 1000, NULL), 0);
    uint16_t name = from_le16(pushed_frame(fixture, 0, 0).eager->message);
    for (uint32_t generation = 0; generation < 4; generation++) {
        assert_int_equal(arrive_done(fixture, 0, (name & 0xFFFFu) | generation << 16), -EPROTO);
    }
    assert_true(nothing_completed(fixture));
    free(data);
}

/** Nothing was granted, so no DONE of that can cross the withdrawal of its memory. */
FIXTURE_TEST(message_frame__done_of_a_grant_without_the_feature)
{
    assert_int_equal(arrive_done(fixture, 0, MESSAGE_NAME_SERVED | 3), 0);
    fixture->peers[0].remote_memory = false;
    assert_int_equal(arrive_done(fixture, 0, MESSAGE_NAME_SERVED | 3), -EPROTO);
}

FIXTURE_TEST(message_frame__fragments_that_break_rules)
{
    uint8_t *data = pattern(1000);

    assert_int_equal(arrive_fragment(fixture, 0, 9, 0, data, 10), -EPROTO); /* of no message */
    assert_int_equal(arrive_eager(fixture, 0, 5, 500, 9, data, 400), 0);
    assert_int_equal(arrive_fragment(fixture, 0, 9, 0, data, 10), -EPROTO);
    assert_int_equal(arrive_fragment(fixture, 0, 9, 401, data, 10), -EPROTO);
    assert_int_equal(arrive_fragment(fixture, 0, 9, 400, data, 101), -EPROTO);
    assert_int_equal(arrive_fragment(fixture, 1, 9, 400, data, 100), -EPROTO); /* another's */
    assert_int_equal(arrive_announce(fixture, 0, 5, 5000, 10), 0);
    assert_int_equal(arrive_fragment(fixture, 0, 10, 0, data, 10), -EPROTO); /* nobody asked */
    assert_int_equal(arrive_fragment(fixture, 0, 9, 400, data, 100), 0);
    assert_int_equal(arrive_fragment(fixture, 0, 9, 500, data, 1), -EPROTO); /* it has ended */
    free(data);
}

FIXTURE_TEST(message_frame__names_in_use)
{
    uint8_t *data = pattern(1000);

    assert_int_equal(arrive_eager(fixture, 0, 5, 500, 9, data, 400), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 500, 9, data, 400), -EPROTO);
    assert_int_equal(arrive_announce(fixture, 0, 5, 500, 9), 0); /* names of another kind */
    assert_int_equal(arrive_announce(fixture, 0, 5, 500, 9), -EPROTO);
    assert_int_equal(arrive_announce(fixture, 1, 5, 500, 9), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 3, 9, "abc", 3), 0); /* whole: needs no name */
    free(data);
}

FIXTURE_TEST(message_frame__lengths_beyond_the_limit)
{
    struct frame_announce announce = announcement(5, (UINT64_C(255) << 32) + 1, 8);
    const struct frame frame = {.type = FRAME_ANNOUNCE, .announce = &announce};

    assert_int_equal(arrive_announce(fixture, 0, 5, BEOWIRE_MESSAGE_BYTES_MAX + 1, 9), -EPROTO);
    assert_int_equal(arrive_announce(fixture, 0, 5, BEOWIRE_MESSAGE_BYTES_MAX, 9), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, UINT32_MAX, 9, "x", 1), 0);
    announce.segment_bytes = to_le16(255); /* more segments than have numbers */
    assert_int_equal(arrive(fixture, 0, &frame), -EPROTO);
    announce.segment_bytes = to_le16(256);
    assert_int_equal(arrive(fixture, 0, &frame), 0);
    assert_int_equal(arrive_eager(fixture, 0, 5, 10, 8, NULL, 0),
                     -EPROTO); /* begins with nothing */
}

/** What is longer than the longest DATA can never come. */
FIXTURE_TEST(message_frame__announced_in_lumps)
{
    struct frame_announce announce = announcement(5, LONG_BYTES, 9);

    announce.segment_bytes = to_le16(SEGMENT + 1);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}),
        -EPROTO);
    fixture->peers[0].data_bytes = FRAME_BYTES / 2; /* shorter since: one may be on its way */
    announce.segment_bytes = to_le16(SEGMENT);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}), 0);
}

FIXTURE_TEST(message_frame__announced_in_crumbs)
{
    struct frame_announce announce = announcement(5, LONG_BYTES, 9);

    announce.segment_bytes = to_le16(PULL_SEGMENT_BYTES_MIN - 1);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}),
        -EPROTO);
    announce.segment_bytes = to_le16(PULL_SEGMENT_BYTES_MIN);
    assert_int_equal(
        arrive(fixture, 0, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce}), 0);
}

FIXTURE_TEST(message_frame__frames_without_sequence)
{
    assert_int_equal(arrive(fixture, 0, &(struct frame){.type = FRAME_ACK}), -EPROTO);
    assert_int_equal(arrive(fixture, 0, &(struct frame){.type = FRAME_CONNECT}), -EPROTO);
    assert_int_equal(arrive(fixture, 0, &(struct frame){.type = FRAME_PULL}), -EPROTO);
    assert_int_equal(arrive(fixture, 0, &(struct frame){.type = FRAME_DATA}), -EPROTO);
}

/** R93: only the last segment, and only if it begins a block. */
FIXTURE_TEST(message_frame__announced_with_another_part_than_the_tail)
{
    const uint64_t block = (uint64_t)pull_block_segments(SEGMENT) * SEGMENT;
    const uint64_t lengths[] = {block + 8, block + 6, block + SEGMENT + 7, 2 * block};

    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct frame_announce announce = announcement(5, lengths[i], 9);
        assert_int_equal(arrive(fixture, 0,
                                &(struct frame){.type = FRAME_ANNOUNCE,
                                                .announce = &announce,
                                                .payload = (const uint8_t *)"1234567",
                                                .payload_bytes = 7}),
                         -EPROTO);
    }
}
