/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What loss costs a stream of messages, over a link with a rate, in virtual time: selective repeat
 * beside go-back-N, as it was measured in the papers. The table is printed; what is asked of
 * selective repeat is asserted. Also: many senders into one port, whose queue must not overflow all
 * the time.
 */
#include "simulation/cluster.h"
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGE_BYTES 8192
#define AT_ONCE 64 /* messages posted */
#define SECOND UINT64_C(1000000000)
#define GIGABIT UINT64_C(125000000) /* per second, in bytes */

struct outcome {
    double bytes_per_s;
    uint64_t sent;
    uint64_t repeated;
    uint64_t spurious;
    uint64_t probes;
    uint64_t overflowed;
};

struct stream {
    uint32_t posted;
    uint32_t sent;
    uint32_t received;
};

/** Posts and takes what can be for a stream from `node` to node 0, of `messages`. */
static void drive(struct cluster *cluster, uint32_t node, struct stream *stream, uint32_t messages)
{
    static uint8_t data[MESSAGE_BYTES];
    static uint8_t buffer[MESSAGE_BYTES];
    struct beowire_completion done;

    while (stream->posted < messages && stream->posted - stream->received < AT_ONCE &&
           cluster_receive(cluster, 0, cluster_peer(cluster, 0, node), node, 0, buffer,
                           sizeof buffer, stream) == 0) {
        stream->posted++;
    }
    while (stream->sent < messages && stream->sent - stream->received < AT_ONCE &&
           cluster_send(cluster, node, cluster_peer(cluster, node, 0), node, 0, data, sizeof data,
                        NULL) == 0) {
        stream->sent++;
    }
    while (message_complete(&cluster->nodes[node].core.messages, &done)) {
        assert_int_equal(done.status, 0);
    }
}

static void take_received(struct cluster *cluster)
{
    struct beowire_completion done;

    while (message_complete(&cluster->nodes[0].core.messages, &done)) {
        assert_int_equal(done.status, 0);
        struct stream *stream = done.context;
        stream->received++;
    }
}

static struct outcome measure(const struct sim_options *wire, bool go_back_n, uint32_t messages)
{
    struct cluster cluster;
    struct outcome outcome = {0};
    struct stream *streams = calloc(wire->nodes, sizeof *streams);

    assert_non_null(streams);
    cluster_open(&cluster, wire);
    cluster.options.go_back_n = go_back_n;
    cluster.options.operations = wire->nodes * AT_ONCE;
    for (uint32_t node = 0; node < wire->nodes; node++) {
        cluster_start(&cluster, node);
    }
    uint64_t begin_ns = cluster_now(&cluster);
    uint32_t done = 0;
    while (done < wire->nodes - 1) {
        if (cluster_now(&cluster) > begin_ns + 60 * SECOND) {
            cluster_fail(&cluster, "a stream has not ended in a minute");
        }
        done = 0;
        for (uint32_t node = 1; node < wire->nodes; node++) {
            drive(&cluster, node, &streams[node], messages);
            done += streams[node].received == messages;
        }
        (void)cluster_step(&cluster, cluster_now(&cluster) + 20000);
        take_received(&cluster);
    }
    uint64_t took_ns = cluster_now(&cluster) - begin_ns;
    outcome.bytes_per_s =
        (double)messages * (wire->nodes - 1) * MESSAGE_BYTES * (double)SECOND / (double)took_ns;
    for (uint32_t node = 1; node < wire->nodes; node++) {
        const struct flow *flow = &cluster_peer(&cluster, node, 0)->message.flow;
        outcome.sent += flow->sent_frames;
        outcome.repeated += flow->retransmitted_frames;
        outcome.spurious += flow->loss.spurious_frames;
        outcome.probes += flow->probes;
    }
    outcome.overflowed = sim_wire_counters(cluster.wire)->overflowed;
    cluster_close(&cluster);
    free(streams);
    return outcome;
}

static struct outcome measure_loss(uint64_t bytes_per_s, uint32_t lost_ppm, bool go_back_n)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.delay_ns = 10000;
    wire.bytes_per_s = bytes_per_s;
    wire.lost_ppm = lost_ppm;
    struct outcome outcome = measure(&wire, go_back_n, 1000);
    print_message("%6.0f Mbit/s, %2u %% lost, %s: %7.1f MB/s, %5.1f %% sent again, %llu probes, "
                  "%llu for nothing\n",
                  (double)bytes_per_s * 8e-6, lost_ppm / 10000,
                  go_back_n ? "go-back-N       " : "selective repeat", outcome.bytes_per_s * 1e-6,
                  100.0 * (double)outcome.repeated / (double)outcome.sent,
                  (unsigned long long)outcome.probes, (unsigned long long)outcome.spurious);
    return outcome;
}

static void check_loss(uint64_t bytes_per_s, double at_1, double at_5)
{
    struct outcome selective[3];
    struct outcome going_back[3];
    static const uint32_t losses[3] = {0, 10000, 50000};

    for (unsigned i = 0; i < 3; i++) {
        selective[i] = measure_loss(bytes_per_s, losses[i], false);
        going_back[i] = measure_loss(bytes_per_s, losses[i], true);
    }
    assert_int_equal(selective[0].repeated, 0);
    assert_int_equal(going_back[0].repeated, 0);
    assert_true(selective[1].bytes_per_s >= at_1 * selective[0].bytes_per_s);
    assert_true(selective[2].bytes_per_s >= at_5 * selective[0].bytes_per_s);
    for (unsigned i = 1; i < 3; i++) {
        /* Little more than what was lost is sent again. */
        assert_true(selective[i].repeated < selective[i].sent * losses[i] / 1000000 * 3 / 2 + 20);
        assert_true(selective[i].bytes_per_s > going_back[i].bytes_per_s);
        assert_true(selective[i].repeated < going_back[i].repeated);
    }
}

TEST(goodput__one_gigabit)
{
    check_loss(GIGABIT, 0.9, 0.7);
}

TEST(goodput__ten_gigabit)
{
    check_loss(10 * GIGABIT, 0.8, 0.5);
}

static struct outcome measure_incast(uint32_t senders, uint32_t messages)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.nodes = senders + 1;
    wire.delay_ns = 10000;
    wire.bytes_per_s = GIGABIT;
    wire.queue_bytes = 512 * 1024;
    struct outcome outcome = measure(&wire, false, messages);
    print_message(
        "%2u into one port of 1000 Mbit/s with 512 KiB: %.1f MB/s, %llu of %llu frames sent "
        "again, %llu lost in the queue\n",
        senders, outcome.bytes_per_s * 1e-6, (unsigned long long)outcome.repeated,
        (unsigned long long)outcome.sent, (unsigned long long)outcome.overflowed);
    return outcome;
}

/** Their credit is far more than the queue holds: it is the congestion window that keeps them. */
TEST(goodput__four_into_one_port)
{
    struct outcome outcome = measure_incast(4, 1000);

    assert_true(outcome.bytes_per_s >= 0.95 * (double)GIGABIT);
    assert_true(outcome.repeated <= outcome.sent / 50);
}

/** Two bursts of each are more than the queue holds, so some are lost all the time: of 24 delays
 *  from 4.5 to 16 us one frame in 9.3 was sent again on average, in 8.3 at most. */
TEST(goodput__sixteen_into_one_port)
{
    struct outcome outcome = measure_incast(16, 100);

    assert_true(outcome.bytes_per_s >= 0.9 * (double)GIGABIT);
    assert_true(outcome.repeated <= outcome.sent / 8);
}
