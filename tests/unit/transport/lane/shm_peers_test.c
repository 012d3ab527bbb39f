/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_pair.h"

#include <errno.h>

static struct shm_lane *shm_of(struct lane *lane)
{
    return (struct shm_lane *)(void *)lane;
}

TEST(shm_peers_at__only_the_peer_itself)
{
    struct lane *lane = open_shm(1);
    struct shm_lane *shm = shm_of(lane);
    struct shm_peer *peers[3];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(shm_peers_add(shm, 100 + i, &peers[i]), 0);
        assert_ptr_equal(shm_peers_at(shm, &peers[i]->address), peers[i]);
        assert_ptr_equal(shm_peers_find(shm, 100 + i), peers[i]);
    }
    struct lane_address old = peers[1]->address;
    shm_peers_tidy(shm); /* nobody has asked for them, and nothing is open */
    assert_null(shm_peers_at(shm, &old));
    assert_null(shm_peers_find(shm, 101));
    assert_int_equal(shm->peers_end, 0);

    /* In the place of another: its address is another. */
    assert_int_equal(shm_peers_add(shm, 200, &peers[0]), 0);
    assert_int_equal(shm_peers_add(shm, 201, &peers[1]), 0);
    assert_int_equal(peers[1]->index, 1);
    assert_null(shm_peers_at(shm, &old));
    memset(old.bytes, 0xFF, sizeof old.bytes);
    assert_null(shm_peers_at(shm, &old));
    close_shm(lane);
}

TEST(shm_peers_add__has_a_limit)
{
    struct lane *lane = open_shm(1);
    struct shm_lane *shm = shm_of(lane);
    struct shm_peer *peer = NULL;
    unsigned count = 0;

    while (shm_peers_add(shm, 1000 + count, &peer) == 0) {
        count++;
    }
    assert_int_equal(count, shm->peers_max);
    assert_int_equal(shm_peers_add(shm, 1, &peer), -ENOSPC);
    shm_peers_tidy(shm);
    assert_int_equal(shm_peers_add(shm, 1, &peer), 0);
    close_shm(lane);
}

static bool is_always(const struct shm_lane *shm, const struct shm_peer *peer)
{
    return true;
}

MET_TEST(shm_peers_quieten__a_bell_makes_the_ring_polled_again)
{
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    assert_int_equal(inside(b)->polled_count, 1);
    assert_true(shm_peers_quieten(shm_of(b), is_always));
    assert_int_equal(inside(b)->polled_count, 0);
    assert_int_equal(inside(b)->quiet_count, 1);
    assert_false(shm_peers_heed_bell(shm_of(b)));

    uint64_t calls = a->sent_calls;
    assert_true(send_number(a, &to_b, 2, 8));
    assert_true(send_number(a, &to_b, 3, 8));
    assert_int_equal(a->sent_calls, calls + 1); /* one wake-up is enough */
    assert_true(shm_peers_heed_bell(shm_of(b)));
    assert_int_equal(inside(b)->polled_count, 1);
    assert_int_equal(inside(b)->quiet_count, 0);
    assert_int_equal(receive_number(b, NULL), 2);
    assert_int_equal(receive_number(b, NULL), 3);
    assert_true(send_number(a, &to_b, 4, 8));
    assert_int_equal(a->sent_calls, calls + 1);
}

MET_TEST(shm_peers_quieten__a_ring_that_is_not_empty_stays)
{
    assert_true(send_number(a, &to_b, 1, 8));
    assert_int_equal(receive_number(b, NULL), 1);
    assert_true(send_number(a, &to_b, 2, 8));
    assert_false(shm_peers_quieten(shm_of(b), is_always));
    assert_int_equal(inside(b)->polled_count, 1);
    assert_int_equal(receive_number(b, NULL), 2);
}

TEST(shm_peers_heed_bell__peers_that_share_a_bell)
{
    struct lane *a = open_shm(1);
    struct shm_lane *shm = shm_of(a);

    /* Bits of indices that nobody has, or that have no ring, do nothing. */
    shm_bell_ring(shm->bell, 0);
    shm_bell_ring(shm->bell, SHM_BELLS - 1);
    shm_bell_ring(shm->bell, SHM_BELLS + 5);
    assert_int_equal(shm->bell->words[0], 1 | 1 << 5);
    struct shm_peer *peer = NULL;
    assert_int_equal(shm_peers_add(shm, 1, &peer), 0);
    assert_true(shm_peers_heed_bell(shm));
    assert_false(peer->polled);
    assert_false(shm_peers_heed_bell(shm));
    close_shm(a);
}

TEST(shm_peers_take_ended__after_its_last_frame_and_once)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane_address to_a = reach_lane(b, a);
    struct lane_address to_b = reach_lane(a, b);
    struct lane_loss lost;
    int before = count_mappings("memfd:beowire");

    assert_true(send_number(a, &to_b, 7, 8));
    assert_int_equal(receive_number(b, NULL), 7);
    assert_true(send_number(b, &to_a, 1, 8));
    assert_true(send_number(b, &to_a, 2, 5000));
    close_shm(b);
    settle(a);
    assert_int_equal(inside(a)->ended_count, 1);
    assert_false(a->operations->lost(a, &lost));
    assert_int_equal(receive_number(a, NULL), 1);
    assert_false(a->operations->lost(a, &lost));
    assert_int_equal(receive_number(a, NULL), 2);
    assert_true(a->operations->lost(a, &lost));
    assert_memory_equal(&lost.address, &to_b, sizeof lost.address);
    assert_false(a->operations->lost(a, &lost));
    settle(a);
    assert_int_equal(inside(a)->peers_end, 0);
    assert_int_equal(count_mappings("memfd:beowire"), before - 1); /* b's bell; no ring is left */
    assert_true(send_number(a, &to_b, 1, 8));                      /* nowhere */
    close_shm(a);
}
