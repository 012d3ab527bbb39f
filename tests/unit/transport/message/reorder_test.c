/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/reorder.h"

#include "fixture.h"

/** A frame of one byte of data arrives before its turn. */
static void arrive_early(struct fixture *fixture, unsigned from, uint32_t sequence, char data)
{
    uint8_t wire[100] = {0};
    struct frame_eager *eager = (struct frame_eager *)(void *)(wire + sizeof(struct frame_header));
    struct message_peer *peer = &fixture->peers[from];
    struct frame frame;

    frame_encode(wire, &(struct frame_fields){
                           .type = FRAME_EAGER, .sequence = sequence, .payload_bytes = 1});
    eager->tag = to_le64(5);
    eager->message_bytes = to_le32(1);
    wire[sizeof(struct frame_header) + sizeof *eager] = (uint8_t)data;
    assert_int_equal(frame_decode(wire, sizeof(struct frame_header) + sizeof *eager + 1, &frame),
                     FRAME_OK);
    assert_int_equal(flow_check(&peer->flow, &frame, 0), FLOW_KEEP);
    reorder_keep(&fixture->layer, peer, &frame);
}

/** Handles what has its turn. @return how many frames that were. */
static unsigned drain(struct fixture *fixture, unsigned from)
{
    struct message_peer *peer = &fixture->peers[from];
    struct frame frame;
    struct chunk *chunk;
    unsigned count = 0;

    while ((chunk = reorder_take(peer, &frame)) != NULL) {
        assert_int_equal(frame.sequence, peer->flow.expected);
        assert_int_equal(arrive(fixture, from, &frame), 0);
        reorder_release(&fixture->layer, chunk);
        count++;
    }
    return count;
}

FIXTURE_TEST(reorder_take__in_order_whatever_the_order_of_arrival)
{
    static const uint32_t orders[][5] = {
        {1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {3, 1, 5, 2, 4}, {2, 4, 1, 3, 5}};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        uint32_t begin = fixture->peers[0].flow.expected;
        for (size_t j = 0; j < 5; j++) {
            arrive_early(fixture, 0, begin + orders[i][j], (char)('0' + orders[i][j]));
        }
        assert_int_equal(drain(fixture, 0), 0);
        assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "0", 1), 0);
        assert_int_equal(drain(fixture, 0), 5);
        assert_null(fixture->peers[0].reordered);
        assert_false(flow_has_gap(&fixture->peers[0].flow));
        for (int expected = '0'; expected <= '5'; expected++) {
            char buffer[1];
            assert_int_equal(post(fixture, 0, 5, 0, buffer, 1, NULL), 0);
            (void)completed(fixture);
            assert_int_equal(buffer[0], expected);
        }
    }
}

FIXTURE_TEST(reorder_keep__payload_that_lies_elsewhere)
{
    struct message_peer *peer = &fixture->peers[0];
    uint8_t head[sizeof(struct frame_header) + sizeof(struct frame_eager)] = {0};
    const uint8_t payload[] = "abcdefg";
    struct frame_eager *eager = (struct frame_eager *)(void *)(head + sizeof(struct frame_header));
    struct frame frame;

    frame_encode(head, &(struct frame_fields){.type = FRAME_EAGER,
                                              .sequence = peer->flow.expected + 1,
                                              .payload_bytes = sizeof payload});
    eager->tag = to_le64(5);
    eager->message_bytes = to_le32(sizeof payload);
    assert_int_equal(frame_decode(head, sizeof head + sizeof payload, &frame), FRAME_OK);
    frame.payload = payload;
    assert_int_equal(flow_check(&peer->flow, &frame, 0), FLOW_KEEP);
    reorder_keep(&fixture->layer, peer, &frame);
    assert_int_equal(arrive_eager(fixture, 0, 6, 1, 0, "0", 1), 0);
    assert_int_equal(drain(fixture, 0), 1);
    char buffer[sizeof payload];
    assert_int_equal(post(fixture, 0, 5, 0, buffer, sizeof buffer, NULL), 0);
    (void)completed(fixture);
    assert_memory_equal(buffer, payload, sizeof payload);
}

FIXTURE_TEST(reorder_keep__across_the_wrap)
{
    struct flow *flow = &fixture->peers[0].flow;

    flow->expected = flow->seen = 0xFFFFFFFE;
    flow->granted = flow->granted_sent = flow->granted + 0xFFFFFFFE;
    arrive_early(fixture, 0, 0, 'b');
    arrive_early(fixture, 0, 0xFFFFFFFF, 'a');
    assert_int_equal(arrive_eager(fixture, 0, 5, 1, 0, "0", 1), 0);
    assert_int_equal(drain(fixture, 0), 2);
    assert_int_equal(flow->expected, 1);
}

FIXTURE_TEST(reorder_drop__when_the_peer_fails)
{
    uint32_t before = free_chunks(fixture);
    uint32_t shared = fixture->layer.chunks_shared;

    for (uint32_t sequence = 1; sequence < 20; sequence += 2) {
        arrive_early(fixture, 0, sequence, 'x');
    }
    fail_peer(fixture, 0, -ECONNRESET);
    assert_null(fixture->peers[0].reordered);
    assert_int_equal(free_chunks(fixture), before);
    assert_int_equal(fixture->peers[0].chunks, 0);
    assert_true(fixture->layer.chunks_shared > shared);
}
