/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages over random wires: everything arrives, once, intact, in order, and nothing is
 * left over. BEOWIRE_SEED=n runs that one seed (decimal) and prints its trace hash;
 * BEOWIRE_SEEDS=n runs so many instead of the usual number.
 */
#include "workload.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS 400

/** In virtual time; the slowest seeds need about a second. */
#define LONGEST_NS UINT64_C(60000000000)

static struct sim_options random_wire(struct random *random, uint64_t seed)
{
    static const uint32_t losses[] = {0, 0, 1000, 10000, 50000, 200000};
    static const uint32_t others[] = {0, 0, 1000, 20000, 100000};
    static const uint32_t frames[] = {FRAME_BYTES_MIN + 1, 1500, 1500, 9000};
    struct sim_options options = SIM_OPTIONS_DEFAULT;

    options.seed = seed;
    options.nodes = 2 + (uint32_t)(random_below(random, 3) * random_below(random, 2));
    options.frame_bytes = frames[random_below(random, 4)];
    options.delay_ns = 1000 + random_below(random, 50000);
    options.jitter_ns = random_below(random, 2000000);
    options.lost_ppm = losses[random_below(random, 6)];
    options.doubled_ppm = others[random_below(random, 5)];
    options.delayed_ppm = others[random_below(random, 5)];
    options.corrupted_ppm = others[random_below(random, 4)];
    options.refused_ppm = others[random_below(random, 5)];
    return options;
}

/** What a sequence number was is moved to just before it wraps, at both ends: nothing has been sent
 *  yet, so they go on from there. */
static void move_sequences(struct cluster *cluster, uint32_t by)
{
    for (uint32_t from = 0; from < cluster->node_count; from++) {
        for (uint32_t to = 0; to < cluster->node_count; to++) {
            if (from == to) {
                continue;
            }
            struct flow *sender = &cluster_peer(cluster, from, to)->message.flow;
            struct flow *receiver = &cluster_peer(cluster, to, from)->message.flow;
            sender->first += by;
            sender->highest += by;
            sender->next += by;
            sender->limit += by;
            sender->reported += by;
            sender->loss.forward += by;
            receiver->expected += by;
            receiver->seen += by;
            receiver->granted += by;
            receiver->granted_sent += by;
        }
    }
}

/** Connects all pairs, without a message, and waits until nothing is on the wire. */
static void connect_all(struct cluster *cluster)
{
    for (uint32_t from = 0; from < cluster->node_count; from++) {
        for (uint32_t to = from + 1; to < cluster->node_count; to++) {
            struct core_peer *peer = cluster_peer(cluster, from, to);
            connection_ask(&peer->connection, cluster_now(cluster));
            core_service(&cluster->nodes[from].core, peer, cluster_now(cluster));
        }
    }
    cluster_run(cluster, cluster_now(cluster) + UINT64_C(5000000000));
}

static uint64_t run_seed(uint64_t seed)
{
    struct random random;
    struct cluster cluster;
    struct workload workload;
    struct workload_options options = WORKLOAD_OPTIONS_DEFAULT;

    random_seed(&random, seed);
    struct sim_options wire = random_wire(&random, seed);
    options.messages = 10 + (uint32_t)random_below(&random, 60);
    options.duration_ns = 1000 + random_below(&random, 5000000);
    options.bytes_max = random_below(&random, 4) == 0 ? 200000 : 30000;
    cluster_open(&cluster, &wire);
    cluster.options.go_back_n = random_below(&random, 4) == 0;
    for (uint32_t i = 0; i < wire.nodes; i++) {
        cluster_start(&cluster, i);
    }
    if (random_below(&random, 3) == 0) {
        connect_all(&cluster);
        move_sequences(&cluster, 0u - (uint32_t)random_below(&random, 100));
    }
    workload_open(&workload, &cluster, &options, seed);
    (void)workload_run(&workload, cluster_now(&cluster) + LONGEST_NS);
    workload_check_all(&workload);
    /* What is still on the way, such as the last acknowledgements. */
    cluster_run(&cluster, cluster_now(&cluster) + UINT64_C(5000000000));
    cluster_check_empty(&cluster);
    uint64_t hash = sim_wire_trace_hash(cluster.wire);
    workload_close(&workload);
    cluster_close(&cluster);
    return hash;
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void workload__random_wires(void **state)
{
    uint64_t seeds = from_environment("BEOWIRE_SEEDS", SEEDS);

    (void)state;
    if (getenv("BEOWIRE_SEED") != NULL) {
        uint64_t seed = from_environment("BEOWIRE_SEED", 0);
        print_message("seed %" PRIu64 ": trace %016" PRIx64 "\n", seed, run_seed(seed));
        return;
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        (void)run_seed(seed);
    }
}

static void workload__same_seed_same_trace(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1010; seed++) {
        assert_int_equal(run_seed(seed), run_seed(seed));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workload__random_wires),
        cmocka_unit_test(workload__same_seed_same_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
