/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that were made before the MTU of an interface was lowered. */
#include "simulation/cluster.h"
#include "unit/test.h"

#define NARROWED_BYTES 500
#define SHORT_BYTES 100
#define LONG_BYTES 1000

struct pair {
    struct cluster cluster;
    struct core_peer *peer; /* node 1, as node 0 knows it */
    struct lane *lanes[2];  /* of node 0: the quick one, and another */
};

/** Two nodes that have met, and have two networks in common. */
static struct pair *meet(uint32_t rails)
{
    static struct pair pair;
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.rails = rails;
    cluster_open(&pair.cluster, &wire);
    cluster_start(&pair.cluster, 0);
    cluster_start(&pair.cluster, 1);
    pair.peer = cluster_peer(&pair.cluster, 0, 1);
    core_connect(&pair.cluster.nodes[0].core, pair.peer, cluster_now(&pair.cluster));
    cluster_run(&pair.cluster, cluster_now(&pair.cluster) + 10000000);
    assert_int_equal(pair.peer->connection.state, CONNECTION_OPEN);
    for (uint32_t i = 0; i < rails; i++) {
        pair.lanes[i] = pair.cluster.nodes[0].lanes.lanes[i];
    }
    return &pair;
}

/** Sends a message, and waits until it is acknowledged.
 *  @return so many frames more has this lane sent. */
static uint64_t send_over(struct pair *pair, uint64_t bytes, unsigned lane)
{
    static uint8_t data[LONG_BYTES];
    static uint8_t buffer[LONG_BYTES];
    struct beowire_completion done = {0};
    uint64_t before = pair->lanes[lane]->sent_frames;

    assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 1, 0, buffer, sizeof buffer, NULL),
                     0);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->peer, 1, 0, data, bytes, NULL), 0);
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + 10000000);
    assert_true(cluster_take(&pair->cluster, 0, &done));
    assert_int_equal(done.status, 0);
    assert_true(cluster_take(&pair->cluster, 1, &done));
    assert_int_equal(done.bytes, bytes);
    return pair->lanes[lane]->sent_frames - before;
}

TEST(route_send_sequenced__what_is_too_long_for_a_narrowed_lane)
{
    struct pair *pair = meet(2);

    assert_true(send_over(pair, LONG_BYTES, 0) > 0);
    pair->lanes[0]->narrowed_bytes = NARROWED_BYTES;
    assert_true(send_over(pair, LONG_BYTES, 1) > 0);
    assert_true(send_over(pair, SHORT_BYTES, 0) > 0);
    pair->lanes[0]->narrowed_bytes = 0;
    assert_true(send_over(pair, LONG_BYTES, 0) > 0);
    cluster_close(&pair->cluster);
}

/** Frames of both kinds that are sent together arrive in order. */
TEST(route_send_sequenced__long_and_short_ones_by_turns)
{
    static uint8_t data[LONG_BYTES];
    static uint8_t buffers[20][LONG_BYTES];
    struct pair *pair = meet(2);

    pair->lanes[0]->narrowed_bytes = NARROWED_BYTES;
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(
            cluster_receive(&pair->cluster, 1, NULL, 1, 0, buffers[i], LONG_BYTES, NULL), 0);
    }
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t bytes = i % 3 == 0 ? SHORT_BYTES : LONG_BYTES;
        assert_int_equal(message_send(&pair->cluster.nodes[0].core.messages, &pair->peer->message,
                                      1, i, data, bytes, NULL),
                         0);
    }
    cluster_service(&pair->cluster, 0, pair->peer);
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + 100000000);
    for (uint32_t i = 0; i < 20; i++) {
        struct beowire_completion done = {0};
        assert_true(cluster_take(&pair->cluster, 1, &done));
        assert_int_equal(done.immediate, i);
    }
    cluster_close(&pair->cluster);
}

/** Without another lane it stays with the one there is, which may be as wide again soon. */
TEST(route_send_sequenced__no_other_lane)
{
    struct pair *pair = meet(1);

    pair->lanes[0]->narrowed_bytes = NARROWED_BYTES;
    assert_true(send_over(pair, LONG_BYTES, 0) > 0);
    cluster_close(&pair->cluster);
}
