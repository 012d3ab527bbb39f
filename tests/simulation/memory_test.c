/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory and credit: receivers that do not receive, and more peers than there is memory for, slow
 * each other down, but nobody is shut out and nothing grows.
 */
#include "simulation/workload.h"
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

/** Takes all completions of a node. @return how many were receives that ended well. */
static uint32_t count_received(struct cluster *cluster, uint32_t node)
{
    struct beowire_completion done;
    uint32_t count = 0;

    while (message_complete(&cluster->nodes[node].core.messages, &done)) {
        assert_int_equal(done.status, 0);
        count += done.operation == BEOWIRE_RECEIVE;
    }
    return count;
}

/** Sends `messages` of `bytes` bytes from node `from` to node 0, which waits for them. */
static void send_and_receive(struct cluster *cluster, uint32_t from, uint32_t messages,
                             uint32_t bytes)
{
    static uint8_t data[20000];
    static uint8_t buffer[20000];
    uint64_t end_ns = cluster_now(cluster) + 20 * SECOND;
    uint32_t sent = 0;
    uint32_t posted = 0;
    uint32_t received = 0;

    while (received < messages) {
        if (cluster_now(cluster) >= end_ns) {
            cluster_fail(cluster, "node %u: %u of %u messages arrived", from, received, messages);
        }
        if (sent < messages && cluster_send(cluster, from, cluster_peer(cluster, from, 0), 1, 0,
                                            data, bytes, NULL) == 0) {
            sent++;
        }
        if (posted < messages &&
            cluster_receive(cluster, 0, NULL, 1, 0, buffer, sizeof buffer, NULL) == 0) {
            posted++;
        }
        (void)cluster_step(cluster, cluster_now(cluster) + 2000);
        received += count_received(cluster, 0);
        (void)count_received(cluster, from);
    }
}

TEST(credit__idle_peers_do_not_starve_a_late_one)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    const uint32_t peers = MESSAGE_CHUNKS / FLOW_WINDOW_FRAMES + 8;

    wire.nodes = peers + 1;
    cluster_open(&cluster, &wire);
    for (uint32_t i = 0; i < wire.nodes; i++) {
        cluster_start(&cluster, i);
    }
    /* Each peer proves that it can use a full window, and then keeps it for nothing. */
    for (uint32_t from = 1; from <= peers; from++) {
        send_and_receive(&cluster, from, 2 * FLOW_WINDOW_FRAMES, 8);
    }
    cluster_run(&cluster, cluster_now(&cluster) + SECOND);
    cluster_check_empty(&cluster);
    cluster_close(&cluster);
}

TEST(credit__hundred_peers_into_one)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct workload workload;

    wire.nodes = 101;
    wire.lost_ppm = 5000;
    cluster_open(&cluster, &wire);
    cluster.options.operations = 4096;
    for (uint32_t i = 0; i < wire.nodes; i++) {
        cluster_start(&cluster, i);
    }
    options.messages = 1000;
    options.bytes_max = 20000;
    options.duration_ns = 20 * MILLISECOND;
    options.into_first = true;
    workload_open(&workload, &cluster, &options, 1);
    (void)workload_run(&workload, cluster_now(&cluster) + 60 * SECOND);
    workload_check_all(&workload);
    cluster_run(&cluster, cluster_now(&cluster) + 5 * SECOND);
    cluster_check_empty(&cluster);
    workload_close(&workload);
    cluster_close(&cluster);
}

TEST(receiver__that_posts_nothing_stops_the_sender)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    uint8_t data[1000];
    uint8_t buffer[1000];
    uint32_t sent = 0;
    uint32_t received = 0;
    uint32_t posted = 0;

    cluster_open(&cluster, &wire);
    cluster_start(&cluster, 0);
    cluster_start(&cluster, 1);
    struct core_peer *to = cluster_peer(&cluster, 1, 0);
    while (cluster_now(&cluster) < wire.start_ns + SECOND) {
        memset(data, (int)(sent & 0xFF), sizeof data);
        sent += cluster_inject(&cluster, 1, to, 1, sent, data, sizeof data) == 0;
        (void)cluster_step(&cluster, cluster_now(&cluster) + 100000);
    }
    /* All that the receiver has memory for, and what waits at the sender. */
    assert_in_range(sent, MESSAGE_CHUNKS, MESSAGE_CHUNKS + FLOW_WINDOW_FRAMES + 4);
    assert_in_range(cluster.nodes[0].core.messages.counters.unexpected_messages, MESSAGE_CHUNKS,
                    MESSAGE_CHUNKS + MESSAGE_PEER_CHUNKS);
    while (received < sent) {
        struct beowire_completion done;
        assert_true(cluster_now(&cluster) < wire.start_ns + 10 * SECOND);
        if (posted == received) {
            assert_int_equal(cluster_receive(&cluster, 0, NULL, 1, 0, buffer, sizeof buffer, NULL),
                             0);
            posted++;
        }
        if (message_complete(&cluster.nodes[0].core.messages, &done)) {
            assert_int_equal(done.immediate, received);
            assert_int_equal(buffer[999], received & 0xFF);
            received++;
        } else {
            (void)cluster_step(&cluster, cluster_now(&cluster) + 100000);
        }
    }
    cluster_run(&cluster, cluster_now(&cluster) + SECOND);
    cluster_check_empty(&cluster);
    cluster_close(&cluster);
}

/** The receiver says that there is room again, and that gets lost: who injects has nothing under
 * way that would ask. */
TEST(inject__goes_on_although_a_grant_is_lost)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t buffer[1000] = {0};
    uint32_t sent = 0;

    cluster_open(&cluster, &wire);
    cluster_start(&cluster, 0);
    cluster_start(&cluster, 1);
    struct core_peer *to = cluster_peer(&cluster, 1, 0);
    struct message_layer *receiver = &cluster.nodes[0].core.messages;
    while (cluster_now(&cluster) < wire.start_ns + SECOND) {
        sent += cluster_inject(&cluster, 1, to, 1, sent, buffer, sizeof buffer) == 0;
        (void)cluster_step(&cluster, cluster_now(&cluster) + 100000);
    }
    assert_int_equal(cluster_inject(&cluster, 1, to, 1, 0, buffer, sizeof buffer), -EAGAIN);
    sim_wire_cut(cluster.wire, 0, 1, true);
    for (uint32_t i = 0; i < sent; i++) {
        assert_int_equal(cluster_receive(&cluster, 0, NULL, 1, 0, buffer, sizeof buffer, NULL), 0);
        assert_true(message_complete(receiver, &done));
    }
    cluster_run(&cluster, cluster_now(&cluster) + 10 * MILLISECOND);
    sim_wire_cut(cluster.wire, 0, 1, false);
    assert_int_equal(cluster_inject(&cluster, 1, to, 1, 0, buffer, sizeof buffer), -EAGAIN);
    cluster_run(&cluster, cluster_now(&cluster) + 2 * SECOND);
    assert_int_equal(cluster_inject(&cluster, 1, to, 1, 0, buffer, sizeof buffer), 0);
    cluster_close(&cluster);
}

/** Whoever takes what has piled up in order, however slowly, waits for nothing that is new: the
 * pile need not grow, and leaves memory to other peers. */
TEST(receiver__that_is_slow_is_not_one_that_waits)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t data[100] = {0};

    cluster_open(&cluster, &wire);
    cluster_start(&cluster, 0);
    cluster_start(&cluster, 1);
    struct core_peer *to = cluster_peer(&cluster, 1, 0);
    struct message_layer *receiver = &cluster.nodes[0].core.messages;
    while (cluster_now(&cluster) < wire.start_ns + 50 * MILLISECOND) {
        while (cluster_inject(&cluster, 1, to, 1, 0, data, sizeof data) == 0) {
        }
        cluster_run(&cluster, cluster_now(&cluster) + 50000);
        if (!list_is_empty(&receiver->unexpected)) {
            assert_int_equal(cluster_receive(&cluster, 0, NULL, 1, 0, data, sizeof data, NULL), 0);
            assert_true(cluster_take(&cluster, 0, &done));
        }
    }
    const struct message_peer *peer = &cluster.nodes[0].core.peers[0]->message;
    assert_true(receiver->counters.unexpected_messages > MESSAGE_PILE_FRAMES);
    assert_int_equal(peer->pile_frames, MESSAGE_PILE_FRAMES);
    cluster_close(&cluster);
}

/** Has the only peer used up its credit? */
static bool is_used_up(const struct core *core)
{
    const struct flow *flow = core->peer_count > 0 ? &core->peers[0]->message.flow : NULL;

    return flow != NULL && core->peers[0]->message.ready && flow->granted == flow->expected;
}

/** Notices lie in the pile, too: whoever takes them says without being asked that there is room. */
TEST(notices__that_are_taken_make_room)
{
    enum { PUTS = 4 * MESSAGE_PILE_FRAMES };
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    const struct beowire_remote remote = {.key = 1};
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t memory[8] = {0};
    uint64_t data = 1;
    unsigned posted = 0;
    unsigned noticed = 0;

    cluster_open(&cluster, &wire);
    cluster_start(&cluster, 0);
    cluster_start(&cluster, 1);
    const struct region region = {
        .base = memory, .bytes = sizeof memory, .key = 1, .flags = BEOWIRE_MEMORY_WRITE};
    assert_int_equal(region_add(&cluster.nodes[0].core.messages.regions, &region), 0);
    struct core_peer *to = cluster_peer(&cluster, 1, 0);
    while (noticed < PUTS) {
        assert_true(cluster_now(&cluster) < wire.start_ns + SECOND);
        while (posted < PUTS && cluster_put(&cluster, 1, to, &remote, &data, sizeof data,
                                            BEOWIRE_PUT_NOTIFY, 0, &data) == 0) {
            posted++;
        }
        (void)cluster_step(&cluster, cluster_now(&cluster) + 20000);
        while (cluster_take(&cluster, 1, &done)) {
            assert_int_equal(done.status, 0);
        }
        bool all_there = posted == PUTS && flow_is_idle(&to->message.flow);
        if (all_there || is_used_up(&cluster.nodes[0].core)) {
            while (cluster_take(&cluster, 0, &done)) {
                noticed++;
            }
            const struct flow *flow = &cluster.nodes[0].core.peers[0]->message.flow;
            assert_int_not_equal(flow->granted_sent, flow->expected);
        }
    }
    cluster_close(&cluster);
}

/** Frames run out while other peers hold them all: whoever waits gets its turn without a frame of
 *  its own being under way. */
TEST(peers__that_are_cut_off_stop_no_other)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    uint8_t data[8] = {0};
    uint8_t buffer[8];
    struct beowire_completion done;
    const uint32_t waiting = 1;
    const uint32_t last = 40;

    wire.nodes = last + 1;
    wire.frames = 65536;
    cluster_open(&cluster, &wire);
    cluster.options.operations = 32768;
    cluster.options.peer_timeout_ns = 2 * SECOND;
    for (uint32_t i = 0; i < wire.nodes; i++) {
        cluster_start(&cluster, i);
    }
    for (uint32_t to = 1; to <= last; to++) {
        assert_int_equal(
            cluster_send(&cluster, 0, cluster_peer(&cluster, 0, to), 2, 0, data, sizeof data, NULL),
            0);
    }
    cluster_run(&cluster, cluster_now(&cluster) + 100 * MILLISECOND);
    for (uint32_t to = waiting + 1; to <= last; to++) {
        sim_wire_cut(cluster.wire, 0, to, true);
        for (uint32_t i = 0; i < 2 * FLOW_WINDOW_FRAMES; i++) {
            assert_int_equal(cluster_send(&cluster, 0, cluster_peer(&cluster, 0, to), 1, 0, data,
                                          sizeof data, NULL),
                             0);
        }
    }
    assert_int_equal(cluster_receive(&cluster, waiting, NULL, 1, 0, buffer, sizeof buffer, NULL),
                     0);
    assert_int_equal(cluster_send(&cluster, 0, cluster_peer(&cluster, 0, waiting), 1, 0, data,
                                  sizeof data, NULL),
                     0);
    cluster_run(&cluster, cluster_now(&cluster) + 5 * SECOND);
    assert_true(message_complete(&cluster.nodes[waiting].core.messages, &done));
    assert_int_equal(done.status, 0);
    cluster_close(&cluster);
}

TEST(close__is_not_flushed_while_an_announced_message_waits)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    uint8_t *data = calloc(1, 100000);

    cluster_open(&cluster, &wire);
    cluster_start(&cluster, 0);
    cluster_start(&cluster, 1);
    assert_true(core_is_flushed(&cluster.nodes[0].core));
    assert_int_equal(
        cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 1, 0, data, 100000, data), 0);
    cluster_run(&cluster, cluster_now(&cluster) + SECOND);
    assert_false(core_is_flushed(&cluster.nodes[0].core));
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 1, 0, data, 100000, NULL), 0);
    cluster_run(&cluster, cluster_now(&cluster) + SECOND);
    assert_true(core_is_flushed(&cluster.nodes[0].core));
    cluster_close(&cluster);
    free(data);
}
