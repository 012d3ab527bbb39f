/* SPDX-License-Identifier: BSD-3-Clause */
/* The lane as the layers above see it. What ends is a process of its own. */
#include "shm_child.h"
#include "shm_pair.h"

#include "lane/shm_segment.h"
#include "lane/shm_socket.h"
#include "tuning.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

/* ---- frames -------------------------------------------------------------------------------- */

TEST(shm_lane__what_it_says_of_itself)
{
    struct lane *a = open_shm(1);
    struct address_layout address = address_layout_of(a);

    assert_int_equal(a->kind, LANE_SHM);
    assert_false(a->polling_is_costly);
    assert_int_equal(a->frame_bytes, SHM_FRAME_BYTES);
    assert_true(a->capacity_bytes == UINT64_MAX);
    assert_int_equal(a->operations->status(a), 0);
    assert_int_equal(from_le32(address.process), getpid());
    assert_true(from_le64(address.host) != 0);
    close_shm(a);
}

TEST(shm_lane_open__an_incarnation_is_open_once)
{
    struct lane *a = open_shm(1);
    struct shm_lane_options options = {.incarnation = inside(a)->incarnation, .peers = 1};
    struct lane *second = NULL;
    int before = count_descriptors();

    assert_int_equal(shm_lane_open(&options, &second), -EADDRINUSE);
    assert_null(second);
    assert_int_equal(count_descriptors(), before);
    close_shm(a);
}

MET_TEST(shm_lane__frames_arrive_whole_and_in_order)
{
    struct lane_address to_a = reach_lane(b, a);
    struct lane_address from;

    for (unsigned i = 0; i < 20 * SHM_CELLS; i++) {
        uint32_t data_bytes = i % 7 == 0 ? 1 + i * 13 % SHM_PAYLOAD_BYTES : 1 + i % 200;
        assert_true(send_number(a, &to_b, (uint8_t)i, data_bytes));
        assert_int_equal(receive_number(b, &from), (uint8_t)i);
        assert_memory_equal(&from, &to_a, sizeof from);
    }
    assert_int_equal(a->sent_frames, 20 * SHM_CELLS);
    assert_int_equal(b->received_frames, 20 * SHM_CELLS);
    assert_int_equal(b->received_bytes, a->sent_bytes);
    assert_int_equal(a->sent_calls, 1); /* HELLO; sending is none */
}

MET_TEST(shm_lane__full_takes_nothing_and_loses_nothing)
{
    unsigned sent = 0;

    while (send_number(a, &to_b, (uint8_t)sent, 8)) {
        sent++;
    }
    assert_int_equal(sent, SHM_CELLS);
    assert_int_equal(a->refused_frames, 1);
    for (unsigned i = 0; i < sent; i++) {
        assert_int_equal(receive_number(b, NULL), (uint8_t)i);
    }
    assert_true(send_number(a, &to_b, 77, 8));
    assert_int_equal(receive_number(b, NULL), 77);
}

MET_TEST(shm_lane__many_in_a_call)
{
    struct lane_outgoing outgoing[300];
    static struct lane_incoming incoming[300];
    uint8_t heads[300][LANE_HEADROOM + HEAD_BYTES] = {0};
    unsigned received = 0;

    for (unsigned i = 0; i < 300; i++) {
        heads[i][LANE_HEADROOM + 1] = FRAME_EAGER;
        heads[i][LANE_HEADROOM + 40] = (uint8_t)i;
        outgoing[i] =
            (struct lane_outgoing){.head = heads[i] + LANE_HEADROOM, .head_bytes = HEAD_BYTES};
    }
    assert_int_equal(a->operations->send(a, &to_b, outgoing, 300), SHM_CELLS);
    while (received < SHM_CELLS) {
        /* Twice before a release: what was handed out stays as it was. */
        unsigned first = b->operations->receive(b, incoming, 40);
        unsigned both = first + b->operations->receive(b, incoming + first, 300 - first);
        assert_true(both <= SHM_RECEIVE_FRAMES);
        for (unsigned i = 0; i < both; i++, received++) {
            assert_int_equal(incoming[i].data[40], (uint8_t)received);
        }
        assert_int_equal(b->operations->arm(b), both == 0);
        b->operations->release(b);
    }
}

TEST(shm_lane__to_itself)
{
    struct lane *a = open_shm(1);
    struct lane_address to_a = reach_lane(a, a);
    struct lane_address from;

    for (unsigned i = 0; i < 1000; i++) {
        assert_true(send_number(a, &to_a, (uint8_t)i, 1 + i * 5));
        assert_int_equal(receive_number(a, &from), (uint8_t)i);
        assert_memory_equal(&from, &to_a, sizeof from);
    }
    close_shm(a);
}

TEST(shm_reach__not_on_this_host)
{
    struct lane *a = open_shm(1);
    struct address_layout address = address_layout_of(a);
    struct lane_address to;

    address.host = to_le64(from_le64(address.host) + 1);
    assert_int_equal(a->operations->reach(a, &address, &to), -EHOSTUNREACH);
    address.host = to_le64(0);
    assert_int_equal(a->operations->reach(a, &address, &to), -EHOSTUNREACH);
    assert_int_equal(inside(a)->peers_end, 0);
    close_shm(a);
}

static void open_as_nobody(int end, uint64_t parent)
{
    if (setresuid(NOBODY, NOBODY, NOBODY) != 0) {
        _exit(8);
    }
    struct lane *lane = open_shm(1);
    struct address_layout address = address_layout_of(lane);
    tell(end, &address, sizeof address);
}

TEST(shm_reach__not_another_user)
{
    struct lane *a = open_shm(1);
    struct child child = start(open_as_nobody, 0);
    struct address_layout address;
    struct lane_address to;

    hear(&child, &address, sizeof address);
    assert_int_equal(a->operations->reach(a, &address, &to), -EHOSTUNREACH);
    stop_child(&child);
    close_shm(a);
}

/* ---- many ---------------------------------------------------------------------------------- */

#define CROWD 16

TEST(shm_lane__sixteen_endpoints_all_to_all)
{
    struct lane *lanes[CROWD];
    struct lane_address to[CROWD][CROWD];
    int descriptors = count_descriptors();
    int mappings = count_mappings("memfd:beowire");

    for (unsigned i = 0; i < CROWD; i++) {
        lanes[i] = open_shm(i + 1);
    }
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < CROWD; i++) {
            for (unsigned j = 0; j < CROWD; j++) {
                if (round == 0) {
                    to[i][j] = reach_lane(lanes[i], lanes[j]);
                }
                assert_true(send_number(lanes[i], &to[i][j], (uint8_t)(i + round), 1 + i * 20));
            }
        }
        for (unsigned j = 0; j < CROWD; j++) {
            bool heard[CROWD] = {false};
            for (unsigned n = 0; n < CROWD; n++) {
                struct lane_address from;
                unsigned i = (uint8_t)(receive_number(lanes[j], &from) - (int)round);
                assert_true(i < CROWD && !heard[i]);
                assert_memory_equal(&from, &to[j][i], sizeof from);
                heard[i] = true;
            }
        }
    }
    for (unsigned i = 0; i < CROWD; i++) {
        close_shm(lanes[i]);
    }
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_mappings("memfd:beowire"), mappings);
}

TEST(shm_receive__of_many_only_the_busy_are_polled)
{
    struct lane *hub = open_shm(1);
    struct lane *lanes[CROWD];
    struct lane_address to[CROWD];
    struct lane_incoming frame;

    for (unsigned i = 0; i < CROWD; i++) {
        lanes[i] = open_shm(i + 2);
        to[i] = reach_lane(lanes[i], hub);
        assert_true(send_number(lanes[i], &to[i], (uint8_t)i, 8));
        assert_int_equal(receive_number(hub, NULL), i);
    }
    /* One stays busy: in time nearly all the others are quiet. */
    uint64_t end_ns = clock_now_ns() + PATIENCE_NS;
    while (inside(hub)->polled_count > SHM_POLLED_RINGS) {
        (void)send_number(lanes[3], &to[3], 3, 8);
        while (hub->operations->receive(hub, &frame, 1) > 0) {
            hub->operations->release(hub);
        }
        assert_true(clock_now_ns() < end_ns);
    }
    assert_int_equal(inside(hub)->polled_count + inside(hub)->quiet_count, CROWD);
    assert_true(inside(hub)->quiet_count >= CROWD - SHM_POLLED_RINGS);
    /* The silent ones are heard all the same. */
    for (unsigned i = 0; i < CROWD; i++) {
        assert_true(send_number(lanes[i], &to[i], (uint8_t)(100 + i), 8));
        assert_int_equal(receive_number(hub, NULL), 100 + i);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        close_shm(lanes[i]);
    }
    close_shm(hub);
}

TEST(shm_receive__nobody_is_starved)
{
    struct lane *hub = open_shm(1);
    struct lane *lanes[3];
    struct lane_address to[3];
    unsigned heard[3] = {0};

    for (unsigned i = 0; i < 3; i++) {
        lanes[i] = open_shm(i + 2);
        to[i] = reach_lane(lanes[i], hub);
        while (send_number(lanes[i], &to[i], (uint8_t)i, 8)) {
        }
    }
    for (unsigned i = 0; i < 30; i++) {
        heard[receive_number(hub, NULL)]++;
    }
    assert_true(heard[0] >= 9 && heard[1] >= 9 && heard[2] >= 9);
    for (unsigned i = 0; i < 3; i++) {
        close_shm(lanes[i]);
    }
    close_shm(hub);
}

/* ---- ends ---------------------------------------------------------------------------------- */

/** Opens a lane, says its incarnation, sends three frames, and stays. */
static void send_and_stay(int end, uint64_t parent)
{
    struct lane *lane = open_shm(1);
    struct lane_address to = reach(lane, parent);

    for (unsigned i = 1; i <= 3; i++) {
        if (!send_number(lane, &to, (uint8_t)i, 3000)) {
            _exit(7);
        }
    }
    tell(end, &inside(lane)->incarnation, sizeof inside(lane)->incarnation);
}

TEST(shm_lost__process_that_was_killed)
{
    struct lane *a = open_shm(1);
    struct child child = start(send_and_stay, inside(a)->incarnation);
    uint64_t incarnation = 0;
    struct lane_loss lost;
    int mappings = count_mappings("memfd:beowire");

    hear(&child, &incarnation, sizeof incarnation);
    struct lane_address to = reach(a, incarnation);
    assert_int_equal(receive_number(a, NULL), 1);
    assert_true(send_number(a, &to, 1, 8));
    assert_false(a->operations->lost(a, &lost));
    int descriptors = count_descriptors();
    stop_child(&child);
    /* What it had sent comes first. */
    assert_int_equal(receive_number(a, NULL), 2);
    assert_int_equal(receive_number(a, NULL), 3);
    wait_for_loss(a, &to);
    assert_false(a->operations->lost(a, &lost));
    settle(a);
    assert_int_equal(count_mappings("memfd:beowire"), mappings);
    assert_int_equal(count_descriptors(), descriptors - 3); /* two connections, and the pipe */
    close_shm(a);
}

/** One that is stopped is there still. */
TEST(shm_ask_host__process_that_was_stopped)
{
    struct lane *a = open_shm(1);
    struct child child = start(send_and_stay, inside(a)->incarnation);
    uint64_t incarnation = 0;
    int status = 0;

    hear(&child, &incarnation, sizeof incarnation);
    struct lane_address to = reach(a, incarnation);
    assert_int_equal(kill(child.process, SIGSTOP), 0);
    assert_int_equal(waitpid(child.process, &status, WUNTRACED), child.process);
    assert_int_equal(a->operations->ask_host(a, &to, 1, true), LANE_HOST_VOUCHES);
    stop_child(&child);
    assert_int_equal(a->operations->ask_host(a, &to, 1, true), LANE_HOST_ASKED);
    close_shm(a);
}

TEST(shm_lost__wakes_who_sleeps)
{
    struct lane *a = open_shm(1);
    struct child child = start(send_and_stay, inside(a)->incarnation);
    uint64_t incarnation = 0;

    hear(&child, &incarnation, sizeof incarnation);
    struct lane_address to = reach(a, incarnation);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(receive_number(a, NULL), i);
    }
    while (!a->operations->arm(a)) {
        assert_int_equal(a->operations->receive(a, NULL, 0), 0);
    }
    assert_int_equal(wait_for(a, 0), 0);
    stop_child(&child);
    assert_int_equal(wait_for(a, PATIENCE_NS), 1);
    wait_for_loss(a, &to);
    close_shm(a);
}

TEST(shm_lane__restart_is_another_peer)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane_address old = reach_lane(a, b);

    assert_true(send_number(a, &old, 1, 8));
    close_shm(b);
    b = open_shm(3);
    struct lane_address new = reach_lane(a, b);
    assert_true(send_number(a, &new, 2, 8));
    assert_int_equal(receive_number(b, NULL), 2);
    wait_for_loss(a, &old);
    assert_true(send_number(a, &old, 3, 8)); /* nowhere */
    assert_true(send_number(a, &new, 4, 8));
    assert_int_equal(receive_number(b, NULL), 4);
    close_shm(a);
    close_shm(b);
}

TEST(shm_lane__a_ring_that_breaks_the_rules_is_closed)
{
    struct lane *a = open_shm(1);
    pid_t process = 0;
    void *memory = NULL;
    int file = -1;
    struct lane_incoming frames[4];
    int connection = shm_socket_connect(inside(a)->incarnation, &process);

    assert_int_equal(shm_segment_make("test", sizeof(struct shm_ring), &memory, &file), 0);
    struct shm_ring *ring = memory;
    ring->cells[0].control = UINT64_C(1) << 48 | UINT64_C(50) << 32;
    ring->cells[1].control = UINT64_C(1) << 48 | UINT64_C(300) << 32 | (SHM_DATA_BYTES - 299);
    ring->cells[2].control = UINT64_C(1) << 48 | UINT64_C(50) << 32;
    assert_int_equal(shm_socket_send(connection,
                                     (struct shm_message){.kind = SHM_HELLO, .incarnation = 5},
                                     file),
                     0);
    settle(a);
    assert_int_equal(a->operations->receive(a, frames, 4), 1); /* up to the one out of bounds */
    a->operations->release(a);
    assert_int_equal(a->operations->receive(a, frames, 4), 0);
    assert_true(a->foreign_frames > 0);
    settle(a);
    assert_int_equal(inside(a)->peers_end, 0);
    struct shm_message reply;
    int bell = -1;
    assert_int_equal(shm_socket_receive(connection, SHM_REPLY, &reply, &bell), 0);
    assert_int_equal(shm_socket_check(connection), -ECONNRESET);
    close(bell);
    close(file);
    close(connection);
    shm_segment_unmap(memory, sizeof(struct shm_ring));
    close_shm(a);
}

TEST(shm_send__peer_that_breaks_the_rules_is_lost)
{
    struct lane *a = open_shm(1);
    uint64_t other = incarnation_of(getpid(), 2);
    int listener = shm_socket_listen(other);
    struct lane_address to = reach(a, other);
    struct shm_message hello;
    void *memory = NULL;
    int file = -1;

    assert_true(send_number(a, &to, 1, 8));
    int accepted = shm_socket_accept(listener);
    assert_int_equal(shm_socket_receive(accepted, SHM_HELLO, &hello, &file), 0);
    assert_int_equal(shm_segment_map(file, sizeof(struct shm_ring), &memory), 0);
    struct shm_ring *ring = memory;
    ring->consumed = 1000000;
    ring->attention = 1; /* and wants to be woken, but has never replied */
    while (send_number(a, &to, 1, 8)) {
        assert_true(a->sent_frames <= SHM_CELLS);
    }
    wait_for_loss(a, &to);
    close(file);
    close(accepted);
    close(listener);
    shm_segment_unmap(memory, sizeof(struct shm_ring));
    close_shm(a);
}

/* ---- sleeping ------------------------------------------------------------------------------ */

MET_TEST(shm_arm__frames_that_are_there_prevent_sleep)
{
    assert_true(b->operations->arm(b));
    assert_int_equal(wait_for(b, PATIENCE_NS), 1); /* somebody has connected */
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    assert_true(send_number(a, &to_b, 2, 8));
    assert_false(b->operations->arm(b));
    assert_int_equal(receive_number(b, NULL), 2);
    assert_true(b->operations->arm(b));
    assert_int_equal(wait_for(b, 0), 0);
    assert_true(send_number(a, &to_b, 3, 8));
    assert_int_equal(wait_for(b, 0), 1);
    assert_int_equal(receive_number(b, NULL), 3);
    assert_true(b->operations->arm(b));
    assert_int_equal(wait_for(b, 0), 0); /* the wake-up has been taken */
}

#define PINGS 20000

struct sleeper {
    struct lane *lane;
    struct lane_address other;
    bool begins;
    bool lost;
};

/** Sleeps before each frame: without patience, so that a wake-up that is lost ends the test. */
static bool sleep_and_receive(struct sleeper *sleeper, uint8_t expected)
{
    struct lane *lane = sleeper->lane;
    struct lane_incoming frame;

    while (lane->operations->receive(lane, &frame, 1) == 0) {
        if (lane->operations->arm(lane) && wait_for(lane, PATIENCE_NS) != 1) {
            return false;
        }
    }
    bool right = frame.data[HEAD_BYTES] == expected;
    lane->operations->release(lane);
    return right;
}

static void *ping(void *context)
{
    struct sleeper *sleeper = context;

    for (unsigned i = 0; i < PINGS && !sleeper->lost; i++) {
        if (sleeper->begins) {
            (void)send_number(sleeper->lane, &sleeper->other, (uint8_t)i, 8);
            sleeper->lost = !sleep_and_receive(sleeper, (uint8_t)i);
        } else {
            sleeper->lost = !sleep_and_receive(sleeper, (uint8_t)i);
            (void)send_number(sleeper->lane, &sleeper->other, (uint8_t)i, 8);
        }
    }
    return NULL;
}

TEST(shm_arm__two_threads_that_sleep_lose_no_wake_up)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct sleeper first = {.lane = a, .other = reach_lane(a, b), .begins = true};
    struct sleeper second = {.lane = b, .other = reach_lane(b, a)};
    pthread_t threads[2];

    assert_int_equal(pthread_create(&threads[0], NULL, ping, &first), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, ping, &second), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_false(first.lost);
    assert_false(second.lost);
    close_shm(a);
    close_shm(b);
}
