/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts, gets and atomic operations between the nodes of a cluster, on wires that lose, double and
 * reorder: each is carried out exactly once, on the bytes that it names and no others, or ends with
 * an error that says why. BEOWIRE_SEED=n runs that one seed, BEOWIRE_SEEDS=n so many.
 */
#include "remote/remote.h"
#include "simulation/cluster.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 120
#define OPERATIONS 48
#define NODES_MAX 4
#define SLICE_BYTES UINT64_C(100000) /* of a node's memory, for one put of another */
#define SECOND UINT64_C(1000000000)
#define LONGEST_NS (60 * SECOND)
#define OPEN_KEY 11     /* everything is allowed */
#define READ_KEY 12     /* of constant bytes */
#define COUNTERS_KEY 13 /* counters: one to draw tickets, one for each node */

enum kind { PUT, GET, TICKET, ADD, SWAP, BAD_KEY, BAD_RANGE, BAD_ACCESS, KINDS };

struct plan {
    uint32_t from;
    uint32_t to;
    enum kind kind;
    uint64_t bytes;
    uint64_t post_ns;
    uint8_t *data; /* what is put, or got */
    uint64_t old;
    uint64_t value;
    bool notify;
    bool posted;
    bool ended;
    bool noticed;
    int status;
};

struct run {
    struct cluster cluster;
    struct random random;
    struct plan plans[OPERATIONS];
    uint8_t *memory[NODES_MAX]; /* a slice for each plan */
    uint8_t *constant;
    uint64_t counters[NODES_MAX][1 + NODES_MAX];
};

/** What is put by each plan, and what can be got. Made once: it is compared with often. */
static uint8_t contents[OPERATIONS + 1][SLICE_BYTES];
static const uint8_t untouched[SLICE_BYTES];
#define CONSTANT contents[OPERATIONS]

static int make_contents(void **state)
{
    for (uint64_t index = 0; index <= OPERATIONS; index++) {
        for (uint64_t at = 0; at < SLICE_BYTES; at++) {
            contents[index][at] = (uint8_t)(index * 31 + at * 7 + (at >> 9));
        }
    }
    return 0;
}

static void offer(struct node *node, uint64_t key, void *base, uint64_t bytes, unsigned flags)
{
    const struct region region = {.key = key, .base = base, .bytes = bytes, .flags = flags};

    assert_int_equal(region_add(&node->core.messages.regions, &region), 0);
}

static void start(struct run *run, uint32_t node)
{
    struct node *started = &run->cluster.nodes[node];

    cluster_start(&run->cluster, node);
    offer(started, OPEN_KEY, run->memory[node], OPERATIONS * SLICE_BYTES,
          BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE);
    offer(started, READ_KEY, run->constant, SLICE_BYTES,
          BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_VIRTUAL);
    offer(started, COUNTERS_KEY, run->counters[node], sizeof run->counters[node],
          BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE);
}

static struct sim_options random_wire(struct random *random, uint64_t seed)
{
    static const uint32_t losses[] = {0, 0, 1000, 20000, 100000};
    static const uint32_t frames[] = {FRAME_BYTES_MIN + 1, 1500, 9000};
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.seed = seed;
    wire.nodes = 2 + (uint32_t)random_below(random, NODES_MAX - 1);
    wire.frame_bytes = frames[random_below(random, 3)];
    wire.jitter_ns = random_below(random, 1000000);
    wire.lost_ppm = losses[random_below(random, 5)];
    wire.doubled_ppm = losses[random_below(random, 5)];
    wire.delayed_ppm = losses[random_below(random, 5)];
    wire.corrupted_ppm = losses[random_below(random, 4)];
    wire.refused_ppm = losses[random_below(random, 4)];
    return wire;
}

static uint64_t random_bytes(struct random *random)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     8,
                                     221,
                                     222,
                                     1436,
                                     1437,
                                     MESSAGE_EAGER_BUSY_BYTES_MAX,
                                     MESSAGE_EAGER_BUSY_BYTES_MAX + 1,
                                     SLICE_BYTES};

    return random_below(random, 2) == 0 ? edges[random_below(random, 10)]
                                        : random_below(random, SLICE_BYTES);
}

static void plan(struct run *run)
{
    struct random *random = &run->random;
    uint32_t nodes = run->cluster.node_count;

    for (unsigned i = 0; i < OPERATIONS; i++) {
        struct plan *planned = &run->plans[i];
        planned->from = (uint32_t)random_below(random, nodes);
        planned->to = (planned->from + 1 + (uint32_t)random_below(random, nodes - 1)) % nodes;
        planned->kind = (enum kind)random_below(random, KINDS);
        planned->bytes = planned->kind == PUT || planned->kind == GET ? random_bytes(random) : 8;
        planned->post_ns = cluster_now(&run->cluster) + random_below(random, 3000000);
        planned->notify = random_below(random, 2) == 0;
        planned->value = 1 + random_below(random, 1000);
        planned->data = malloc(planned->bytes > 0 ? planned->bytes : 1);
        if (planned->kind == GET) {
            memset(planned->data, 0xEE, planned->bytes);
        } else {
            memcpy(planned->data, contents[i], planned->bytes);
        }
    }
}

static void open_run(struct run *run, uint64_t seed)
{
    *run = (struct run){0};
    random_seed(&run->random, seed);
    struct sim_options wire = random_wire(&run->random, seed);
    cluster_open(&run->cluster, &wire);
    run->cluster.options.peer_timeout_ns = 4 * SECOND;
    run->cluster.options.go_back_n = random_below(&run->random, 4) == 0;
    run->constant = malloc(SLICE_BYTES);
    memcpy(run->constant, CONSTANT, SLICE_BYTES);
    for (uint32_t node = 0; node < wire.nodes; node++) {
        run->memory[node] = calloc(OPERATIONS, SLICE_BYTES);
        start(run, node);
    }
    plan(run);
}

static void close_run(struct run *run)
{
    cluster_close(&run->cluster);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        free(run->plans[i].data);
    }
    for (unsigned node = 0; node < NODES_MAX; node++) {
        free(run->memory[node]);
    }
    free(run->constant);
}

static int post_atomic(struct run *run, struct plan *planned, struct core_peer *to)
{
    bool fetches = planned->kind != ADD;
    const struct beowire_remote remote = {
        .key = COUNTERS_KEY, .address = planned->kind == TICKET ? 0 : 8 * (1 + planned->from)};
    static const uint64_t one = 1;
    static const uint64_t never = UINT64_MAX;
    struct beowire_atomic atomic = {
        .operation = planned->kind == SWAP ? BEOWIRE_ATOMIC_SWAP_EQUAL : BEOWIRE_ATOMIC_SUM,
        .type = BEOWIRE_UINT64,
        .count = 1,
        .operand = planned->kind == TICKET ? &one : &planned->value,
        .compare = planned->kind == SWAP ? &never : NULL,
        .result = fetches ? &planned->old : NULL,
    };

    return cluster_atomic(&run->cluster, planned->from, to, &remote, &atomic, planned);
}

static int post(struct run *run, struct plan *planned)
{
    struct cluster *cluster = &run->cluster;
    struct core_peer *to = cluster_peer(cluster, planned->from, planned->to);
    uint64_t slice = (uint64_t)(planned - run->plans) * SLICE_BYTES;
    unsigned flags = planned->notify ? BEOWIRE_PUT_NOTIFY : 0;
    uint32_t immediate = (uint32_t)(planned - run->plans);
    struct beowire_remote remote = {.key = OPEN_KEY, .address = slice};

    switch (planned->kind) {
    case PUT:
        return cluster_put(cluster, planned->from, to, &remote, planned->data, planned->bytes,
                           flags, immediate, planned);
    case GET:
        remote = (struct beowire_remote){.key = READ_KEY,
                                         .address = (uint64_t)(uintptr_t)run->constant +
                                                    SLICE_BYTES - planned->bytes};
        return cluster_get(cluster, planned->from, to, &remote, planned->data, planned->bytes,
                           planned);
    case BAD_KEY:
        remote.key = 77;
        return cluster_put(cluster, planned->from, to, &remote, planned->data, planned->bytes,
                           flags, immediate, planned);
    case BAD_RANGE:
        remote.address = OPERATIONS * SLICE_BYTES - planned->bytes + 1;
        return cluster_get(cluster, planned->from, to, &remote, planned->data, planned->bytes,
                           planned);
    case BAD_ACCESS:
        remote =
            (struct beowire_remote){.key = READ_KEY, .address = (uint64_t)(uintptr_t)run->constant};
        return cluster_put(cluster, planned->from, to, &remote, run->constant, SLICE_BYTES, flags,
                           immediate, planned);
    default:
        return post_atomic(run, planned, to);
    }
}

/** All bytes of the slice are as they should be: written up to the length, and untouched behind. */
static void check_slice(const struct run *run, const struct plan *planned)
{
    uint64_t index = (uint64_t)(planned - run->plans);
    const uint8_t *slice = run->memory[planned->to] + index * SLICE_BYTES;
    uint64_t bytes = planned->kind == PUT ? planned->bytes : 0;

    if (memcmp(slice, contents[index], bytes) != 0 ||
        memcmp(slice + bytes, untouched, SLICE_BYTES - bytes) != 0) {
        uint64_t at = 0;
        while (slice[at] == (at < bytes ? contents[index][at] : 0)) {
            at++;
        }
        cluster_fail(&run->cluster, "put %u of %u bytes: wrong byte at %u", (unsigned)index,
                     (unsigned)bytes, (unsigned)at);
    }
}

static void check_got(const struct run *run, const struct plan *planned)
{
    const uint8_t *expected = CONSTANT + SLICE_BYTES - planned->bytes;

    if (memcmp(planned->data, expected, planned->bytes) != 0) {
        uint64_t at = 0;
        while (planned->data[at] == expected[at]) {
            at++;
        }
        cluster_fail(&run->cluster, "get of %u bytes: wrong byte at %u", (unsigned)planned->bytes,
                     (unsigned)at);
    }
}

static void take(struct run *run, uint32_t node)
{
    struct beowire_completion done;

    while (cluster_take(&run->cluster, node, &done)) {
        struct plan *planned = done.context;
        if (done.operation == BEOWIRE_PUT_ARRIVED) {
            planned = &run->plans[done.immediate];
            assert_true(planned->notify && planned->to == node && !planned->noticed);
            assert_int_equal(
                cluster_node_of(&run->cluster, &run->cluster.nodes[node].core, done.peer),
                planned->from);
            assert_int_equal(done.bytes, planned->bytes);
            planned->noticed = true;
            check_slice(run, planned);
            continue;
        }
        assert_true(planned->posted && !planned->ended && planned->from == node);
        planned->ended = true;
        planned->status = done.status;
        if (done.status == 0 && planned->kind == PUT) {
            check_slice(run, planned);
        } else if (done.status == 0 && planned->kind == GET) {
            check_got(run, planned);
        }
    }
}

/** Posts what is due and takes completions. @return true: all have ended. */
static bool step(struct run *run)
{
    bool all = true;

    for (unsigned i = 0; i < OPERATIONS; i++) {
        struct plan *planned = &run->plans[i];
        if (run->cluster.nodes[planned->from].lanes.count > 0 && !planned->posted &&
            planned->post_ns <= cluster_now(&run->cluster)) {
            int status = post(run, planned);
            planned->posted = true;
            planned->ended = status != 0;
            planned->status = status;
        }
        all = all && planned->ended;
    }
    (void)cluster_step(&run->cluster, cluster_now(&run->cluster) + 100000);
    for (uint32_t node = 0; node < run->cluster.node_count; node++) {
        if (run->cluster.nodes[node].lanes.count > 0) {
            take(run, node);
        }
    }
    return all;
}

static void finish(struct run *run)
{
    uint64_t end_ns = cluster_now(&run->cluster) + 5 * SECOND;

    while (cluster_now(&run->cluster) < end_ns) {
        (void)cluster_step(&run->cluster, end_ns);
        for (uint32_t node = 0; node < run->cluster.node_count; node++) {
            if (run->cluster.nodes[node].lanes.count > 0) {
                take(run, node);
            }
        }
    }
    cluster_check_empty(&run->cluster);
}

static int expected_status(enum kind kind)
{
    return kind == BAD_RANGE || kind == BAD_KEY || kind == BAD_ACCESS ? -EACCES : 0;
}

/** Tickets were drawn once each, and every sum counts all that was added once. */
static void check_counters(const struct run *run, uint32_t node)
{
    uint64_t sums[1 + NODES_MAX] = {0};
    bool drawn[OPERATIONS] = {false};

    for (unsigned i = 0; i < OPERATIONS; i++) {
        const struct plan *planned = &run->plans[i];
        if (planned->to == node && planned->kind == ADD) {
            sums[1 + planned->from] += planned->value;
        } else if (planned->to == node && planned->kind == TICKET) {
            assert_true(planned->old < OPERATIONS && !drawn[planned->old]);
            drawn[planned->old] = true;
            sums[0]++;
        }
    }
    assert_memory_equal(run->counters[node], sums, sizeof sums);
}

static void run_seed(uint64_t seed)
{
    struct run run;

    open_run(&run, seed);
    uint64_t end_ns = cluster_now(&run.cluster) + LONGEST_NS;
    while (!step(&run)) {
        if (cluster_now(&run.cluster) >= end_ns) {
            cluster_fail(&run.cluster, "an operation hangs");
        }
    }
    finish(&run);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const struct plan *planned = &run.plans[i];
        if (planned->status != expected_status(planned->kind)) {
            cluster_fail(&run.cluster, "operation %u of kind %d ended with %d", i,
                         (int)planned->kind, planned->status);
        }
        assert_int_equal(planned->noticed, planned->kind == PUT && planned->notify);
        check_slice(&run, planned);
    }
    for (uint32_t node = 0; node < run.cluster.node_count; node++) {
        check_counters(&run, node);
    }
    close_run(&run);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void for_seeds(void (*one)(uint64_t seed), uint64_t usually)
{
    if (getenv("BEOWIRE_SEED") != NULL) {
        one(from_environment("BEOWIRE_SEED", 0));
        return;
    }
    for (uint64_t seed = 1; seed <= from_environment("BEOWIRE_SEEDS", usually); seed++) {
        one(seed);
    }
}

TEST(remote__random_wires)
{
    for_seeds(run_seed, SEEDS);
}

/** A node is killed while everybody works with everybody: what concerns it ends with its error or
 *  had ended well, all else is as if nothing had happened. */
static void crash_seed(uint64_t seed)
{
    struct run run;

    open_run(&run, seed);
    uint64_t end_ns = cluster_now(&run.cluster) + LONGEST_NS;
    uint64_t crash_ns = cluster_now(&run.cluster) + random_below(&run.random, 4000000);
    bool all = false;
    while (!all) {
        if (cluster_now(&run.cluster) >= crash_ns && run.cluster.nodes[0].lanes.count > 0) {
            struct beowire_address address = run.cluster.nodes[0].core.options.address;
            cluster_crash(&run.cluster, 0);
            run.cluster.nodes[0].core.options.address = address; /* others still know it */
        }
        (void)step(&run);
        all = true;
        for (unsigned i = 0; i < OPERATIONS; i++) {
            all = all && (run.plans[i].ended || run.plans[i].from == 0);
        }
        if (cluster_now(&run.cluster) >= end_ns) {
            cluster_fail(&run.cluster, "an operation hangs");
        }
    }
    finish(&run);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const struct plan *planned = &run.plans[i];
        bool with_it = planned->from == 0 || planned->to == 0;
        if (!with_it && planned->status != expected_status(planned->kind)) {
            cluster_fail(&run.cluster, "operation %u ended with %d", i, planned->status);
        }
        if (planned->from != 0 && planned->to == 0) {
            assert_true(planned->status == expected_status(planned->kind) ||
                        planned->status == -ETIMEDOUT || planned->status == -ECONNRESET);
        }
    }
    close_run(&run);
}

TEST(remote__a_node_is_killed)
{
    for_seeds(crash_seed, SEEDS / 4);
}

/** Memory is taken back while peers use it: from then on nothing is written to it, each operation
 *  ends, and what has not succeeded says why. */
static void withdraw_seed(uint64_t seed)
{
    struct run run;

    open_run(&run, seed);
    uint64_t end_ns = cluster_now(&run.cluster) + LONGEST_NS;
    uint64_t withdraw_ns = cluster_now(&run.cluster) + random_below(&run.random, 4000000);
    uint8_t *was = NULL;
    while (!step(&run)) {
        if (was == NULL && cluster_now(&run.cluster) >= withdraw_ns) {
            assert_int_equal(cluster_unregister(&run.cluster, 0, OPEN_KEY), 0);
            assert_int_equal(cluster_unregister(&run.cluster, 0, OPEN_KEY), -ENOENT);
            assert_int_equal(cluster_unregister(&run.cluster, 0, READ_KEY), 0);
            was = malloc(OPERATIONS * SLICE_BYTES);
            memcpy(was, run.memory[0], OPERATIONS * SLICE_BYTES);
        }
        if (cluster_now(&run.cluster) >= end_ns) {
            cluster_fail(&run.cluster, "an operation hangs");
        }
    }
    finish(&run);
    assert_true(was == NULL || memcmp(was, run.memory[0], OPERATIONS * SLICE_BYTES) == 0);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const struct plan *planned = &run.plans[i];
        bool withdrawn = planned->to == 0 && planned->status == -EACCES && was != NULL &&
                         planned->kind != TICKET && planned->kind != ADD && planned->kind != SWAP;
        if (planned->status != expected_status(planned->kind) && !withdrawn) {
            cluster_fail(&run.cluster, "operation %u ended with %d", i, planned->status);
        }
        assert_true(!planned->noticed || planned->status == 0);
    }
    free(was);
    close_run(&run);
}

TEST(remote__memory_is_taken_back)
{
    for_seeds(withdraw_seed, SEEDS / 4);
}

/** Node 1 tries keys, in puts and gets of all lengths, as quickly as it can, while node 2 works:
 * the guesses are refused, then the guesser is given up, and all else is as if nothing had
 * happened. */
static void guess_seed(uint64_t seed)
{
    enum { GUESSES = 4 * REMOTE_GUESSES_MAX };
    static uint8_t data[SLICE_BYTES];
    static bool guesses[GUESSES];
    struct sim_options wire;
    struct cluster cluster;
    struct random random;
    struct beowire_completion done;
    unsigned refused = 0;
    unsigned ended = 0;
    uint64_t total = 0;
    uint8_t memory[64] = {0};

    random_seed(&random, seed);
    wire = random_wire(&random, seed);
    wire.nodes = 3;
    cluster_open(&cluster, &wire);
    for (uint32_t node = 0; node < 3; node++) {
        cluster_start(&cluster, node);
    }
    offer(&cluster.nodes[0], random_next(&random), memory, sizeof memory, BEOWIRE_MEMORY_WRITE);
    uint64_t key = cluster.nodes[0].core.messages.regions.regions[0].key;
    uint64_t end_ns = cluster_now(&cluster) + LONGEST_NS;
    unsigned posted = 0;
    unsigned worked = 0;
    unsigned done_well = 0;
    while ((ended < posted || posted < GUESSES || done_well < 100) &&
           cluster_now(&cluster) < end_ns) {
        if (posted < GUESSES) {
            const struct beowire_remote remote = {.key = random_next(&random)};
            struct core_peer *to = cluster_peer(&cluster, 1, 0);
            uint64_t bytes = random_bytes(&random);
            bool *guess = &guesses[posted++];
            int status = random_below(&random, 2) == 0
                             ? cluster_put(&cluster, 1, to, &remote, data, bytes, 0, 0, guess)
                             : cluster_get(&cluster, 1, to, &remote, data, bytes, guess);
            ended += status != 0;
        }
        if (worked < 100) {
            const struct beowire_remote remote = {.key = key, .address = worked++ % 64};
            assert_int_equal(cluster_put(&cluster, 2, cluster_peer(&cluster, 2, 0), &remote, "w", 1,
                                         0, 0, memory),
                             0);
        }
        (void)cluster_step(&cluster, cluster_now(&cluster) + 20000);
        while (cluster_take(&cluster, 1, &done)) {
            assert_int_not_equal(done.status, 0);
            refused += done.status == -EACCES;
            ended++;
        }
        while (cluster_take(&cluster, 2, &done)) {
            assert_int_equal(done.status, 0);
            done_well++;
        }
        total = cluster.nodes[0].core.messages.counters.remote_guesses;
    }
    assert_int_equal(ended, posted);
    assert_int_equal(done_well, 100);
    assert_int_equal(total, REMOTE_GUESSES_MAX);
    assert_true(refused < REMOTE_GUESSES_MAX);
    assert_int_equal(cluster_peer(&cluster, 0, 1)->message.error, -EPROTO);
    for (unsigned i = 0; i < sizeof memory; i++) {
        assert_int_equal(memory[i], 'w');
    }
    cluster_close(&cluster);
}

TEST(remote__a_guesser_is_given_up)
{
    for_seeds(guess_seed, SEEDS / 4);
}

/** Two nodes get from each other, at the same time, more long pieces than either lets a peer pull
 * at once: none waits for the other's end. */
TEST(remote__long_gets_both_ways)
{
    enum { GETS = 3 * REMOTE_SERVED_PER_PEER };
    static uint8_t got[2][GETS][MESSAGE_EAGER_BUSY_BYTES_MAX + 1];
    static uint8_t memory[2][MESSAGE_EAGER_BUSY_BYTES_MAX + 1];
    const struct sim_options wire = SIM_OPTIONS_DEFAULT;
    const struct beowire_remote remote = {.key = READ_KEY};
    struct beowire_completion done;
    struct cluster cluster;
    unsigned ended = 0;

    cluster_open(&cluster, &wire);
    for (uint32_t node = 0; node < 2; node++) {
        cluster_start(&cluster, node);
        memset(memory[node], (int)node + 1, sizeof memory[node]);
        offer(&cluster.nodes[node], READ_KEY, memory[node], sizeof memory[node],
              BEOWIRE_MEMORY_READ);
    }
    for (uint32_t node = 0; node < 2; node++) {
        for (unsigned i = 0; i < GETS; i++) {
            assert_int_equal(cluster_get(&cluster, node, cluster_peer(&cluster, node, 1 - node),
                                         &remote, got[node][i], sizeof got[node][i], got[node][i]),
                             0);
        }
    }
    uint64_t end_ns = cluster_now(&cluster) + LONGEST_NS;
    while (ended < 2 * GETS && cluster_now(&cluster) < end_ns) {
        (void)cluster_step(&cluster, end_ns);
        for (uint32_t node = 0; node < 2; node++) {
            while (message_complete(&cluster.nodes[node].core.messages, &done)) {
                assert_int_equal(done.status, 0);
                assert_memory_equal(done.context, memory[1 - node], sizeof memory[node]);
                ended++;
            }
        }
    }
    assert_int_equal(ended, 2 * GETS);
    cluster_run(&cluster, cluster_now(&cluster) + SECOND);
    cluster_check_empty(&cluster);
    cluster_close(&cluster);
}

int main(void)
{
    return run_listed_tests(make_contents, NULL);
}
