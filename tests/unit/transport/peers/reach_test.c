/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ways to a peer are used: only those on which it has answered. */
#include "core/control.h"
#include "core/core_internal.h"
#include "peers/peers.h"
#include "unit/transport/core/stranger.h"

#define SECOND UINT64_C(1000000000)
#define RAILS 3

/** Two nodes with several networks between them; node 0 has sent a message, which has arrived. */
static struct core_peer *connected(struct cluster *cluster, uint32_t unplugged)
{
    static char byte;
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct beowire_completion done;

    wire.rails = RAILS;
    cluster_open(cluster, &wire);
    cluster_start(cluster, 0);
    cluster_start(cluster, 1);
    for (uint32_t rail = 0; rail < RAILS; rail++) {
        sim_wire_unplug(cluster->wire, 1, rail, (unplugged >> rail & 1) != 0);
    }
    struct core_peer *peer = cluster_peer(cluster, 0, 1);
    assert_int_equal(cluster_send(cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(cluster_receive(cluster, 1, NULL, 1, 0, &byte, 1, NULL), 0);
    cluster_run(cluster, cluster_now(cluster) + SECOND / 10);
    assert_true(cluster_take(cluster, 1, &done));
    assert_int_equal(done.status, 0);
    return peer;
}

TEST(core_service_paths__all_ways_are_tried_and_proven)
{
    struct cluster cluster;
    const struct core_peer *peer = connected(&cluster, 0);

    assert_int_equal(peer->route.paths.proven, (1u << RAILS) - 1);
    assert_int_equal(cluster.nodes[1].core.peers[0]->route.paths.proven, (1u << RAILS) - 1);
    assert_int_equal(peer->challenge_at_ns, UINT64_MAX);
    assert_int_equal(cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE], RAILS - 1);
    assert_int_equal(cluster.nodes[1].core.counters.sent[FRAME_RESPONSE], RAILS - 1);
    cluster_close(&cluster);
}

/** An address that another host has, too; a cable that is not plugged in: it costs a frame now and
 *  then, and nothing else. */
TEST(core_service_paths__one_that_leads_nowhere_is_not_used)
{
    struct cluster cluster;
    struct core_peer *peer = connected(&cluster, 1u << 1);
    uint64_t tried = cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE];
    struct beowire_completion done;
    char byte = 0;

    assert_int_equal(peer->route.paths.proven, 1 | 1u << 2);
    assert_int_equal(peer->message.usable_lanes & 1u << 1, 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(cluster_send(&cluster, 0, peer, 1, 0, "y", 1, NULL), 0);
        assert_int_equal(cluster_receive(&cluster, 1, NULL, 1, 0, &byte, 1, NULL), 0);
        cluster_run(&cluster, cluster_now(&cluster) + SECOND / 10);
        assert_true(cluster_take(&cluster, 1, &done));
    }
    assert_true(cluster.nodes[0].core.counters.sent[FRAME_CHALLENGE] - tried < 16);
    assert_int_equal(peer->route.paths.fast, 0);
    sim_wire_unplug(cluster.wire, 1, 1, false);
    cluster_run(&cluster, cluster_now(&cluster) + 121 * SECOND);
    assert_int_equal(peer->route.paths.proven, (1u << RAILS) - 1);
    cluster_close(&cluster);
}

/** The preferred way is not there when they connect: another is found, and left when it is. */
TEST(core_prove_path__the_preferred_one_comes_later)
{
    struct cluster cluster;
    const struct core_peer *peer = connected(&cluster, 1);

    assert_true(peer->route.paths.fast != 0);
    assert_false(paths_has_proven(&peer->route.paths, 0));
    sim_wire_unplug(cluster.wire, 1, 0, false);
    cluster_run(&cluster, cluster_now(&cluster) + 121 * SECOND);
    assert_int_equal(peer->route.paths.fast, 0);
    cluster_close(&cluster);
}

static unsigned (*send_on)(struct lane *lane, const struct lane_address *to,
                           const struct lane_outgoing *frames, unsigned count);
static uint32_t probes[PATH_PATIENCE_PROBES + 1];
static unsigned probes_sent;

/** Notes the number of each PROBE that goes over the lane. */
static unsigned note_probe(struct lane *lane, const struct lane_address *to,
                           const struct lane_outgoing *frames, unsigned count)
{
    const struct frame_probe *body = (const void *)(frames[0].head + sizeof(struct frame_header));

    if (frame_type_of(frames[0].head) == FRAME_PROBE &&
        probes_sent < sizeof probes / sizeof *probes) {
        probes[probes_sent++] = from_le32(body->number);
    }
    return send_on(lane, to, frames, count);
}

static bool nothing_lost(struct lane *lane, struct lane_loss *loss)
{
    return false;
}

/** A kernel that may refuse is asked from the first PROBE on. The peer must not take that for a
 *  sign that the usual lane fails: only a new number asks for another lane. */
TEST(core_service__refusals_are_asked_for_by_old_numbers)
{
    struct cluster cluster;
    struct core_peer *peer = connected(&cluster, 0);
    struct lane *lane = cluster.nodes[0].core.options.lanes.lanes[1];
    struct lane_operations operations = *lane->operations;
    const struct lane_operations *before = lane->operations;
    uint32_t asked = (uint32_t)peer->message.flow.probes;

    send_on = operations.send;
    operations.send = note_probe;
    operations.lost = nothing_lost;
    lane->operations = &operations;
    probes_sent = 0;
    cluster_pause(&cluster, 1, cluster_now(&cluster) + SECOND);
    assert_int_equal(cluster_send(&cluster, 0, peer, 1, 0, "y", 1, NULL), 0);
    cluster_run(&cluster, cluster_now(&cluster) + SECOND / 10);
    lane->operations = before;
    assert_int_equal(probes_sent, PATH_PATIENCE_PROBES + 1);
    for (unsigned i = 0; i < PATH_PATIENCE_PROBES; i++) {
        assert_int_equal(probes[i], asked + i);
    }
    assert_int_equal(probes[PATH_PATIENCE_PROBES], asked + PATH_PATIENCE_PROBES + 1);
    cluster_close(&cluster);
}

/** Node 0 sends a message to node 1, which goes on after so many PROBEs. */
static void exchange(struct cluster *cluster, struct core_peer *peer, uint64_t bytes,
                     unsigned absent_probes)
{
    static uint8_t data[8000];
    static uint8_t buffer[sizeof data];
    struct beowire_completion done;
    uint64_t until = peer->message.flow.probes + absent_probes;

    assert_int_equal(cluster_receive(cluster, 1, NULL, 1, 0, buffer, sizeof buffer, NULL), 0);
    assert_int_equal(cluster_send_confirmed(cluster, 0, peer, 1, 0, data, bytes, NULL), 0);
    while (peer->message.flow.probes < until) {
        cluster_pause(cluster, 1, cluster_now(cluster) + 50000);
        (void)cluster_step(cluster, cluster_now(cluster) + 10000);
    }
    cluster_run(cluster, cluster_now(cluster) + SECOND);
    assert_true(cluster_take(cluster, 0, &done));
    assert_int_equal(done.status, 0);
    assert_true(cluster_take(cluster, 1, &done));
    assert_int_equal(done.status, 0);
}

/** The peer sends nothing of its own, so it does not notice that its frames get lost: it answers
 *  over whichever lane it is asked. */
TEST(core_service__answers_that_get_lost_come_over_another_lane)
{
    struct cluster cluster;
    struct beowire_completion done;
    struct core_peer *peer = connected(&cluster, 0);

    assert_true(cluster_take(&cluster, 0, &done));
    sim_wire_narrow(cluster.wire, 1, 0, 0, 0);
    sim_wire_narrow(cluster.wire, 1, 0, 2, 0);
    for (unsigned i = 0; i < 4; i++) {
        exchange(&cluster, peer, 1, 0);
    }
    assert_true(cluster.nodes[0].core.counters.path_changes > 0);
    cluster_close(&cluster);
}

/** A process that had no core answers first over its usual lane. */
TEST(core_service__a_pause_changes_no_lanes)
{
    struct cluster cluster;
    struct beowire_completion done;
    struct core_peer *peer = connected(&cluster, 0);
    struct lane *lane = cluster.nodes[0].core.options.lanes.lanes[2];
    struct lane_operations operations = *lane->operations;
    const struct lane_operations *before = lane->operations;

    operations.lost = nothing_lost;
    lane->operations = &operations;
    assert_true(cluster_take(&cluster, 0, &done));
    for (unsigned absent = 0; absent < 2 * PATH_PATIENCE_PROBES; absent++) {
        exchange(&cluster, peer, 1, absent);
    }
    lane->operations = before;
    assert_int_equal(cluster.nodes[0].core.counters.path_changes, 0);
    assert_int_equal(cluster.nodes[1].core.counters.path_changes, 0);
    cluster_close(&cluster);
}

/** A PROBE that follows a train does not say that the usual lane fails. */
TEST(core_service__probes_behind_trains_change_no_lanes)
{
    struct cluster cluster;
    struct beowire_completion done;
    struct core_peer *peer = connected(&cluster, 0);

    assert_true(cluster_take(&cluster, 0, &done));
    for (unsigned i = 0; i < 2 * PATH_PATIENCE_PROBES; i++) {
        exchange(&cluster, peer, 8000, 1);
        assert_int_equal(peer->route.convoy.used, 1);
    }
    assert_int_equal(cluster.nodes[1].core.counters.path_changes, 0);
    cluster_close(&cluster);
}

/** The peer answers what was asked, as it came. */
STRANGER_TEST(core_receive__challenge_is_answered_with_its_number)
{
    const struct frame_challenge body = {.number = to_le64(0x1234567890)};

    (void)be_accepted(stranger);
    say(stranger,
        &(struct says){.fields.type = FRAME_CHALLENGE, .body = &body, .padded_bytes = 1400});
    round_trip(stranger);
    assert_true(from_le64(hear_type(stranger, FRAME_RESPONSE)->challenge->number) == 0x1234567890);
}

/** Only the number that went that way proves it. */
STRANGER_TEST(core_receive__response_proves_one_way)
{
    struct core_peer *peer = be_accepted(stranger);
    const struct core *core = stranger->core;
    struct frame_challenge body = {
        .number = to_le64(proof_challenge(core->proof_key, peer->connection.own_key, 1))};

    peer->route.paths.proven = 0;
    say(stranger, &(struct says){.fields.type = FRAME_RESPONSE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->route.paths.proven, 0);
    body.number = to_le64(proof_challenge(core->proof_key, peer->connection.own_key, 0));
    say(stranger, &(struct says){.fields.type = FRAME_RESPONSE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->route.paths.proven, 1);
}

/** What proves the first way has come over a lane as well. */
STRANGER_TEST(core_receive__a_lane_is_heard_before_any_is_proven)
{
    struct frame_connect connect = connect_body(stranger);

    say_connect(stranger, &connect);
    round_trip(stranger);
    stranger->core_key = from_le32(hear_type(stranger, FRAME_ACCEPT)->connect->key);
    struct core_peer *peer = stranger->core->peers[0];
    peer->answered_by = 3; /* and over another lane, so neither is proven */
    peer->route.paths.heard = 0;
    const struct frame_challenge body = {
        .number = to_le64(proof_challenge(stranger->core->proof_key, peer->connection.own_key, 0))};
    say(stranger, &(struct says){.fields.type = FRAME_RESPONSE, .body = &body});
    round_trip(stranger);
    assert_true(peer->message.ready);
    assert_int_equal(peer->route.paths.heard, 1);
}

/** A peer that has asked, and names places of others: no more goes there than three times what
 * came. */
STRANGER_TEST(control_send_challenge__no_more_than_thrice_what_came)
{
    struct core_peer *peer = be_accepted(stranger);
    struct core *core = stranger->core;
    uint64_t sent;

    peer->route.paths.proven = 0;
    peer->allowance_bytes = 3200; /* two whole frames */
    for (unsigned i = 0; i < 100; i++) {
        control_send_challenge(core, peer, 0);
    }
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], 2);
    core_try_paths(core, peer);
    peer->challenge_at_ns = 1; /* some are being tried, so what comes counts */
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .padded_bytes = 46});
    round_trip(stranger);
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], 2);
    peer->announced = true; /* the application knows what it names */
    core->announced_peers++;
    sent = core->counters.sent[FRAME_CHALLENGE];
    control_send_challenge(core, peer, 0);
    assert_int_equal(core->counters.sent[FRAME_CHALLENGE], sent + 1);
}

/* ---- memory that is not shared after all ---------------------------------------------------- */

/** A lane that takes all addresses for those of this host. What is sent there is kept, and heard by
 *  nobody; what has come is what a test puts in. */
struct memory {
    struct lane lane;
    uint8_t sent[2000]; /**< the last frame that was sent */
    unsigned sent_count;
    unsigned left; /**< how often somebody was let go */
    bool says;     /**< lost() has this to say */
    struct lane_loss loss;
    struct lane_incoming came; /**< bytes 0: nothing */
};

static struct memory *memory_of(struct lane *lane)
{
    return (struct memory *)(void *)lane;
}

static int reach_all(struct lane *lane, const struct address_layout *address,
                     struct lane_address *to)
{
    *to = (struct lane_address){{1}};
    return 0;
}

static unsigned keep_sent(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    struct memory *memory = memory_of(lane);

    memcpy(memory->sent, frames[0].head, frames[0].head_bytes);
    memory->sent_count += count;
    return count;
}

static unsigned receive_put(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct memory *memory = memory_of(lane);

    if (count == 0 || memory->came.bytes == 0) {
        return 0;
    }
    frames[0] = memory->came;
    memory->came.bytes = 0;
    return 1;
}

static void release_nothing(struct lane *lane)
{
}

static bool say_lost(struct lane *lane, struct lane_loss *loss)
{
    struct memory *memory = memory_of(lane);
    bool says = memory->says;

    memory->says = false;
    *loss = memory->loss;
    return says;
}

static void count_left(struct lane *lane, const struct lane_address *to)
{
    assert_int_equal(to->bytes[0], 1);
    memory_of(lane)->left++;
}

static int be_well(struct lane *lane)
{
    return 0;
}

/** Gives the core such a lane beside its own. */
static void share_memory(struct stranger *stranger, struct memory *memory)
{
    static const struct lane_operations operations = {.reach = reach_all,
                                                      .send = keep_sent,
                                                      .receive = receive_put,
                                                      .release = release_nothing,
                                                      .lost = say_lost,
                                                      .leave = count_left,
                                                      .status = be_well};
    struct path_lanes *lanes = &stranger->core->options.lanes;

    *memory = (struct memory){.lane = {.operations = &operations,
                                       .kind = LANE_SHM,
                                       .of_host = true,
                                       .shares_memory = true,
                                       .is_certain = true,
                                       .frame_bytes = 1400},
                              .loss.address.bytes[0] = 1};
    lanes->lanes[lanes->count++] = &memory->lane;
}

/** The stranger is known, and asked by memory for a connection. */
static struct core_peer *asked_by_memory(struct stranger *stranger, struct memory *memory)
{
    struct core_peer *peer = NULL;

    share_memory(stranger, memory);
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    round_trip(stranger);
    assert_int_equal(memory->sent_count, 1);
    assert_false(hear(stranger));
    return peer;
}

/** The stranger is asked by the wire, accepts, and gets what was to be sent to it. */
static void asked_by_wire(struct stranger *stranger, const struct core_peer *peer)
{
    struct frame_connect body = connect_body(stranger);

    const struct frame *asked = hear_type(stranger, FRAME_CONNECT);
    stranger->core_key = from_le32(asked->connect->key);
    assert_int_equal(asked->connect->frame_bytes.bytes[0] | asked->connect->frame_bytes.bytes[1]
                                                                << 8,
                     stranger->core->options.lanes.lanes[0]->frame_bytes);
    body.echoed_key = to_le32(stranger->core_key);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT,
                                 .credit = STRANGER_CREDIT,
                                 .body = &body,
                                 .padded_bytes = 1500});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    while (hear(stranger) && stranger->heard.type != FRAME_EAGER) {
        /* on */
    }
    assert_int_equal(stranger->heard.type, FRAME_EAGER);
}

STRANGER_TEST(core_leave_memory__who_is_not_met_there_is_asked_elsewhere)
{
    struct memory memory;
    const struct core_peer *peer = asked_by_memory(stranger, &memory);

    memory.says = true;
    memory.loss.certain = true;
    pass(stranger, 1000000);
    assert_int_equal(memory.left, 1);
    assert_int_equal(stranger->core->counters.memory_left, 1);
    asked_by_wire(stranger, peer);
}

/** Room for a ring may come: nothing is left for one that was not there. */
TEST_AROUND(core_leave_memory__when_a_ring_could_not_be_made_for_long, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct memory memory;
    const struct core_peer *peer = asked_by_memory(stranger, &memory);

    memory.says = true;
    pass(stranger, 1000000);
    assert_int_equal(memory.left, 0);
    while (memory.left == 0) {
        assert_int_equal(peer->connection.state, CONNECTION_ASKING);
        memory.says = true;
        pass(stranger, 1000000);
    }
    assert_true(memory.sent_count > PATH_PATIENCE_CONNECTS);
    asked_by_wire(stranger, peer);
}

TEST_AROUND(core_leave_memory__who_asks_by_another_way_has_left_it, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct memory memory;
    const struct core_peer *peer = asked_by_memory(stranger, &memory);

    assert_ptr_equal(be_accepted(stranger), peer);
    assert_int_equal(memory.left, 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->route.paths.fast, 0);
}

/** It need not be known before. */
STRANGER_TEST(core_peer_meet__who_says_that_it_is_here_and_asks_by_another_way)
{
    struct memory memory;

    share_memory(stranger, &memory);
    assert_int_equal(be_accepted(stranger)->route.paths.fast, 0);
    assert_int_equal(memory.left, 0);
}

/** By memory frames are of another length: what was agreed on there does not count elsewhere. */
TEST_AROUND(core_leave_memory__who_has_asked_there_asks_again, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct memory memory;
    uint8_t connect[1400] = {0};
    struct frame_connect body = connect_body(stranger);

    share_memory(stranger, &memory);
    body.frame_bytes = to_le16(sizeof connect);
    frame_encode(connect, &(struct frame_fields){.type = FRAME_CONNECT,
                                                 .destination = CLUSTER_ENDPOINT,
                                                 .source = CLUSTER_ENDPOINT});
    frame_stamp(connect, 0, 0, STRANGER_CREDIT);
    memcpy(connect + sizeof(struct frame_header), &body, sizeof body);
    proof_write(connect, address_layout(&stranger->core->options.address)->secret, NULL);
    memory.came = (struct lane_incoming){
        .data = connect, .bytes = sizeof connect, .from = memory.loss.address};
    pass(stranger, 1000000);
    assert_int_equal(look(stranger), 1);
    assert_int_equal(memory.sent_count, 1); /* ACCEPT */
    const struct core_peer *peer = stranger->core->peers[0];
    assert_int_equal(peer->connection.state, CONNECTION_ANSWERED);
    assert_int_equal(peer->data_bytes, sizeof connect);
    memory.says = true;
    memory.loss.certain = true;
    core_notice_lost(stranger->core, true, cluster_now(&stranger->cluster));
    assert_int_equal(memory.left, 1);
    assert_ptr_equal(be_accepted(stranger), peer);
    assert_int_equal(peer->data_bytes, 1500);
    assert_int_equal(peer->route.paths.fast, 0);
}

/** Both have met there: now the end of what joins them is that of the peer. */
TEST_AROUND(core_leave_memory__not_once_the_connection_is_open, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct memory memory;
    struct core_peer *peer = asked_by_memory(stranger, &memory);

    peer->connection.state = CONNECTION_OPEN;
    memory.says = true;
    memory.loss.certain = true;
    pass(stranger, 1000000);
    assert_int_equal(memory.left, 0);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->connection.error, -ECONNRESET);
}

/** Nothing else leads to it. */
STRANGER_TEST(core_leave_memory__not_without_another_way)
{
    struct memory memory;
    struct address_layout *layout = (struct address_layout *)(void *)stranger->address.bytes;

    memset(layout->rail[0].mac, 0, sizeof layout->rail[0].mac);
    layout->host = to_le64(1);
    layout->process = to_le32(1);
    layout->rails = 0;
    const struct core_peer *peer = asked_by_memory(stranger, &memory);
    memory.says = true;
    memory.loss.certain = true;
    pass(stranger, 1000000);
    assert_int_equal(peer->connection.error, -ECONNRESET);
}
