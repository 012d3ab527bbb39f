/* SPDX-License-Identifier: BSD-3-Clause */
/* What arrives: in order, as trains, as expected, and from whom it should not. */
#include "udp_pair.h"

#include "lane/random.h"
#include "lane/train.h"
#include "tuning.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>

#define MESSAGE 77
#define SEGMENT 5000ul
#define STRANGER_ROUNDS 20000

static uint8_t target[1 << 20];

static unsigned recvmsg_calls;

ssize_t __real_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);

ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags)
{
    recvmsg_calls++;
    return __real_recvmsg(socket, message, flags);
}

/** Frame i of a message that is sent in frames of `payload_bytes`. */
static void add_data(unsigned i, uint32_t payload_bytes)
{
    add_frame(&outbox, DATA, MESSAGE, i, payload_bytes);
}

static void expect(struct udp_pair *pair, uint64_t bytes, uint32_t payload_bytes)
{
    struct lane_expectation expectation = {
        .target = target,
        .frames = (uint32_t)((bytes + payload_bytes - 1) / payload_bytes),
        .head_bytes = HEAD_BYTES,
        .payload_bytes = payload_bytes,
        .bytes = bytes,
        .message = MESSAGE,
        .offset = 0,
        .from = pair->at_a,
    };

    memset(target, 0, sizeof target);
    pair->b->operations->expect(pair->b, &expectation);
}

/** Frames [first, end) of the message come next; all are placed, or none. */
static void take_data(struct udp_pair *pair, unsigned first, unsigned end, uint32_t payload_bytes,
                      bool placed)
{
    receive_all(pair->b, incoming, end - first);
    for (unsigned i = first; i < end; i++) {
        const struct lane_incoming *frame = &incoming[i - first];
        check_frame(frame, DATA, MESSAGE, i, payload_bytes);
        assert_ptr_equal(frame->payload, placed ? target + (size_t)i * payload_bytes : NULL);
        assert_memory_equal(&frame->from, &pair->at_a, sizeof pair->at_a);
    }
    pair->b->operations->release(pair->b);
}

PAIR_TEST(udp_receive__nothing_has_come)
{
    assert_int_equal(pair.b->operations->receive(pair.b, incoming, PAIR_FRAMES), 0);
    pair.b->operations->release(pair.b);
}

/** Looks at a lane to which nothing comes. @return how many of them were calls of recvmsg(). */
static unsigned calls_of_looks(struct udp_pair *pair, unsigned looks)
{
    recvmsg_calls = 0;
    for (unsigned i = 0; i < looks; i++) {
        assert_int_equal(pair->b->operations->receive(pair->b, incoming, PAIR_FRAMES), 0);
        pair->b->operations->release(pair->b);
    }
    return recvmsg_calls;
}

PAIR_TEST(udp_receive__polls_the_queue_at_one_look_in_so_many)
{
    pair.b->operations->busy_poll(pair.b, 50, -1);
    assert_int_equal(calls_of_looks(&pair, 3 * LANE_POLL_LOOKS), 3);
    for (unsigned i = 0; i < LANE_POLL_LOOKS; i++) { /* whichever look it is, it sees what came */
        add_data(i, 100);
        send_outbox(&outbox, pair.a, &pair.at_b);
        take_data(&pair, i, i + 1, 100, false);
        (void)calls_of_looks(&pair, 2);
    }
    pair.b->operations->busy_poll(pair.b, 0, -1);
    assert_int_equal(calls_of_looks(&pair, LANE_POLL_LOOKS), LANE_POLL_LOOKS);
}

TEST(udp_receive__a_train_in_pieces)
{
    set_mtu(1500);
    struct udp_pair pair = open_pair();
    for (unsigned step = 1; step <= 44; step++) {
        for (unsigned i = 0; i < 44; i++) {
            add_data(i, 1456);
        }
        send_outbox(&outbox, pair.a, &pair.at_b);
        for (unsigned taken = 0; taken < 44;) {
            unsigned count = receive_some(pair.b, incoming, step);
            assert_true(count <= step);
            for (unsigned i = 0; i < count; i++) {
                check_frame(&incoming[i], DATA, MESSAGE, taken + i, 1456);
            }
            taken += count;
            pair.b->operations->release(pair.b);
        }
    }
    assert_int_equal(pair.b->received_frames, 44 * 44);
    close_pair(&pair);
    set_mtu(9000);
}

PAIR_TEST(udp_receive__expected_data_is_placed)
{
    uint32_t payload_bytes = pair.a->frame_bytes - HEAD_BYTES;
    unsigned batch = pair.a->batch_frames;

    assert_int_equal(batch, 7);
    expect(&pair, (uint64_t)payload_bytes * 100, payload_bytes);
    for (unsigned first = 0; first < 100; first += batch) {
        unsigned end = first + batch < 100 ? first + batch : 100;
        for (unsigned i = first; i < end; i++) {
            add_data(i, payload_bytes);
        }
        send_outbox(&outbox, pair.a, &pair.at_b);
        take_data(&pair, first, end, payload_bytes, true);
    }
    assert_int_equal(pair.b->placed_frames, 100);
    for (uint32_t i = 0; i < 100 * payload_bytes; i++) {
        assert_int_equal(target[i], byte_of(i / payload_bytes, i % payload_bytes));
    }
    /* All has come: the next frame is nobody's. */
    add_data(100, payload_bytes);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 100, 101, payload_bytes, false);
}

PAIR_TEST(udp_receive__short_frames_are_not_placed)
{
    uint32_t payload_bytes = LANE_UDP_PLACED_BYTES_MIN - 1;

    expect(&pair, 100000, payload_bytes);
    add_data(0, payload_bytes);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 1, payload_bytes, false);
    assert_int_equal(target[0], 0);
}

PAIR_TEST(udp_receive__the_last_expected_frame_is_shorter)
{
    expect(&pair, 2 * SEGMENT + 17, SEGMENT);
    add_data(0, SEGMENT);
    add_data(1, SEGMENT);
    add_frame(&outbox, DATA, MESSAGE, 2, 17);
    send_outbox(&outbox, pair.a, &pair.at_b);
    receive_all(pair.b, incoming, 3);
    check_frame(&incoming[2], DATA, MESSAGE, 2, 17);
    assert_ptr_equal(incoming[2].payload, target + 2 * SEGMENT);
    assert_int_equal(target[2 * SEGMENT + 17], 0);
    assert_int_equal(pair.a->sent_calls, 1);
    pair.b->operations->release(pair.b);
}

/** What is expected after that is said between two calls, so none may go too far. */
PAIR_TEST(udp_receive__stops_when_all_that_was_expected_has_come)
{
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned train = 0; train < 4; train++) {
            add_data(2 * train, SEGMENT);
            add_data(2 * train + 1, SEGMENT);
            send_outbox(&outbox, pair.a, &pair.at_b);
        }
        expect(&pair, 4 * SEGMENT, SEGMENT);
        unsigned first = 0;
        while (first < 4) {
            unsigned count = receive_some(pair.b, incoming, PAIR_FRAMES);
            for (unsigned i = 0; i < count; i++) {
                assert_non_null(incoming[i].payload);
            }
            pair.b->operations->release(pair.b);
            first += count;
        }
        assert_int_equal(first, 4);
        take_data(&pair, 4, 8, SEGMENT, false);
    }
}

PAIR_TEST(udp_receive__other_frames_between)
{
    expect(&pair, 10 * SEGMENT, SEGMENT);
    add_data(0, SEGMENT);
    add_frame(&outbox, FRAME_EAGER, MESSAGE, 1, SEGMENT);
    add_data(1, SEGMENT);
    add_frame(&outbox, DATA, MESSAGE + 1, 2, SEGMENT);
    add_data(2, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    receive_all(pair.b, incoming, 5);
    assert_int_equal(pair.a->sent_calls, 1);
    check_frame(&incoming[0], DATA, MESSAGE, 0, SEGMENT);
    check_frame(&incoming[1], FRAME_EAGER, MESSAGE, 1, SEGMENT);
    check_frame(&incoming[2], DATA, MESSAGE, 1, SEGMENT);
    check_frame(&incoming[3], DATA, MESSAGE + 1, 2, SEGMENT);
    check_frame(&incoming[4], DATA, MESSAGE, 2, SEGMENT);
    pair.b->operations->release(pair.b);
    /* And then it goes on as expected. */
    add_data(3, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 3, 4, SEGMENT, true);
}

PAIR_TEST(udp_receive__a_frame_was_lost)
{
    expect(&pair, 100 * SEGMENT, SEGMENT);
    add_data(0, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 1, SEGMENT, true);
    for (unsigned i = 5; i < 10; i++) {
        add_data(i, SEGMENT);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 5, 10, SEGMENT, false);
    for (unsigned i = 10; i < 20; i++) {
        add_data(i, SEGMENT);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 10, 20, SEGMENT, true);
    /* Again: it is behind what is expected. */
    for (unsigned i = 1; i < 5; i++) {
        add_data(i, SEGMENT);
    }
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 1, 5, SEGMENT, false);
    assert_int_equal(pair.b->placed_frames, 11);
}

PAIR_TEST(udp_receive__a_stranger_sends_what_is_expected)
{
    struct lane *stranger = open_udp(here, "end0", 0);

    expect(&pair, 10 * SEGMENT, SEGMENT);
    add_data(0, SEGMENT);
    send_outbox(&outbox, stranger, &pair.at_b);
    receive_all(pair.b, incoming, 1);
    check_frame(&incoming[0], DATA, MESSAGE, 0, SEGMENT);
    assert_null(incoming[0].payload);
    assert_memory_not_equal(&incoming[0].from, &pair.at_a, sizeof pair.at_a);
    pair.b->operations->release(pair.b);
    add_data(0, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 1, SEGMENT, true);
    close_lane(stranger);
}

PAIR_TEST(udp_receive__expect_nothing_any_more)
{
    struct lane_expectation nothing = {.frames = 0};

    expect(&pair, 10 * SEGMENT, SEGMENT);
    pair.b->operations->expect(pair.b, &nothing);
    add_data(0, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 1, SEGMENT, false);
    assert_int_equal(target[0], 0);
}

PAIR_TEST(udp_receive__an_expectation_without_sense)
{
    struct lane_expectation senseless = {
        .target = target, .frames = UINT32_MAX, .head_bytes = 3, .bytes = UINT64_MAX};

    pair.b->operations->expect(pair.b, &senseless);
    add_data(0, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 1, SEGMENT, false);
}

PAIR_TEST(udp_receive__fewer_frames_than_bytes)
{
    struct lane_expectation one = {.target = target,
                                   .frames = 1,
                                   .head_bytes = HEAD_BYTES,
                                   .payload_bytes = SEGMENT,
                                   .bytes = sizeof target,
                                   .message = MESSAGE,
                                   .from = pair.at_a};

    memset(target, 0, sizeof target);
    pair.b->operations->expect(pair.b, &one);
    add_data(0, SEGMENT);
    add_data(1, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    receive_all(pair.b, incoming, 2);
    assert_ptr_equal(incoming[0].payload, target);
    assert_null(incoming[1].payload);
    assert_int_equal(target[SEGMENT], 0);
    pair.b->operations->release(pair.b);
}

PAIR_TEST(udp_receive__what_does_not_fit_is_counted)
{
    uint64_t sent = 0;
    uint64_t arrived = 0;

    /* Frames of different lengths, so that each is a datagram that can be dropped by itself. */
    while (sent * 500 < 4 * pair.b->capacity_bytes) {
        for (unsigned i = 0; i < PAIR_FRAMES; i++) {
            add_frame(&outbox, DATA, MESSAGE, 0, 400 + 3 * i);
        }
        send_outbox(&outbox, pair.a, &pair.at_b);
        sent += PAIR_FRAMES;
    }
    unsigned count;
    while ((count = pair.b->operations->receive(pair.b, incoming, PAIR_FRAMES)) > 0) {
        arrived += count;
        pair.b->operations->release(pair.b);
    }
    assert_int_equal(pair.b->operations->status(pair.b), 0);
    assert_true(pair.b->dropped_frames > 0);
    assert_int_equal(arrived + pair.b->dropped_frames, sent);
    assert_int_equal(pair.b->operations->status(pair.b), 0);
    assert_int_equal(arrived + pair.b->dropped_frames, sent); /* each once */
}

TEST(udp_receive__what_was_promised_fits)
{
    const int mtus[] = {1500, 9000};
    const unsigned batches[] = {1, 2, 64};

    for (unsigned m = 0; m < 2; m++) {
        set_mtu(mtus[m]);
        for (unsigned b = 0; b < 3; b++) {
            struct udp_pair pair = open_pair();
            uint32_t payload_bytes = pair.a->frame_bytes - HEAD_BYTES;
            uint64_t frames = pair.b->capacity_bytes / pair.a->frame_bytes;
            uint64_t arrived = 0;
            for (uint64_t sent = 0; sent < frames; sent += batches[b]) {
                for (unsigned i = 0; i < batches[b]; i++) {
                    add_data(i, payload_bytes);
                }
                send_outbox(&outbox, pair.a, &pair.at_b);
            }
            while (arrived < frames) {
                arrived += receive_some(pair.b, incoming, PAIR_FRAMES);
                pair.b->operations->release(pair.b);
            }
            assert_int_equal(pair.b->operations->status(pair.b), 0);
            assert_int_equal(pair.b->dropped_frames, 0);
            close_pair(&pair);
        }
    }
}

/** Random datagrams and trains from a socket that is not a lane's. */
PAIR_TEST(udp_receive__a_stranger_sends_anything)
{
    static uint8_t noise[65507];
    struct random random;
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET};

    assert_true(stranger >= 0);
    memcpy(&to.sin_addr, pair.at_b.bytes + 12, sizeof to.sin_addr);
    memcpy(&to.sin_port, pair.at_b.bytes + 16, sizeof to.sin_port);
    random_seed(&random, 7);
    for (unsigned round = 0; round < STRANGER_ROUNDS; round++) {
        uint32_t bytes =
            (uint32_t)random_below(&random, random_chance(&random, 900000) ? 200 : 60000);
        int segment = random_chance(&random, 500000) ? 0 : 1 + (int)random_below(&random, 8900);
        if (segment > 0 && bytes / (uint32_t)segment >= 64) {
            segment = 0;
        }
        if (segment > 0 && bytes <= (uint32_t)segment) {
            segment = 0;
        }
        for (uint32_t i = 0; i < bytes; i += 64) {
            noise[i] = (uint8_t)random_next(&random);
        }
        if (round % 64 == 0) {
            expect(&pair, sizeof target, 1 + (uint32_t)random_below(&random, 8000));
        }
        assert_int_equal(setsockopt(stranger, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment), 0);
        assert_int_equal(sendto(stranger, noise, bytes, 0, (struct sockaddr *)&to, sizeof to),
                         bytes);
        sent_bytes += bytes;
        unsigned wanted = 1 + (unsigned)random_below(&random, PAIR_FRAMES);
        unsigned count;
        while ((count = pair.b->operations->receive(pair.b, incoming, wanted)) > 0) {
            assert_true(count <= wanted);
            for (unsigned i = 0; i < count; i++) {
                assert_null(incoming[i].payload);
                received_bytes += incoming[i].bytes;
            }
            pair.b->operations->release(pair.b);
        }
    }
    close(stranger);
    assert_int_equal(received_bytes, sent_bytes);
    assert_int_equal(pair.b->placed_frames, 0);
    assert_true(pair.b->foreign_frames > 0); /* empty datagrams */
    expect(&pair, 2 * SEGMENT, SEGMENT);
    add_data(0, SEGMENT);
    add_data(1, SEGMENT);
    send_outbox(&outbox, pair.a, &pair.at_b);
    take_data(&pair, 0, 2, SEGMENT, true);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    set_mtu(9000);
    return run_listed_tests(NULL, NULL);
}
