/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_pair.h"

#include "lane/shm_segment.h"
#include "lane/shm_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>

TEST(shm_meet_reach__twice_is_the_same_peer)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane_address first = reach_lane(a, b);
    int before = count_descriptors();
    struct lane_address second = reach_lane(a, b);

    assert_memory_equal(&first, &second, sizeof first);
    assert_int_equal(count_descriptors(), before);
    close_shm(a);
    close_shm(b);
}

MET_TEST(shm_meet__both_at_once_are_one_peer_each)
{
    struct lane_address to_a = reach_lane(b, a);
    struct lane_address from;

    assert_true(send_number(a, &to_b, 1, 8));
    assert_true(send_number(b, &to_a, 2, 8));
    assert_int_equal(receive_number(a, &from), 2);
    assert_memory_equal(&from, &to_b, sizeof from);
    assert_int_equal(receive_number(b, &from), 1);
    assert_memory_equal(&from, &to_a, sizeof from);
    settle(a);
    settle(b);
    assert_int_equal(inside(a)->peers_end, 1);
    assert_int_equal(inside(b)->peers_end, 1);
}

MET_TEST(shm_meet__who_is_reached_first_can_answer)
{
    struct lane_address from;

    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, &from), 1);
    /* To where the frame came from, without having asked to reach it. */
    assert_true(send_number(b, &from, 2, 8));
    assert_int_equal(receive_number(a, NULL), 2);
    struct lane_address to_a = reach_lane(b, a);
    assert_memory_equal(&from, &to_a, sizeof from);
}

TEST(shm_meet_reach__nobody_there_has_ended)
{
    struct lane *a = open_shm(1);
    uint64_t nobody = incarnation_of(getpid(), 9);
    struct lane_loss lost;

    for (unsigned i = 0; i < 3; i++) {
        struct lane_address to = reach(a, nobody);
        assert_true(send_number(a, &to, 1, 8));
        assert_true(a->operations->lost(a, &lost));
        assert_memory_equal(&lost.address, &to, sizeof lost.address);
        assert_false(a->operations->lost(a, &lost));
        if (i > 0) {
            settle(a);
            assert_int_equal(inside(a)->peers_end, 0);
        }
    }
    close_shm(a);
}

/** A peer that is no lane: it says what the test wants. */
static int connect_to(const struct lane *lane)
{
    pid_t process = 0;
    int connection = shm_socket_connect(inside(lane)->incarnation, &process);

    assert_true(connection >= 0);
    return connection;
}

static int say_hello(const struct lane *lane, uint64_t incarnation, size_t bytes, void **memory)
{
    int connection = connect_to(lane);
    int file = -1;

    assert_int_equal(shm_segment_make("test", bytes, memory, &file), 0);
    assert_int_equal(
        shm_socket_send(connection,
                        (struct shm_message){.kind = SHM_HELLO, .incarnation = incarnation}, file),
        0);
    close(file);
    return connection;
}

static void refused(struct lane *lane, int connection)
{
    settle(lane);
    assert_int_equal(shm_socket_drain(connection), -ECONNRESET);
    close(connection);
    assert_int_equal(inside(lane)->peers_end, 0);
    assert_int_equal(inside(lane)->polled_count, 0);
}

TEST(shm_meet__refuses_bad_manners_and_keeps_nothing)
{
    struct lane *a = open_shm(1);
    int before = count_descriptors();
    int mappings = count_mappings("memfd:beowire");
    void *memory = NULL;

    int mute = connect_to(a);
    assert_int_equal(shm_socket_ring(mute), 0); /* no HELLO */
    refused(a, mute);
    refused(a, say_hello(a, 0, sizeof(struct shm_ring), &memory));
    shm_segment_unmap(memory, sizeof(struct shm_ring));
    refused(a, say_hello(a, 5, 4096, &memory));
    shm_segment_unmap(memory, 4096);
    close(connect_to(a)); /* gone before it was accepted */
    settle(a);
    assert_int_equal(inside(a)->peers_end, 0);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(count_mappings("memfd:beowire"), mappings);
    close_shm(a);
}

TEST(shm_meet__one_ring_from_each_incarnation)
{
    struct lane *a = open_shm(1);
    void *memory[2];
    int first = say_hello(a, 5, sizeof(struct shm_ring), &memory[0]);

    settle(a);
    int second = say_hello(a, 5, sizeof(struct shm_ring), &memory[1]);
    settle(a);
    assert_int_equal(shm_socket_drain(second), -ECONNRESET);
    assert_int_equal(shm_socket_check(first), 0);
    assert_int_equal(inside(a)->polled_count, 1);
    assert_int_equal(inside(a)->peers_end, 1);
    close(second);
    close(first);
    settle(a);
    settle(a);
    assert_int_equal(inside(a)->peers_end, 0);
    shm_segment_unmap(memory[0], sizeof(struct shm_ring));
    shm_segment_unmap(memory[1], sizeof(struct shm_ring));
    close_shm(a);
}

MET_TEST(shm_meet__an_end_that_is_only_claimed_is_not_told)
{
    struct lane_loss lost;
    void *memory = NULL;

    /* A third says that it is b, and goes. */
    int liar = say_hello(a, inside(b)->incarnation, sizeof(struct shm_ring), &memory);
    settle(a);
    close(liar);
    settle(a);
    assert_false(a->operations->lost(a, &lost));
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    shm_segment_unmap(memory, sizeof(struct shm_ring));
}

TEST(shm_meet__a_reply_that_is_none_ends_the_peer)
{
    struct lane *a = open_shm(1);
    uint64_t other = incarnation_of(getpid(), 2);
    int listener = shm_socket_listen(other);
    struct lane_address to = reach(a, other);
    struct lane_loss lost;
    int before = count_mappings("memfd:beowire");

    assert_true(send_number(a, &to, 1, 8));
    int accepted = shm_socket_accept(listener);
    assert_true(accepted >= 0);
    assert_int_equal(
        shm_socket_send(accepted, (struct shm_message){.kind = SHM_REPLY}, STDIN_FILENO), 0);
    settle(a);
    assert_true(a->operations->lost(a, &lost));
    assert_memory_equal(&lost.address, &to, sizeof lost.address);
    assert_int_equal(count_mappings("memfd:beowire"), before);
    close(accepted);
    close(listener);
    close_shm(a);
}

MET_TEST(shm_meet__wake_ups_that_nobody_asked_for)
{
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    settle(a);
    struct shm_peer *peer = inside(a)->peers[0];
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(shm_socket_ring(peer->outbound), 0);
    }
    for (unsigned i = 0; i < 200; i++) {
        settle(b);
    }
    assert_int_equal(wait_for(b, 0), 0); /* all have been taken: it can sleep */
    assert_true(send_number(a, &to_b, 2, 8));
    assert_int_equal(receive_number(b, NULL), 2);
}

TEST(shm_meet_prepare__peer_that_ended_before_anything_was_sent)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane_address to_b = reach_lane(a, b);

    /* Ended before anything was sent: seen when something is. */
    close_shm(b);
    assert_true(send_number(a, &to_b, 1, 8));
    wait_for_loss(a, &to_b);
    close_shm(a);
}

/** Lets the process open no more files, or as many as before. */
static void allow_files(bool more)
{
    static struct rlimit before;
    struct rlimit none;

    if (more) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        return;
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

/** Nothing is known of the peer: it has not ended. */
MET_TEST(shm_meet_prepare__without_files_it_is_tried_again)
{
    struct lane_loss lost;

    allow_files(false);
    assert_false(send_number(a, &to_b, 1, 8));
    allow_files(true);
    assert_true(a->operations->lost(a, &lost));
    assert_memory_equal(&lost.address, &to_b, sizeof to_b);
    assert_false(lost.certain);
    assert_false(a->operations->lost(a, &lost));
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
}

MET_TEST(shm_meet__who_cannot_be_let_in_does_not_wait_for_ever)
{
    assert_true(send_number(a, &to_b, 1, 8));
    allow_files(false);
    settle(b);
    allow_files(true);
    wait_for_loss(a, &to_b);
}

/** The process had no room only for a while. */
TEST(shm_meet__who_comes_later_is_let_in)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane *c = open_shm(3);
    struct lane_address to_b = reach_lane(a, b);
    struct rlimit before;
    int next = dup(inside(b)->listener);

    assert_true(next > inside(b)->listener);
    close(next);
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit full = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &full), 0);
    settle(b);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    wait_for_loss(a, &to_b);
    struct lane_address from_c = reach_lane(c, b);
    assert_true(send_number(c, &from_c, 2, 8));
    assert_int_equal(receive_number(b, NULL), 2);
    close_shm(a);
    close_shm(b);
    close_shm(c);
}

MET_TEST(shm_meet__without_room_for_its_bell_a_peer_is_woken_by_its_socket)
{
    struct lane_loss lost;

    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    allow_files(false);
    settle(a); /* the reply */
    allow_files(true);
    assert_false(a->operations->lost(a, &lost));
    assert_null(inside(a)->peers[0]->bell);
    assert_true(b->operations->arm(b));
    assert_int_equal(wait_for(b, 0), 0);
    assert_true(send_number(a, &to_b, 2, 8));
    assert_int_equal(wait_for(b, PATIENCE_NS), 1);
    assert_int_equal(receive_number(b, NULL), 2);
}

TEST(shm_leave__the_other_hears_of_it_and_nothing_stays)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    int before = count_descriptors();
    struct lane_address to_b = reach_lane(a, b);
    struct lane_address to_a = reach_lane(b, a);
    struct lane_loss lost;

    assert_true(send_number(a, &to_b, 1, 8));
    assert_true(send_number(b, &to_a, 1, 8));
    settle(a);
    settle(b);
    a->operations->leave(a, &to_b);
    a->operations->leave(a, &to_b);
    assert_false(a->operations->lost(a, &lost));
    assert_int_equal(receive_number(b, NULL), 1);
    wait_for_loss(b, &to_a);
    assert_int_equal(receive_number(a, NULL), 1); /* it had come before */
    settle(a);
    settle(b);
    assert_int_equal(inside(a)->peers_end, 0);
    assert_int_equal(inside(b)->peers_end, 0);
    assert_int_equal(count_descriptors(), before);
    close_shm(a);
    close_shm(b);
}
