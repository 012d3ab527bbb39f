/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers and links that fail: each operation then ends with an error that says so, what can still
 * arrive does, and nothing is left over.
 */
#include "core/control.h"
#include "message/state.h"
#include "simulation/workload.h"
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS (getenv("BEOWIRE_TEST_LONG") != NULL ? 20u : 8u)
#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

/** For these tests peers lose patience sooner, in virtual time. */
#define PEER_TIMEOUT_NS (4 * SECOND)

static void open_cluster(struct cluster *cluster, const struct sim_options *wire)
{
    cluster_open(cluster, wire);
    cluster->options.peer_timeout_ns = PEER_TIMEOUT_NS;
    for (uint32_t i = 0; i < wire->nodes; i++) {
        cluster_start(cluster, i);
    }
}

static struct sim_options lossy_wire(uint64_t seed, uint32_t nodes)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.seed = seed;
    wire.nodes = nodes;
    wire.lost_ppm = seed % 3 == 0 ? 0 : 20000;
    wire.doubled_ppm = 10000;
    wire.delayed_ppm = 10000;
    wire.jitter_ns = 300000;
    return wire;
}

/** Waits for the next completion at a node. @return false: there was none in `within_ns`. */
static bool await(struct cluster *cluster, uint32_t node, uint64_t within_ns,
                  struct beowire_completion *done)
{
    uint64_t end_ns = cluster_now(cluster) + within_ns;

    while (!message_complete(&cluster->nodes[node].core.messages, done)) {
        if (cluster_now(cluster) >= end_ns) {
            return false;
        }
        (void)cluster_step(cluster, end_ns);
    }
    return true;
}

/** Ends the test if an operation with a peer that is gone for long has not ended. */
static void check_nothing_hangs(const struct cluster *cluster, uint32_t gone)
{
    for (uint32_t node = 0; node < cluster->node_count; node++) {
        const struct core *core = &cluster->nodes[node].core;
        if (cluster->nodes[node].lanes.count == 0) {
            continue;
        }
        for (uint32_t i = 0; i < 2 * core->messages.operations_each; i++) {
            const struct operation *operation = &core->messages.operations[i];
            bool owed = operation->state != OPERATION_FREE && operation->state != OPERATION_POSTED;
            if (owed && operation->peer != NULL &&
                cluster_node_of(cluster, core, operation->peer->handle) == gone) {
                cluster_fail(cluster, "node %u: an operation with node %u hangs in state %d", node,
                             gone, (int)operation->state);
            }
        }
    }
}

/** What was sent between nodes that did not fail has arrived, and all their sends have ended. */
static void check_survivors(const struct workload *workload, uint32_t gone)
{
    for (uint32_t i = 0; i < workload->message_count; i++) {
        const struct workload_message *message = &workload->messages[i];
        if (message->from == gone) {
            continue;
        }
        if (!message->ended) {
            cluster_fail(workload->cluster, "a send of node %u to node %u hangs", message->from,
                         message->to);
        }
        if (message->to != gone && (!message->received || message->status != 0)) {
            cluster_fail(workload->cluster, "message %u of node %u to %u was lost", message->serial,
                         message->from, message->to);
        }
        if (message->to == gone && message->status != 0 && message->status != -ETIMEDOUT &&
            message->status != -ECONNRESET) {
            cluster_fail(workload->cluster, "a send failed with %d", message->status);
        }
    }
}

enum fault { FAULT_CRASH, FAULT_LEAVE, FAULT_VANISH, FAULT_RESTART };

/** Runs a workload in which node 1 fails in the middle. */
static void run_fault(uint64_t seed, enum fault fault)
{
    struct sim_options wire = lossy_wire(seed, 3);
    struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct workload workload;
    struct random random;

    random_seed(&random, seed);
    open_cluster(&cluster, &wire);
    options.messages = 90;
    options.bytes_max = 100000;
    workload_open(&workload, &cluster, &options, seed);
    uint64_t fault_ns = cluster_now(&cluster) + random_below(&random, options.duration_ns);
    while (cluster_now(&cluster) < fault_ns) {
        (void)workload_step(&workload, fault_ns);
    }
    workload_excuse_all(&workload, 1, EXCUSE_PARTED);
    if (fault == FAULT_VANISH) {
        sim_wire_vanish(cluster.wire, 1);
    } else if (fault == FAULT_LEAVE) {
        cluster_leave(&cluster, 1);
    } else {
        cluster_crash(&cluster, 1);
    }
    if (fault != FAULT_VANISH) {
        workload_node_ended(&workload, 1);
    }
    if (fault == FAULT_RESTART) {
        cluster_start(&cluster, 1);
    }
    uint64_t end_ns = cluster_now(&cluster) + 4 * PEER_TIMEOUT_NS;
    while (cluster_now(&cluster) < end_ns) {
        (void)workload_step(&workload, end_ns);
    }
    if (fault != FAULT_RESTART) { /* after which there are two nodes 1, with no order */
        workload_check_order(&workload);
        check_survivors(&workload, 1);
        check_nothing_hangs(&cluster, 1);
    }
    if (fault == FAULT_VANISH) {
        cluster_crash(&cluster, 1); /* it hangs on itself; of interest are the others */
    }
    workload_cancel(&workload);
    cluster_check(&cluster);
    workload_close(&workload);
    cluster_close(&cluster);
}

TEST(peer__crashes_in_the_middle)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_fault(seed, FAULT_CRASH);
    }
}

TEST(peer__leaves_in_the_middle)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_fault(seed, FAULT_LEAVE);
    }
}

TEST(peer__vanishes_in_the_middle)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_fault(seed, FAULT_VANISH);
    }
}

TEST(peer__restarts_in_the_middle)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_fault(seed, FAULT_RESTART);
    }
}

TEST(peer__restarts_and_is_spoken_to_again)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t data[8] = {1};
    uint8_t buffer[8] = {0};

    open_cluster(&cluster, &wire);
    struct core_peer *before = cluster_peer(&cluster, 0, 1);
    assert_int_equal(cluster_send(&cluster, 0, before, 5, 0, data, sizeof data, NULL), 0);
    cluster_run(&cluster, cluster_now(&cluster) + 10 * MILLISECOND);
    assert_true(await(&cluster, 0, 0, &done));
    cluster_crash(&cluster, 1);
    cluster_start(&cluster, 1);

    /* The new process does not know the old connection, and says so. */
    assert_int_equal(cluster_send(&cluster, 0, before, 5, 0, data, sizeof data, NULL), 0);
    cluster_run(&cluster, cluster_now(&cluster) + 10 * MILLISECOND);
    assert_true(await(&cluster, 0, 0, &done));
    assert_int_equal(cluster_send(&cluster, 0, before, 5, 0, data, sizeof data, NULL), -ECONNRESET);

    struct core_peer *after = cluster_peer(&cluster, 0, 1);
    assert_ptr_not_equal(before, after);
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(cluster_send(&cluster, 0, after, 5, 0, data, sizeof data, NULL), 0);
    assert_true(await(&cluster, 1, SECOND, &done));
    assert_int_equal(done.status, 0);
    assert_memory_equal(buffer, data, sizeof data);
    cluster_close(&cluster);
}

TEST(peer__dies_before_it_takes_an_announced_message)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t *data = calloc(1, 100000);

    open_cluster(&cluster, &wire);
    assert_int_equal(
        cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, 100000, data), 0);
    cluster_run(&cluster, cluster_now(&cluster) + 20 * MILLISECOND);
    cluster_crash(&cluster, 1);
    assert_true(await(&cluster, 0, 4 * PEER_TIMEOUT_NS, &done));
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_ptr_equal(done.context, data);
    cluster_check_empty(&cluster);
    cluster_close(&cluster);
    free(data);
}

TEST(peer__dies_while_its_message_is_received)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t *data = calloc(1, 1000000);
    uint8_t *buffer = calloc(1, 1000000);

    open_cluster(&cluster, &wire);
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, 1000000, buffer), 0);
    assert_int_equal(
        cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, 1000000, data), 0);
    while (cluster.nodes[1].core.messages.counters.received_messages == 0 &&
           cluster.nodes[0].lanes.lanes[0]->sent_frames < 100) {
        (void)cluster_step(&cluster, UINT64_MAX);
    }
    cluster_crash(&cluster, 0);
    assert_true(await(&cluster, 1, 4 * PEER_TIMEOUT_NS, &done));
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_ptr_equal(done.context, buffer);
    cluster_check_empty(&cluster);
    cluster_close(&cluster);
    free(data);
    free(buffer);
}

TEST(peer__is_alive_however_long_it_does_not_take_a_message)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t *data = calloc(1, 100000);

    open_cluster(&cluster, &wire);
    assert_int_equal(
        cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, 100000, data), 0);
    assert_false(await(&cluster, 0, 20 * PEER_TIMEOUT_NS, &done));
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, data, 100000, data), 0);
    assert_true(await(&cluster, 0, SECOND, &done));
    assert_int_equal(done.status, 0);
    cluster_close(&cluster);
    free(data);
}

TEST(peer__asks_whoever_has_given_it_up)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t data[8] = {1};

    open_cluster(&cluster, &wire);
    sim_wire_cut(cluster.wire, 0, 1, true);
    assert_int_equal(
        cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, sizeof data, NULL), 0);
    assert_true(await(&cluster, 0, 2 * PEER_TIMEOUT_NS, &done));
    assert_int_equal(done.status, -ETIMEDOUT);
    sim_wire_cut(cluster.wire, 0, 1, false);
    /* Long before it could think that nobody is there. */
    assert_int_equal(
        cluster_send(&cluster, 1, cluster_peer(&cluster, 1, 0), 5, 0, data, sizeof data, NULL), 0);
    assert_true(await(&cluster, 1, 10 * MILLISECOND, &done));
    assert_int_equal(done.status, -ECONNRESET);
    cluster_close(&cluster);
}

TEST(link__cut_one_way)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_options wire = lossy_wire(seed, 2);
        struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;
        struct cluster cluster;
        struct workload workload;
        open_cluster(&cluster, &wire);
        workload_open(&workload, &cluster, &options, seed);
        uint64_t cut_ns = cluster_now(&cluster) + seed * 50000;
        while (cluster_now(&cluster) < cut_ns) {
            (void)workload_step(&workload, cut_ns);
        }
        sim_wire_cut(cluster.wire, 0, 1, true);
        workload_excuse(&workload, 0, 1, EXCUSE_PARTED);
        uint64_t end_ns = cluster_now(&cluster) + 6 * PEER_TIMEOUT_NS;
        while (cluster_now(&cluster) < end_ns) {
            (void)workload_step(&workload, end_ns);
        }
        check_nothing_hangs(&cluster, 0);
        check_nothing_hangs(&cluster, 1);
        workload_check_order(&workload);
        workload_cancel(&workload);
        workload_close(&workload);
        cluster_close(&cluster);
    }
}

TEST(link__cut_for_less_than_the_patience)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_options wire = lossy_wire(seed, 2);
        struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;
        struct cluster cluster;
        struct workload workload;
        open_cluster(&cluster, &wire);
        workload_open(&workload, &cluster, &options, seed);
        for (uint32_t i = 0; i < 4; i++) {
            /* From the very beginning, for some: CONNECT and ACCEPT are lost. */
            sim_wire_cut(cluster.wire, i & 1, 1 - (i & 1), true);
            sim_wire_cut(cluster.wire, 1 - (i & 1), i & 1, seed % 2 == 0);
            uint64_t mend_ns = cluster_now(&cluster) + seed * 10 * MILLISECOND;
            while (cluster_now(&cluster) < mend_ns) {
                (void)workload_step(&workload, mend_ns);
            }
            sim_wire_cut(cluster.wire, 0, 1, false);
            sim_wire_cut(cluster.wire, 1, 0, false);
            uint64_t cut_ns = cluster_now(&cluster) + 300000;
            while (cluster_now(&cluster) < cut_ns) {
                (void)workload_step(&workload, cut_ns);
            }
        }
        (void)workload_run(&workload, cluster_now(&cluster) + 60 * SECOND);
        workload_check_all(&workload);
        cluster_run(&cluster, cluster_now(&cluster) + 5 * SECOND);
        cluster_check_empty(&cluster);
        workload_close(&workload);
        cluster_close(&cluster);
    }
}

/** Nothing sequenced is under way while a long message is pulled: the ends only watch each other.
 *  The lane does not know that its cable is out: a switch behind it may have failed. */
TEST(rail__lost_while_a_message_is_pulled)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    const uint64_t bytes = 4000000;
    struct cluster cluster;
    struct beowire_completion done;

    for (uint32_t node = 0; node < 2; node++) {
        uint8_t *data = calloc(1, bytes);
        uint8_t *buffer = calloc(1, bytes);
        wire.rails = 2;
        wire.bytes_per_s = UINT64_C(125000000);
        open_cluster(&cluster, &wire);
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, bytes, buffer), 0);
        assert_int_equal(
            cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, bytes, data), 0);
        cluster_run(&cluster, cluster_now(&cluster) + 5 * MILLISECOND);
        sim_wire_unplug(cluster.wire, node, 0, true);
        assert_true(await(&cluster, 1, SECOND, &done));
        assert_int_equal(done.status, 0);
        assert_true(await(&cluster, 0, SECOND, &done));
        assert_int_equal(done.status, 0);
        cluster_close(&cluster);
        free(data);
        free(buffer);
    }
}

/** A node that only receives waits for nothing, so it never doubts its way to the sender. */
TEST(rail__lost_by_which_only_answers_go)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    uint8_t data[8] = {0};
    uint8_t buffer[8];

    wire.rails = 2;
    open_cluster(&cluster, &wire);
    struct core_peer *peer = cluster_peer(&cluster, 0, 1);
    for (uint32_t i = 0; i < 100; i++) {
        struct beowire_completion done;
        if (i == 10) {
            sim_wire_unplug(cluster.wire, 1, 0, true);
        }
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, sizeof buffer, NULL), 0);
        while (cluster_inject(&cluster, 0, peer, 5, i, data, sizeof data) == -EAGAIN) {
            (void)cluster_step(&cluster, cluster_now(&cluster) + MILLISECOND);
        }
        assert_true(await(&cluster, 1, SECOND, &done));
        assert_int_equal(done.immediate, i);
        cluster_run(&cluster, cluster_now(&cluster) + 100 * MILLISECOND);
        assert_true(core_is_flushed(&cluster.nodes[0].core));
    }
    cluster_close(&cluster);
}

/** Silence on all rails proves nothing of one: whoever comes back is found where it was. */
TEST(rail__kept_while_the_peer_is_away)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t data[8] = {0};
    uint8_t buffer[8];

    wire.rails = 2;
    open_cluster(&cluster, &wire);
    struct core_peer *peer = cluster_peer(&cluster, 0, 1);
    for (uint64_t away_ns = MILLISECOND; away_ns <= 64 * MILLISECOND; away_ns *= 2) {
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, sizeof buffer, NULL), 0);
        cluster_pause(&cluster, 1, cluster_now(&cluster) + away_ns);
        assert_int_equal(cluster_send(&cluster, 0, peer, 5, 0, data, sizeof data, NULL), 0);
        assert_true(await(&cluster, 1, SECOND, &done));
        assert_true(await(&cluster, 0, SECOND, &done));
        cluster_run(&cluster, cluster_now(&cluster) + 100 * MILLISECOND);
        assert_true(core_is_flushed(&cluster.nodes[0].core));
    }
    assert_int_equal(peer->route.paths.fast, 0);
    for (uint32_t node = 0; node < 2; node++) {
        assert_int_equal(cluster.nodes[node].core.counters.path_changes, 0);
    }
    cluster_close(&cluster);
}

/** An end that asks its peer's kernel sends the same PROBE over several lanes. Those of a lane that
 *  is looked at seldom come late, and in a row: that is no reason to move there. */
TEST(rail__by_which_the_same_probes_come_late)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;

    wire.rails = 2;
    open_cluster(&cluster, &wire);
    struct core *core = &cluster.nodes[1].core;
    struct core_peer *peer = cluster_peer(&cluster, 0, 1);
    struct core_peer *asking = cluster_peer(&cluster, 1, 0);
    connection_ask(&asking->connection, cluster_now(&cluster));
    core_service(core, asking, cluster_now(&cluster));
    cluster_run(&cluster, cluster_now(&cluster) + MILLISECOND);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    for (unsigned late = 0; late < 2; late++) {
        for (unsigned i = 0; i < 2 * PATH_PATIENCE_PROBES; i++) {
            control_send_probe_by(core, asking, late);
            if (late == 0) {
                flow_timeout(&asking->message.flow, cluster_now(&cluster));
            }
        }
        cluster_run(&cluster, cluster_now(&cluster) + 100000);
        asking->message.flow.probes -= late == 0 ? 2 * PATH_PATIENCE_PROBES : 0;
    }
    assert_int_equal(peer->route.paths.fast, 0);
    asking->message.flow.probes += 2 * PATH_PATIENCE_PROBES;
    for (unsigned i = 0; i < PATH_PATIENCE_PROBES; i++) {
        assert_int_equal(peer->route.paths.fast, 0);
        control_send_probe_by(core, asking, 1);
        flow_timeout(&asking->message.flow, cluster_now(&cluster));
    }
    cluster_run(&cluster, cluster_now(&cluster) + 100000);
    assert_int_equal(peer->route.paths.fast, 1);
    cluster_close(&cluster);
}

/** Each end asks over both rails in turn, and only one of them works: whoever asks is answered the
 *  way it has asked. */
TEST(rail__works_for_one_of_two_that_are_asked_over)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_options wire = SIM_OPTIONS_DEFAULT;
        struct cluster cluster;
        struct beowire_completion done;
        uint8_t data[8] = {0};
        uint8_t buffer[8];
        wire.rails = 2;
        open_cluster(&cluster, &wire);
        sim_wire_unplug(cluster.wire, 1, 0, true);
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, sizeof buffer, NULL), 0);
        assert_int_equal(
            cluster_send(&cluster, 0, cluster_peer(&cluster, 0, 1), 5, 0, data, sizeof data, NULL),
            0);
        cluster_run(&cluster, cluster_now(&cluster) + seed * 700000);
        assert_int_equal(
            cluster_send(&cluster, 1, cluster_peer(&cluster, 1, 0), 6, 0, data, sizeof data, NULL),
            0);
        while (cluster.nodes[1].core.messages.counters.received_messages == 0) {
            assert_true(cluster_now(&cluster) < wire.start_ns + SECOND);
            (void)cluster_step(&cluster, wire.start_ns + SECOND);
        }
        cluster_run(&cluster, cluster_now(&cluster) + 4 * PEER_TIMEOUT_NS);
        assert_true(core_is_flushed(&cluster.nodes[0].core));
        assert_true(core_is_flushed(&cluster.nodes[1].core));
        assert_true(await(&cluster, 1, 0, &done));
        assert_int_equal(done.status, 0);
        cluster_close(&cluster);
    }
}

TEST(frames__mangled_ones_are_survived)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_options wire = lossy_wire(seed, 2);
        struct cluster cluster;
        uint8_t data[4000] = {0};
        uint8_t buffer[4000];
        struct beowire_completion done;
        struct random random;

        wire.corrupted_ppm = 20000;
        wire.deliver_corrupted = true;
        random_seed(&random, seed);
        open_cluster(&cluster, &wire);
        /* The bytes say nothing any more, so nothing is asked but that everything ends. */
        for (unsigned i = 0; i < 200; i++) {
            uint32_t from = (uint32_t)random_below(&random, 2);
            (void)cluster_send(&cluster, from, cluster_peer(&cluster, from, 1 - from), i % 3, 0,
                               data, random_below(&random, sizeof data + 1), NULL);
            (void)cluster_receive(&cluster, 1 - from, NULL, i % 3, 0, buffer, sizeof buffer, NULL);
            (void)cluster_step(&cluster, cluster_now(&cluster) + 10000);
        }
        cluster_run(&cluster, cluster_now(&cluster) + 6 * PEER_TIMEOUT_NS);
        for (uint32_t node = 0; node < 2; node++) {
            while (message_complete(&cluster.nodes[node].core.messages, &done)) {
                /* whatever it says */
            }
        }
        cluster_check(&cluster);
        cluster_close(&cluster);
    }
}
