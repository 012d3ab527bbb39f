/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"
#include "peers/peers.h"
#include "simulation/cluster.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((uint64_t)ONE_SIDED_BYTES_MIN + 7)
#define MILLISECOND UINT64_C(1000000)

/** What a lane that lends would do, between two nodes of one process. */
static struct {
    const uint8_t *lent; /**< of node 0; NULL: nothing */
    unsigned met[2];
    uint32_t own_key[2];
    uint32_t peer_key[2];
    int refuses; /**< to begin to read */
    int status;  /**< how reads end */
    void *read;  /**< under way */
    bool holds;  /**< it does not end */
    unsigned stopped;
} wire;

static void meet(struct lane *lane, const struct lane_address *to, uint32_t own_key,
                 uint32_t peer_key)
{
    struct lane_address first = sim_address(0, lane->rail);
    unsigned node = memcmp(to, &first, sizeof first) == 0 ? 1 : 0;

    wire.met[node]++;
    wire.own_key[node] = own_key;
    wire.peer_key[node] = peer_key;
}

static uint64_t lend(struct lane *lane, const struct lane_address *to, const void *memory,
                     uint64_t bytes)
{
    struct lane_address second = sim_address(1, lane->rail);

    assert_memory_equal(to, &second, sizeof second);
    assert_int_equal(bytes, BYTES);
    wire.lent = memory;
    return 5;
}

static void take_back(struct lane *lane, uint64_t lent)
{
    assert_int_equal(lent, 5);
    wire.lent = NULL;
}

static int begin_read(struct lane *lane, const struct lane_address *from, uint64_t lent,
                      void *target, uint64_t bytes, void *read)
{
    struct lane_address first = sim_address(0, lane->rail);

    assert_memory_equal(from, &first, sizeof first);
    assert_int_equal(lent, 5);
    assert_non_null(wire.lent);
    if (wire.refuses != 0) {
        return wire.refuses;
    }
    memcpy(target, wire.lent, wire.status == 0 ? bytes : bytes / 2);
    wire.read = read;
    return 0;
}

static bool read_ended(struct lane *lane, void **read, int *status)
{
    if (wire.read == NULL || wire.holds) {
        return false;
    }
    *read = wire.read;
    *status = wire.status;
    wire.read = NULL;
    return true;
}

static void stop_read(struct lane *lane, void *read)
{
    assert_ptr_equal(read, wire.read);
    wire.read = NULL;
    wire.stopped++;
}

struct pair {
    struct cluster cluster;
    struct core_peer *to;
    uint8_t *data;
    uint8_t *buffer;
};

/** Two nodes that are connected, by lanes that lend. */
static void open_pair(struct pair *pair)
{
    static struct lane_operations operations;
    struct sim_options options = SIM_OPTIONS_DEFAULT;

    memset(&wire, 0, sizeof wire);
    cluster_open(&pair->cluster, &options);
    for (uint32_t node = 0; node < 2; node++) {
        cluster_start(&pair->cluster, node);
        struct core *core = &pair->cluster.nodes[node].core;
        struct lane *lane = core->options.lanes.lanes[0];
        assert_int_equal(core->lender, PATH_NONE);
        operations = *lane->operations;
        operations.meet = meet;
        operations.lend = lend;
        operations.take_back = take_back;
        operations.begin_read = begin_read;
        operations.read_ended = read_ended;
        operations.stop_read = stop_read;
        lane->operations = &operations;
        core_open_one_sided(core);
        assert_int_equal(core->lender, 0);
    }
    pair->to = cluster_peer(&pair->cluster, 0, 1);
    assert_int_equal(cluster_receive(&pair->cluster, 1, NULL, 0, 0, NULL, 0, NULL), 0);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->to, 0, 0, NULL, 0, NULL), 0);
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + 10 * MILLISECOND);
    pair->data = malloc(BYTES);
    pair->buffer = calloc(1, BYTES);
    assert_true(pair->data != NULL && pair->buffer != NULL);
    for (uint64_t i = 0; i < BYTES; i++) {
        pair->data[i] = (uint8_t)(i * 7 + i / 251);
    }
}

static int setup(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);

    *state = pair;
    if (pair == NULL) {
        return -1;
    }
    open_pair(pair);
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    cluster_close(&pair->cluster);
    free(pair->data);
    free(pair->buffer);
    free(pair);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct pair *pair, name, setup, teardown)

/** Sends a message from node 0 to node 1, and waits until both have ended, or `wait_ns` are over.
 */
static void begin(struct pair *pair, uint64_t wait_ns)
{
    assert_int_equal(
        cluster_receive(&pair->cluster, 1, NULL, 9, 0, pair->buffer, BYTES, pair->buffer), 0);
    assert_int_equal(cluster_send(&pair->cluster, 0, pair->to, 9, 0, pair->data, BYTES, pair->data),
                     0);
    cluster_run(&pair->cluster, cluster_now(&pair->cluster) + wait_ns);
}

static bool has_ended(struct pair *pair, uint32_t node, const void *context, int status)
{
    struct beowire_completion done;

    while (cluster_take(&pair->cluster, node, &done)) {
        if (done.context == context) {
            assert_int_equal(done.status, status);
            return true;
        }
    }
    return false;
}

static void assert_arrived(struct pair *pair)
{
    assert_true(has_ended(pair, 1, pair->buffer, 0));
    assert_true(has_ended(pair, 0, pair->data, 0));
    assert_memory_equal(pair->buffer, pair->data, BYTES);
    assert_null(wire.lent);
}

/** Both ends say the keys of their connection: each other's. */
FIXTURE_TEST(core_choose_one_sided__with_the_keys_of_the_connection)
{
    assert_true(wire.met[0] > 0 && wire.met[1] > 0);
    assert_int_equal(wire.own_key[0], wire.peer_key[1]);
    assert_int_equal(wire.own_key[1], wire.peer_key[0]);
    assert_int_not_equal(wire.own_key[0], wire.own_key[1]);
}

FIXTURE_TEST(core_end_reads__a_message)
{
    const struct message_counters *counters = &pair->cluster.nodes[1].core.messages.counters;

    begin(pair, 100 * MILLISECOND);
    assert_arrived(pair);
    assert_int_equal(counters->one_sided_messages, 1);
    assert_int_equal(pair->cluster.nodes[0].core.messages.counters.data_frames_sent, 0);
    cluster_check_empty(&pair->cluster);
}

/** Whatever goes wrong, it comes as frames. */
FIXTURE_TEST(core_end_reads__in_vain)
{
    const struct message_counters *counters = &pair->cluster.nodes[1].core.messages.counters;

    wire.status = -EIO;
    begin(pair, 100 * MILLISECOND);
    assert_arrived(pair);
    assert_int_equal(counters->one_sided_failed, 1);
    memset(pair->buffer, 0, BYTES);
    wire.refuses = -ENOTCONN;
    begin(pair, 100 * MILLISECOND);
    assert_arrived(pair);
    assert_int_equal(counters->one_sided_refused, 1);
    memset(pair->buffer, 0, BYTES);
    wire.refuses = 0;
    wire.holds = true;
    begin(pair, 2 * ONE_SIDED_PATIENCE_NS);
    assert_arrived(pair);
    assert_int_equal(wire.stopped, 1);
    assert_int_equal(counters->one_sided_failed, 2);
    cluster_check_empty(&pair->cluster);
}

/** The sender is killed while it is read: the receive fails, and the lane lets go of it before. */
FIXTURE_TEST(core_fail_peer__while_it_is_read)
{
    struct core *core = &pair->cluster.nodes[1].core;

    wire.holds = true;
    begin(pair, 10 * MILLISECOND);
    assert_non_null(wire.read);
    core_fail_peer(core, cluster_peer(&pair->cluster, 1, 0), -ETIMEDOUT);
    assert_int_equal(wire.stopped, 1);
    assert_true(has_ended(pair, 1, pair->buffer, -ETIMEDOUT));
}
