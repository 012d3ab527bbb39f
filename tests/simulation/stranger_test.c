/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stranger leaves no trace; and each rule by which that is judged is broken here.
 */
#include "simulation/stranger.h"

#include "core/control.h"
#include "unit/test.h"

#include <stdlib.h>

#define SEEDS 20
#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

struct fixture {
    struct cluster cluster;
    struct stranger *stranger;
};

/** Two nodes that know nobody, and a place on the wire behind theirs. */
static void open_at(struct fixture *fixture, uint64_t seed)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.seed = seed;
    wire.nodes = 3;
    cluster_open(&fixture->cluster, &wire);
    fixture->cluster.node_count = 2;
    fixture->stranger = stranger_open(&fixture->cluster, MILLISECOND, seed);
    cluster_start(&fixture->cluster, 0);
    cluster_start(&fixture->cluster, 1);
}

static void close_all(struct fixture *fixture)
{
    stranger_close(fixture->stranger);
    cluster_close(&fixture->cluster);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    open_at(fixture, 1);
    fixture->stranger->bursts_left = 0; /* it only judges */
    (void)stranger_step(fixture->stranger);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    close_all(*state);
    free(*state);
    return 0;
}

#define RULE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

static jmp_buf after_failure;
static char failure[512];

/** What cluster_fail() would end the process for. */
static void report(const char *what)
{
    (void)snprintf(failure, sizeof failure, "%s", what);
    longjmp(after_failure, 1); /* NOLINT(cert-err52-cpp): there is no other way out of it */
}

static bool says(const char *words)
{
    return strstr(failure, words) != NULL;
}

/** Does that break a rule? */
static bool breaks(struct fixture *fixture, void (*act)(struct fixture *fixture))
{
    failure[0] = '\0';
    cluster_on_failure(report);
    if (setjmp(after_failure) == 0) { /* NOLINT(cert-err52-cpp): as above */
        act(fixture);
    }
    cluster_on_failure(NULL);
    return failure[0] != '\0';
}

static void check(struct fixture *fixture)
{
    (void)stranger_step(fixture->stranger);
    stranger_check(fixture->stranger);
}

/** Where a peer is that has this number on the wire. */
static struct beowire_address address_at(const struct fixture *fixture, uint32_t place)
{
    struct beowire_address address = fixture->cluster.nodes[1].core.options.address;
    struct address_layout *layout = (struct address_layout *)(void *)address.bytes;
    const struct lane_address at = sim_address(place, 0);

    memcpy(layout->rail[0].mac, at.bytes, sizeof layout->rail[0].mac);
    memset(layout->secret, 0x5A, sizeof layout->secret);
    layout->incarnation = to_le64(proof_incarnation(layout->secret));
    return address;
}

/* ---- what it does -------------------------------------------------------------------------- */

/** Runs a stranger and two nodes that have nothing to do with one another. */
static void run_alone(uint64_t seed, uint64_t *hash, uint64_t *resets)
{
    struct fixture fixture;

    open_at(&fixture, seed);
    while (fixture.stranger->bursts_left > 0) {
        uint64_t next_ns = stranger_step(fixture.stranger);
        cluster_run(&fixture.cluster,
                    next_ns != UINT64_MAX ? next_ns : cluster_now(&fixture.cluster) + MILLISECOND);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct core *core = &fixture.cluster.nodes[i].core;
        assert_int_equal(core->peer_count, 0);
        assert_int_not_equal(core->counters.dropped_proof, 0);
        assert_int_equal(core->counters.sent[FRAME_ACCEPT], 0);
    }
    assert_int_not_equal(sim_wire_counters(fixture.cluster.wire)->forged, 0);
    cluster_check_empty(&fixture.cluster);
    *hash = cluster_hash(&fixture.cluster);
    *resets += fixture.stranger->resets;
    close_all(&fixture);
}

TEST(stranger_step__nothing_comes_of_it)
{
    uint64_t resets = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t hash;
        uint64_t again;
        run_alone(seed, &hash, &resets);
        run_alone(seed, &again, &resets);
        assert_int_equal(hash, again);
    }
    assert_int_not_equal(resets, 0);
}

/** Connects two nodes, and hears that. */
static void connect(struct fixture *fixture)
{
    core_connect(&fixture->cluster.nodes[0].core, cluster_peer(&fixture->cluster, 0, 1),
                 cluster_now(&fixture->cluster));
    cluster_run(&fixture->cluster, cluster_now(&fixture->cluster) + MILLISECOND);
    assert_int_not_equal(fixture->stranger->recorded, 0);
}

/** What it says again is believed, and changes nothing while both have their connection. */
TEST_AROUND(stranger_step__replays_what_others_have_said, setup, teardown)
{
    struct fixture *fixture = *state;
    const struct core *core = &fixture->cluster.nodes[1].core;

    connect(fixture);
    uint64_t accepts = core->counters.sent[FRAME_ACCEPT];
    fixture->stranger->on_path = true;
    fixture->stranger->bursts_left = 20;
    while (fixture->stranger->bursts_left > 0) {
        (void)stranger_step(fixture->stranger);
        cluster_run(&fixture->cluster, fixture->stranger->next_ns);
    }
    assert_int_not_equal(fixture->stranger->replayed, 0);
    assert_true(core->counters.sent[FRAME_ACCEPT] > accepts);
    assert_int_equal(core->peer_count, 1);
    assert_int_equal(core->peers[0]->connection.state, CONNECTION_OPEN);
}

/** Has a long message go from node 0 to node 1. @return does the stranger remember data of it? */
static bool remembers_data(struct fixture *fixture)
{
    static uint8_t data[100000];
    struct cluster *cluster = &fixture->cluster;
    const struct stranger *stranger = fixture->stranger;
    struct beowire_completion done;
    bool any = false;

    (void)stranger_step(fixture->stranger);
    assert_int_equal(
        cluster_send(cluster, 0, cluster_peer(cluster, 0, 1), 1, 0, data, sizeof data, data), 0);
    assert_int_equal(cluster_receive(cluster, 1, NULL, 1, 0, data, sizeof data, data), 0);
    cluster_run(cluster, cluster_now(cluster) + SECOND);
    assert_true(cluster_take(cluster, 0, &done));
    assert_int_equal(done.status, 0);
    for (unsigned i = 0; i < STRANGER_RECORDS && i < stranger->recorded; i++) {
        any = any || frame_type_of(stranger->records[i].data) == FRAME_DATA;
    }
    return any;
}

/** Without seals whoever is on the path can speak for others: it does not. */
RULE_TEST(stranger__remembers_frames_with_a_seal_but_not_with_a_checksum)
{
    assert_false(remembers_data(fixture));
    assert_int_not_equal(fixture->cluster.nodes[1].lanes.lanes[0]->needs_checksum, 0);
    fixture->cluster.sealing = 1;
    for (uint32_t node = 0; node < 2; node++) {
        cluster_crash(&fixture->cluster, node);
        cluster_start(&fixture->cluster, node);
    }
    assert_true(remembers_data(fixture));
}

/* ---- what it judges ------------------------------------------------------------------------ */

RULE_TEST(stranger_check__peers_that_are_endpoints)
{
    connect(fixture);
    assert_false(breaks(fixture, check));
    cluster_crash(&fixture->cluster, 1);
    cluster_start(&fixture->cluster, 1);
    assert_false(breaks(fixture, check)); /* it was one */
}

RULE_TEST(stranger_check__peer_that_is_no_endpoint)
{
    struct beowire_address address = address_at(fixture, 1);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_meet(&fixture->cluster.nodes[0].core, address.bytes, 0, &peer), 0);
    assert_true(breaks(fixture, check));
    assert_true(says("a peer that is a stranger, at place 1"));
}

RULE_TEST(stranger_check__peer_at_another_place)
{
    struct beowire_address address = address_at(fixture, fixture->stranger->place);
    struct address_layout *layout = (struct address_layout *)(void *)address.bytes;
    struct core_peer *peer = NULL;

    layout->incarnation = to_le64(fixture->cluster.nodes[1].incarnation);
    assert_int_equal(core_peer_meet(&fixture->cluster.nodes[0].core, address.bytes, 0, &peer), 0);
    assert_true(breaks(fixture, check));
    assert_true(says("a peer that is a stranger, at place 2"));
}

/** Lets a node connect to the stranger's place. */
static void ask_stranger(struct fixture *fixture)
{
    struct core *core = &fixture->cluster.nodes[0].core;
    struct beowire_address address = address_at(fixture, fixture->stranger->place);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(core, &address, &peer), 0);
    core_connect(core, peer, cluster_now(&fixture->cluster));
}

RULE_TEST(stranger__gets_no_frame_but_reset)
{
    assert_true(breaks(fixture, ask_stranger));
    assert_true(says("sends a frame of type 1 to a stranger"));
}

/** Node 0 answers a frame of the stranger. */
static void answer(struct fixture *fixture)
{
    const struct frame frame = {.type = FRAME_ACK, .source = CLUSTER_ENDPOINT, .key = 1};
    const struct arrival from = {.address = sim_address(fixture->stranger->place, 0)};

    control_send_reset(&fixture->cluster.nodes[0].core, &frame, &from, FRAME_RESET_UNKNOWN,
                       cluster_now(&fixture->cluster));
}

/** The stranger says a frame of this type to node 0, which does not look. */
static void say(struct fixture *fixture, enum frame_type type)
{
    struct sim_wire *wire = fixture->cluster.wire;
    uint8_t frame[sizeof(struct frame_header)] = {0};

    frame_encode(frame, &(struct frame_fields){.type = type});
    sim_wire_forge(wire, &(struct sim_event){.from = fixture->stranger->place,
                                             .bytes = sizeof frame,
                                             .head = frame});
    sim_wire_advance(wire, sim_wire_next(wire));
}

RULE_TEST(stranger__gets_one_reset_for_a_frame_that_could_be_anybodys)
{
    say(fixture, FRAME_ACK);
    assert_false(breaks(fixture, answer));
    say(fixture, FRAME_CONNECT);
    assert_true(breaks(fixture, answer));
    assert_true(says("sends a frame of type 3 to a stranger: answer 2 to 1 frames"));
}

RULE_TEST(stranger__gets_no_more_bytes_than_three_times_its_own)
{
    fixture->stranger->said = 100; /* it is not their number */
    say(fixture, FRAME_ACK);
    assert_false(breaks(fixture, answer));
    fixture->stranger->reset_bytes = 3 * sizeof(struct frame_header);
    assert_true(breaks(fixture, answer));
}

/** Node 0 sends more than a question to node 1. */
static void challenge(struct fixture *fixture)
{
    control_send_challenge(&fixture->cluster.nodes[0].core, cluster_peer(&fixture->cluster, 0, 1),
                           0);
}

RULE_TEST(stranger__hears_more_than_questions_to_who_has_not_answered)
{
    assert_true(breaks(fixture, challenge));
    assert_true(says("sends a frame of type 8 to node 1, which has not answered it"));
    connect(fixture);
    assert_false(breaks(fixture, challenge));
}

/** What another endpoint of the node has heard does not count. */
RULE_TEST(stranger__node_that_begins_anew_has_heard_nobody)
{
    connect(fixture);
    cluster_crash(&fixture->cluster, 0);
    cluster_start(&fixture->cluster, 0);
    (void)stranger_step(fixture->stranger);
    assert_true(breaks(fixture, challenge));
}
