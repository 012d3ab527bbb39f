/* SPDX-License-Identifier: BSD-3-Clause */
#include "tipc_fake.h"

#include "tuning.h"

#define PAYLOAD_BYTES 8000u

static unsigned receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    return lane->operations->receive(lane, frames, count);
}

/** Of a message whose bytes are expected here. */
static void expect(struct tipc_pair *pair, uint8_t *target, uint32_t message, uint64_t offset,
                   uint32_t frames)
{
    const struct lane_expectation expectation = {
        .target = target,
        .frames = frames,
        .head_bytes = HEAD_BYTES,
        .payload_bytes = PAYLOAD_BYTES,
        .bytes = (uint64_t)frames * PAYLOAD_BYTES,
        .message = message,
        .offset = offset,
        .from = pair->at_a,
    };

    pair->b->operations->expect(pair->b, &expectation);
}

TEST_AROUND(tipc_receive__the_longest_frame, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frame;
    uint32_t bytes = LANE_TIPC_FRAME_BYTES - HEAD_BYTES;

    assert_int_equal(receive(pair.b, &frame, 1), 0);
    assert_int_equal(send_data(pair.a, &pair.at_b, 5, 3, 0xA7, bytes), 1);
    assert_int_equal(receive(pair.b, &frame, 1), 1);
    assert_int_equal(frame.bytes, LANE_TIPC_FRAME_BYTES);
    assert_null(frame.payload);
    assert_int_equal(frame.data[HEAD_BYTES], 0xA7);
    assert_int_equal(frame.data[LANE_TIPC_FRAME_BYTES - 1], 0xA7);
    assert_int_equal(pair.b->received_bytes, LANE_TIPC_FRAME_BYTES);
    pair.b->operations->release(pair.b);
    close_pair(&pair);
}

/** More than there is memory for at once: the rest stays with the kernel. */
TEST_AROUND(tipc_receive__more_than_there_is_room_for, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frames[64];
    unsigned got = 0;

    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, i, (uint8_t)i, PAYLOAD_BYTES), 1);
    }
    for (unsigned rounds = 0; got < 60; rounds++) {
        unsigned some = receive(pair.b, frames, 64);
        assert_true(some > 0 && rounds < 60);
        for (unsigned i = 0; i < some; i++) {
            assert_int_equal(frames[i].data[HEAD_BYTES + PAYLOAD_BYTES - 1], got++);
        }
        pair.b->operations->release(pair.b);
    }
    close_pair(&pair);
}

/** Whoever has an answer to give does not first ask for more; whoever is in a stream does. */
TEST_AROUND(tipc_receive__one_call_for_one_message, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frames[4];

    assert_int_equal(receive(pair.b, frames, 4), 0);
    assert_int_equal(send_data(pair.a, &pair.at_b, 5, 0, 1, 8), 1);
    fake.calls = 0;
    assert_int_equal(receive(pair.b, frames, 4), 1);
    assert_int_equal(fake.calls, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, i, 1, 8), 1);
    }
    assert_int_equal(receive(pair.b, frames, 4), 3);
    close_pair(&pair);
}

TEST_AROUND(tipc_expect__payload_goes_where_it_belongs, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    uint8_t *target = calloc(3, PAYLOAD_BYTES);
    struct lane_incoming frames[4];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, i, (uint8_t)(i + 1), PAYLOAD_BYTES), 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        expect(&pair, target + (size_t)i * PAYLOAD_BYTES, 5, (uint64_t)i * PAYLOAD_BYTES, 3 - i);
        assert_int_equal(receive(pair.b, frames, 1), 1);
        assert_ptr_equal(frames[0].payload, target + (size_t)i * PAYLOAD_BYTES);
        assert_int_equal(target[(size_t)(i + 1) * PAYLOAD_BYTES - 1], i + 1);
        pair.b->operations->release(pair.b);
    }
    assert_int_equal(pair.b->placed_frames, 3);
    free(target);
    close_pair(&pair);
}

/** Of another message, or of somebody else: it lies in the lane's own memory. */
TEST_AROUND(tipc_expect__something_else_comes, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane *other = open_on(NODE_A);
    uint8_t *target = calloc(1, PAYLOAD_BYTES);
    struct lane_incoming frame;

    for (unsigned i = 0; i < 2; i++) {
        struct lane *sender = i == 0 ? pair.a : other;
        assert_int_equal(send_data(sender, &pair.at_b, i == 0 ? 6 : 5, 0, 0x55, PAYLOAD_BYTES), 1);
        expect(&pair, target, 5, 0, 1);
        assert_int_equal(receive(pair.b, &frame, 1), 1);
        assert_null(frame.payload);
        assert_int_equal(frame.bytes, HEAD_BYTES + PAYLOAD_BYTES);
        for (unsigned at = HEAD_BYTES; at < frame.bytes; at++) {
            assert_int_equal(frame.data[at], 0x55);
        }
        pair.b->operations->release(pair.b);
    }
    assert_int_equal(pair.b->placed_frames, 0);
    free(target);
    close_lane(other);
    close_pair(&pair);
}

/** Longer than any frame of ours, or nothing at all. */
TEST_AROUND(tipc_receive__what_is_no_frame, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frame;
    uint8_t *data = calloc(1, TIPC_MAX_USER_MSG_SIZE);
    struct tipc_socket_addr stranger = {.ref = 5, .node = NODE_A};

    fake_queue(fake_of(pair.b->operations->descriptor(pair.b)), stranger, TIPC_OK, data,
               TIPC_MAX_USER_MSG_SIZE);
    fake_queue(fake_of(pair.b->operations->descriptor(pair.b)), stranger, TIPC_OK, data, 0);
    assert_int_equal(receive(pair.b, &frame, 1), 0);
    assert_int_equal(pair.b->foreign_frames, 2);
    free(data);
    close_pair(&pair);
}

TEST_AROUND(tipc_lost__names_who_has_ended_once, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frame;
    struct lane_loss loss;

    close_lane(pair.b);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, 0, 1, 1000), 1);
    }
    assert_int_equal(receive(pair.a, &frame, 1), 0);
    assert_true(pair.a->operations->lost(pair.a, &loss));
    assert_memory_equal(&loss.address, &pair.at_b, sizeof loss.address);
    assert_false(loss.certain); /* the network has said so */
    assert_int_equal(loss.quote_bytes, LANE_QUOTE_BYTES);
    assert_int_equal(frame_type_of(loss.quote), FRAME_DATA);
    assert_false(pair.a->operations->lost(pair.a, &loss));
    close_lane(pair.a);
}

/** A receiver that has no room has not ended; and what has come meanwhile is not held up. */
TEST_AROUND(tipc_lost__not_where_there_was_no_room, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frame;
    struct lane_loss loss;

    fake.room = 1;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, i, 1, 1000), 1);
    }
    fake.room = FAKE_MESSAGES;
    assert_int_equal(send_data(pair.b, &pair.at_a, 5, 0, 1, 1000), 1);
    assert_int_equal(receive(pair.a, &frame, 1), 1);
    assert_false(pair.a->operations->lost(pair.a, &loss));
    assert_int_equal(receive(pair.b, &frame, 1), 1);
    close_pair(&pair);
}

/** As many as anybody could care to send: a bounded number of calls, and of memory. */
TEST_AROUND(tipc_lost__many_come_back, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct lane_incoming frame;
    struct lane_loss loss;
    unsigned lost = 0;

    close_lane(pair.b);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(send_data(pair.a, &pair.at_b, 5, i, 1, 100), 1);
    }
    fake.calls = 0;
    assert_int_equal(receive(pair.a, &frame, 1), 0);
    assert_true(fake.calls < 20);
    for (unsigned i = 0; i < 30; i++) {
        assert_int_equal(receive(pair.a, &frame, 1), 0);
    }
    while (pair.a->operations->lost(pair.a, &loss)) {
        lost++;
    }
    assert_true(lost > 0 && lost <= 16);
    close_lane(pair.a);
}

/** Whoever makes up an answer of a host does not know what was asked. */
TEST_AROUND(tipc_host_answer__only_to_what_was_asked, fake_setup, NULL)
{
    struct tipc_pair pair = open_pair();
    struct fake_socket *socket = fake_of(pair.a->operations->descriptor(pair.a));
    const struct tipc_socket_addr nobody = {.ref = 1, .node = NODE_B};
    const uint8_t invented[16] = {1, 2, 3};
    struct lane_incoming frame;
    uint32_t mark = 0;

    fake_queue(socket, nobody, TIPC_ERR_NO_PORT, invented, sizeof invented);
    fake_queue(socket, nobody, TIPC_ERR_NO_PORT, invented, 4);
    assert_int_equal(receive(pair.a, &frame, 1), 0);
    assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_ASKED);
    /* The right one, but of another host. */
    (void)pair.a->operations->ask_host(pair.a, &pair.at_b, 9, true);
    socket->messages[socket->count - 1].from.node = NODE_A;
    assert_int_equal(receive(pair.a, &frame, 1), 0);
    assert_int_equal(pair.a->operations->host_answer(pair.a, &mark), LANE_HOST_ASKED);
    close_pair(&pair);
}
