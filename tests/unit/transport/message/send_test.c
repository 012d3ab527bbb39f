/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include "pull/pull.h"

FIXTURE_TEST(message_send__one_frame_is_copied_and_done_at_once)
{
    const uint64_t sizes[] = {0, 1, FRAME_POOL_SLIM_BYTES - 46, FRAME_POOL_SLIM_BYTES - 45,
                              EAGER_ROOM};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = pattern(sizes[i]);
        uint8_t *sent = pattern(sizes[i]);
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], 42, 43, sent, sizes[i], data), 0);
        assert_ptr_equal(completed(fixture).context, data);
        memset(sent, 0, sizes[i]); /* it is ours again */
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(frame.type, FRAME_EAGER);
        assert_int_equal(from_le64(frame.eager->tag), 42);
        assert_int_equal(from_le32(frame.eager->immediate), 43);
        assert_int_equal(from_le32(frame.eager->message_bytes), sizes[i]);
        assert_int_equal(frame.payload_bytes, sizes[i]);
        assert_memory_equal(frame.payload, data, sizes[i]);
        free(data);
        free(sent);
    }
    acknowledge(fixture, 0, pushed(fixture, 0));
    assert_true(nothing_completed(fixture));
}

FIXTURE_TEST(message_send__one_byte_more_takes_two_frames)
{
    uint8_t *data = pattern(EAGER_ROOM + 1);

    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, EAGER_ROOM + 1, data), 0);
    assert_int_equal(pushed(fixture, 0), 2);
    struct frame first = pushed_frame(fixture, 0, 0);
    assert_int_equal(first.type, FRAME_EAGER);
    assert_int_equal(first.payload_bytes, EAGER_ROOM);
    uint16_t name = from_le16(first.eager->message);
    struct frame second = pushed_frame(fixture, 0, 1);
    assert_int_equal(second.type, FRAME_FRAGMENT);
    assert_int_equal(from_le16(second.fragment->message), name);
    assert_int_equal(from_le64(second.fragment->offset), EAGER_ROOM);
    assert_int_equal(second.payload_bytes, 1);
    assert_true((second.flags & FRAME_ACK_REQUEST) == 0); /* nobody waits for it: */
    assert_ptr_equal(completed(fixture).context, data);
    free(data);
}

FIXTURE_TEST(message_send__referred_data_is_to_be_acknowledged_at_once)
{
    uint8_t *data = pattern(EAGER_ROOM + 1);

    use_up_copies(fixture);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, EAGER_ROOM + 1, data), 0);
    assert_true((pushed_frame(fixture, 0, 1).flags & FRAME_ACK_REQUEST) != 0);
    assert_true(nothing_completed(fixture));
    acknowledge(fixture, 0, 2);
    assert_ptr_equal(completed(fixture).context, data);
    free(data);
}

FIXTURE_TEST(message_send__up_to_the_eager_limit_goes_unasked)
{
    uint8_t *data = pattern(EAGER_BYTES);
    uint64_t bytes = 0;

    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, EAGER_BYTES, data), 0);
    for (uint32_t i = 0; i < pushed(fixture, 0); i++) {
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_memory_equal(frame.payload, data + bytes, frame.payload_bytes);
        bytes += frame.payload_bytes;
    }
    assert_int_equal(bytes, EAGER_BYTES);
    free(data);
}

FIXTURE_TEST(message_send__above_it_is_announced)
{
    uint8_t *data = pattern(EAGER_BYTES + 1);

    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 5, 6, data, EAGER_BYTES + 1, data), 0);
    assert_int_equal(pushed(fixture, 0), 1);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_ANNOUNCE);
    assert_int_equal(from_le64(frame.announce->tag), 5);
    assert_int_equal(from_le32(frame.announce->immediate), 6);
    assert_int_equal(from_le64(frame.announce->message_bytes), EAGER_BYTES + 1);
    acknowledge(fixture, 0, 1);
    assert_true(nothing_completed(fixture));
    assert_false(message_is_flushed(&fixture->peers[0]));
    assert_true(message_depends_on(&fixture->peers[0]));
    assert_false(message_has_work(&fixture->peers[0]));
    free(data);
}

FIXTURE_TEST(message_send__less_is_announced_while_more_is_under_way)
{
    uint8_t *data = pattern(MESSAGE_EAGER_BUSY_BYTES_MAX + 1);

    fixture->layer.limits.eager_bytes = 2 * MESSAGE_EAGER_BUSY_BYTES_MAX;
    for (unsigned i = 0; i < MESSAGE_EAGER_BUSY_FRAMES; i++) {
        assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 1, 0, data, 1), 0);
    }
    uint32_t before = pushed(fixture, 0);
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 5, 6, data,
                                  MESSAGE_EAGER_BUSY_BYTES_MAX + 1, data),
                     0);
    assert_int_equal(pushed(fixture, 0), before + 1);
    assert_int_equal(pushed_frame(fixture, 0, before).type, FRAME_ANNOUNCE);
    acknowledge(fixture, 0, before + 1);
    /* The long message is under way still. */
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 5, 6, data,
                                  MESSAGE_EAGER_BUSY_BYTES_MAX + 1, data),
                     0);
    assert_int_equal(pushed_frame(fixture, 0, 0).type, FRAME_ANNOUNCE);
    /* Nothing is under way to the other peer. */
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[1], 5, 6, data,
                                  MESSAGE_EAGER_BUSY_BYTES_MAX + 1, data),
                     0);
    assert_int_equal(pushed_frame(fixture, 1, 0).type, FRAME_EAGER);
    free(data);
}

FIXTURE_TEST(message_send__what_the_peer_has_no_room_for_is_announced)
{
    uint8_t *data = pattern(3 * EAGER_ROOM + 1);

    fixture->peers[0].flow.limit = 3;
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 5, 6, data, 3 * EAGER_ROOM + 1, data), 0);
    assert_int_equal(pushed(fixture, 0), 1);
    assert_int_equal(pushed_frame(fixture, 0, 0).type, FRAME_ANNOUNCE);
    fixture->peers[1].flow.limit = 4;
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[1], 5, 6, data, 3 * EAGER_ROOM + 1, data), 0);
    assert_int_equal(pushed_frame(fixture, 1, 0).type, FRAME_EAGER);
    free(data);
}

FIXTURE_TEST(message_send__what_takes_more_frames_than_configured_is_announced)
{
    uint8_t *data = pattern(3 * EAGER_ROOM + 1);

    for (unsigned i = 0; i < 2; i++) {
        fixture->peers[i].cut = true;
        fixture->layer.limits.eager_cut_frames = 3 + i;
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[i], 5, 6, data, 3 * EAGER_ROOM + 1, data),
            0);
        assert_int_equal(pushed_frame(fixture, i, 0).type, i == 0 ? FRAME_ANNOUNCE : FRAME_EAGER);
    }
    free(data);
}

FIXTURE_TEST(message_send__less_is_announced_to_who_can_read_our_memory)
{
    uint8_t *data = pattern(MESSAGE_EAGER_SHARED_BYTES_MAX + 1);
    const uint64_t sizes[] = {MESSAGE_EAGER_SHARED_BYTES_MAX, MESSAGE_EAGER_SHARED_BYTES_MAX + 1};

    fixture->layer.limits.eager_bytes = 2 * MESSAGE_EAGER_SHARED_BYTES_MAX;
    fixture->peers[0].shares_memory = true;
    for (unsigned i = 0; i < MESSAGE_EAGER_BUSY_FRAMES; i++) { /* more is under way */
        assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 1, 0, data, 1), 0);
        assert_int_equal(message_inject(&fixture->layer, &fixture->peers[1], 1, 0, data, 1), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        uint32_t before = pushed(fixture, 0);
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], 5, 6, data, sizes[i], data), 0);
        assert_int_equal(pushed_frame(fixture, 0, before).type,
                         i == 0 ? FRAME_EAGER : FRAME_ANNOUNCE);
        before = pushed(fixture, 1);
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[1], 5, 6, data, sizes[i], data), 0);
        assert_int_equal(pushed_frame(fixture, 1, before).type, FRAME_EAGER);
    }
    free(data);
}

FIXTURE_TEST(message_send__first_frames_in_order_of_sends)
{
    uint8_t *data = pattern(EAGER_BYTES + 1);
    const uint64_t sizes[] = {1000, EAGER_BYTES + 1, 1, 2000};
    uint64_t tag = 0;

    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], i, 0, data, sizes[i], NULL), 0);
    }
    for (uint32_t i = 0; i < pushed(fixture, 0); i++) {
        struct frame frame = pushed_frame(fixture, 0, i);
        if (frame.type == FRAME_EAGER) {
            assert_int_equal(from_le64(frame.eager->tag), tag++);
        } else if (frame.type == FRAME_ANNOUNCE) {
            assert_int_equal(from_le64(frame.announce->tag), tag++);
        }
    }
    assert_int_equal(tag, 4);
    free(data);
}

FIXTURE_TEST(message_send__waits_for_room_in_the_window)
{
    uint32_t injected = 0;

    while (message_inject(&fixture->layer, &fixture->peers[0], 1, 0, "x", 1) == 0) {
        injected++;
    }
    assert_int_equal(injected, FLOW_WINDOW_FRAMES);
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 2, 0, "y", 1, NULL), 0);
    assert_true(nothing_completed(fixture));
    assert_true(message_has_work(&fixture->peers[0]));
    acknowledge(fixture, 0, 1);
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(completed(fixture).tag, 2);
    assert_false(message_has_work(&fixture->peers[0]));
}

FIXTURE_TEST(message_send__bad_arguments)
{
    struct message_peer *peer = &fixture->peers[0];

    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, NULL, 1, NULL), -EINVAL);
    assert_int_equal(
        message_send(&fixture->layer, peer, 1, 0, "x", BEOWIRE_MESSAGE_BYTES_MAX + 1, NULL),
        -EMSGSIZE);
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, NULL, 0, NULL), 0);
    fail_peer(fixture, 0, -ETIMEDOUT);
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, "x", 1, NULL), -ETIMEDOUT);
    assert_int_equal(message_inject(&fixture->layer, peer, 1, 0, "x", 1), -ETIMEDOUT);
}

FIXTURE_TEST(message_send__without_a_free_copy_refers_to_the_data)
{
    uint8_t *data = pattern(EAGER_ROOM);

    use_up_copies(fixture);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, EAGER_ROOM, data), 0);
    assert_int_equal(pushed(fixture, 0), 1);
    assert_true(nothing_completed(fixture)); /* it still needs the data */
    assert_memory_equal(pushed_frame(fixture, 0, 0).payload, data, EAGER_ROOM);
    acknowledge(fixture, 0, 1);
    assert_int_equal(completed(fixture).status, 0);
    free(data);
}

FIXTURE_TEST(message_send__without_any_free_frame_waits)
{
    struct frame_pool *pool = &fixture->layer.frames;
    struct flow_frame *last = NULL;
    struct flow_frame *frame;

    while ((frame = frame_pool_take(pool, 1)) != NULL) {
        last = frame;
    }
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, NULL, 0, NULL), 0);
    assert_int_equal(pushed(fixture, 0), 0);
    assert_int_equal(message_inject(&fixture->layer, &fixture->peers[1], 1, 0, "x", 1), -EAGAIN);
    if (last != NULL) {
        frame_pool_give(pool, last);
    }
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(pushed(fixture, 0), 1);
}

/* ---- to be confirmed ------------------------------------------------------------------------ */

static void send_confirmed(struct fixture *fixture, unsigned to, const uint8_t *data,
                           uint64_t bytes)
{
    assert_int_equal(message_send_confirmed(&fixture->layer, &fixture->peers[to], 42, 43, data,
                                            bytes, (void *)(uintptr_t)data),
                     0);
    message_take_back(&fixture->layer, &fixture->peers[to]);
    assert_true(nothing_completed(fixture));
}

static bool asks_for_acknowledgement(const struct fixture *fixture, uint32_t index)
{
    return (pushed_frame(fixture, 0, index).flags & FRAME_ACK_REQUEST) != 0;
}

FIXTURE_TEST(message_send_confirmed__one_frame_has_to_be_acknowledged)
{
    const uint64_t sizes[] = {0, 1, FRAME_POOL_SLIM_BYTES - 45, EAGER_ROOM};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = pattern(sizes[i]);
        send_confirmed(fixture, 0, data, sizes[i]);
        struct frame frame = pushed_frame(fixture, 0, 0);
        assert_int_equal(from_le64(frame.eager->tag), 42);
        assert_int_equal(from_le32(frame.eager->immediate), 43);
        assert_int_equal(frame.payload_bytes, sizes[i]);
        assert_memory_equal(frame.payload, data, sizes[i]);
        assert_true(asks_for_acknowledgement(fixture, 0));
        acknowledge(fixture, 0, 1);
        struct beowire_completion done = completed(fixture);
        assert_int_equal(done.status, 0);
        assert_ptr_equal(done.context, data);
        assert_true(nothing_completed(fixture));
        free(data);
    }
}

FIXTURE_TEST(message_send_confirmed__several_frames_have_to_be_acknowledged)
{
    uint8_t *data = pattern(EAGER_ROOM + FRAGMENT_ROOM + 5);

    send_confirmed(fixture, 0, data, EAGER_ROOM + FRAGMENT_ROOM + 5);
    assert_int_equal(pushed(fixture, 0), 3);
    /* The first asks for that of all: the others may go without a head. */
    assert_true(asks_for_acknowledgement(fixture, 0));
    assert_false(asks_for_acknowledgement(fixture, 1));
    assert_false(asks_for_acknowledgement(fixture, 2));
    acknowledge(fixture, 0, 2);
    assert_true(nothing_completed(fixture));
    acknowledge(fixture, 0, 1);
    assert_ptr_equal(completed(fixture).context, data);
    free(data);
}

/** Whatever of it is acknowledged by then. */
FIXTURE_TEST(message_send_confirmed__the_peer_fails_before)
{
    const uint64_t sizes[] = {0, 8, EAGER_ROOM + 1, LONG_BYTES};
    uint8_t *data = pattern(LONG_BYTES);

    for (unsigned i = 0; i < 4; i++) {
        send_confirmed(fixture, 0, data, sizes[i]);
    }
    acknowledge(fixture, 0, 3); /* of the third, one frame of two */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(completed(fixture).bytes, sizes[i]);
    }
    assert_true(nothing_completed(fixture));
    fail_peer(fixture, 0, -ECONNRESET);
    uint64_t bytes = 0;
    for (unsigned i = 2; i < 4; i++) {
        struct beowire_completion done = completed(fixture);
        assert_int_equal(done.status, -ECONNRESET);
        bytes += done.bytes;
    }
    assert_int_equal(bytes, sizes[2] + sizes[3]);
    assert_true(nothing_completed(fixture));
    assert_int_equal(
        message_send_confirmed(&fixture->layer, &fixture->peers[0], 1, 0, data, 8, NULL),
        -ECONNRESET);
    free(data);
}

FIXTURE_TEST(message_send__where_frames_are_gathered_the_first_is_as_long_as_what_others_carry)
{
    const uint64_t longest = (uint64_t)CONVOY_CUT_LONG_FRAMES * FRAGMENT_ROOM;
    uint8_t *data = pattern(longest);

    fixture->peers[0].gathers = true;
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 2, 0, data, 2 * FRAGMENT_ROOM, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame_length(&frame), FRAGMENT_ROOM);
    frame = pushed_frame(fixture, 0, 1);
    assert_int_equal(from_le64(frame.fragment->offset), FRAGMENT_ROOM - 46);
    assert_int_equal(frame.payload_bytes, FRAGMENT_ROOM);
    /* Whole ones have all the room that there is, and so have those behind others. */
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 2, 0, data, EAGER_ROOM, NULL), 0);
    frame = pushed_frame(fixture, 0, 3);
    assert_int_equal(frame_length(&frame), FRAME_BYTES);
    while (pushed(fixture, 0) <= CONVOY_CUT_FRAMES_MAX) {
        assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 1, 0, "x", 1), 0);
    }
    uint32_t at = pushed(fixture, 0);
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 2, 0, data, 2 * FRAGMENT_ROOM, NULL), 0);
    frame = pushed_frame(fixture, 0, at);
    assert_int_equal(frame_length(&frame), FRAME_BYTES);
    at = pushed(fixture, 0); /* but long ones follow others as they would go alone */
    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 2, 0, data, longest, data),
                     0);
    frame = pushed_frame(fixture, 0, at);
    assert_int_equal(frame_length(&frame), FRAGMENT_ROOM);
    free(data);
}

FIXTURE_TEST(message_send__long_says_how_it_is_cut_and_what_comes_unasked)
{
    const uint64_t bytes = UINT64_C(64) * SEGMENT * PULL_UNASKED_BLOCKS + 1;
    uint8_t *data = pattern(bytes);

    assert_int_equal(message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, bytes, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(from_le16(frame.announce->segment_bytes), SEGMENT);
    assert_int_equal(from_le32(frame.announce->unasked_bytes), bytes - 1);
    assert_int_equal(frame.announce->lane_kind, LANE_SIM);
    assert_int_equal(frame.announce->lane_rail, 0);
    assert_true(serve_is_needed(&fixture->layer));
    free(data);
}

/** These have many peers, and what all of them send would fill a switch. */
FIXTURE_TEST(message_send__nothing_comes_unasked_to_a_peer_that_gives_little_credit)
{
    struct flow *flow = &fixture->peers[0].flow;
    uint8_t *data = pattern(LONG_BYTES);

    for (unsigned i = 0; i < 2; i++) {
        flow->limit = flow->first + PULL_UNASKED_FRAMES_MIN - (i == 0);
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, LONG_BYTES, NULL), 0);
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(from_le32(frame.announce->unasked_bytes) > 0, i == 1);
    }
    free(data);
}

FIXTURE_TEST(message_send__nothing_goes_unasked_from_who_has_many_peers)
{
    uint8_t *data = pattern(LONG_BYTES);

    for (unsigned i = 0; i < 2; i++) {
        fixture->layer.far_peers = PULL_FREE_PEERS + 1 - i;
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, LONG_BYTES, NULL), 0);
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(from_le32(frame.announce->unasked_bytes) > 0, i == 1);
    }
    free(data);
}

FIXTURE_TEST(message_send__nothing_comes_unasked_without_a_lane)
{
    uint8_t *data = pattern(LONG_BYTES);

    fixture->peers[0].bulk_lanes = 0;
    fixture->peers[0].usable_lanes = 0;
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 1, 0, data, LONG_BYTES, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(from_le32(frame.announce->unasked_bytes), 0);
    assert_int_equal(frame.announce->lane_kind, LANE_NONE);
    assert_false(serve_is_needed(&fixture->layer));
    free(data);
}

FIXTURE_TEST(message_send__unasked_only_what_the_peer_will_pull_at_once)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint64_t *blocks = &fixture->layer.counters.data_unasked;
    uint32_t first = 0;

    for (unsigned i = 0; i < PULLS_PER_PEER; i++) {
        uint64_t before = *blocks;
        uint32_t name = announce_long(fixture, 0, 1, data, LONG_BYTES);
        first = i == 0 ? name : first;
        assert_true(*blocks > before);
    }
    uint64_t before = *blocks;
    (void)announce_long(fixture, 0, 1, data, LONG_BYTES);
    assert_int_equal(*blocks, before); /* it waits its turn there */
    (void)announce_long(fixture, 1, 1, data, LONG_BYTES);
    assert_true(*blocks > before); /* of another peer it is the first */
    assert_int_equal(arrive_done(fixture, 0, first), 0);
    before = *blocks;
    (void)announce_long(fixture, 0, 1, data, LONG_BYTES);
    assert_int_equal(*blocks, before); /* 17 still */
    free(data);
}

/** There are numbers for 2^32 segments. */
FIXTURE_TEST(message_send__longer_than_segments_have_numbers)
{
    struct message_peer *peer = &fixture->peers[0];
    const uint64_t most = UINT64_C(200) << 32;
    static const uint8_t data[1];

    peer->data_bytes = 216;
    peer->unasked_credit = 0;
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, data, most + 1, NULL), 0);
    assert_int_equal(completed(fixture).status, -EMSGSIZE);
    assert_int_equal(pushed(fixture, 0), 0);
    assert_int_equal(message_send(&fixture->layer, peer, 1, 0, data, most, NULL), 0);
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(from_le64(frame.announce->message_bytes), most);
    assert_true(nothing_completed(fixture));
}

FIXTURE_TEST(message_send_matched__when_a_receive_has_it)
{
    const uint64_t sizes[] = {0, 1, BUNDLE_BYTES_MAX, EAGER_ROOM, EAGER_BYTES, LONG_BYTES};
    struct message_peer *peer = &fixture->peers[0];
    uint8_t *data = pattern(LONG_BYTES);

    fixture->layer.may_hold = true; /* others would be bundled */
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t before = pushed(fixture, 0);
        assert_int_equal(message_send_matched(&fixture->layer, peer, 42, 43, data, sizes[i], data),
                         0);
        struct frame frame = pushed_frame(fixture, 0, before);
        assert_int_equal(frame.type, FRAME_ANNOUNCE);
        assert_int_equal(from_le64(frame.announce->message_bytes), sizes[i]);
        uint32_t name = from_le32(frame.announce->message);
        acknowledge(fixture, 0, pushed(fixture, 0));
        assert_true(nothing_completed(fixture));
        assert_int_equal(arrive_done(fixture, 0, name), 0);
        struct beowire_completion done = completed(fixture);
        assert_ptr_equal(done.context, data);
        assert_int_equal(done.status, 0);
    }
    free(data);
}

FIXTURE_TEST(message_send__announcement_has_the_tail)
{
    const uint64_t block = (uint64_t)pull_block_segments(SEGMENT) * SEGMENT;
    const struct {
        uint64_t bytes;
        uint32_t tail;
    } lengths[] = {{8 * block + 7, 7}, {8 * block, 0}, {8 * block + SEGMENT + 1, 0}};
    uint8_t *data = pattern(8 * block + SEGMENT + 1);

    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_int_equal(
            message_send(&fixture->layer, &fixture->peers[0], 5, 6, data, lengths[i].bytes, data),
            0);
        struct frame frame = pushed_frame(fixture, 0, i);
        assert_int_equal(frame.type, FRAME_ANNOUNCE);
        assert_int_equal(frame.payload_bytes, lengths[i].tail);
        assert_memory_equal(frame.payload, data + 8 * block, lengths[i].tail);
    }
    free(data);
}

/** Segments are so long that one call sends a whole number of them, which is a block. */
FIXTURE_TEST(message_send__segments_fill_a_call)
{
    const struct {
        bool cut;
        bool trains;
        uint32_t room; /* for a segment */
        uint32_t segment;
        uint32_t block;
    } cases[] = {
        {true, true, 1456, 1455, 45},   {true, true, 8956, 8185, 8},  {false, true, 1456, 1456, 44},
        {false, true, 1416, 1394, 46},  {false, true, 8956, 8956, 7}, {true, true, 1000, 1000, 64},
        {false, false, 1484, 1484, 44},
    };
    uint8_t *data = pattern(LONG_BYTES);

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->peers[0].cut = cases[i].cut;
        fixture->peers[0].trains = cases[i].trains;
        fixture->peers[0].data_bytes = cases[i].room + (uint32_t)sizeof(struct frame_data);
        assert_int_equal(
            message_send_matched(&fixture->layer, &fixture->peers[0], 5, 6, data, LONG_BYTES, data),
            0);
        uint32_t segment = from_le16(pushed_frame(fixture, 0, i).announce->segment_bytes);
        assert_int_equal(segment, cases[i].segment);
        assert_int_equal(pull_block_segments(segment), cases[i].block);
    }
    free(data);
}
