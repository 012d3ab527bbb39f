/* SPDX-License-Identifier: BSD-3-Clause */
/* The network says that a peer has ended, and it may be anybody who says so. */
#include "core/core_internal.h"
#include "peers/peers.h"

#include "unit/transport/core/stranger.h"

/** More than a peer is asked for before it is given up. */
#define LONG_NS (2 * (uint64_t)SUSPICION_NS)

/** What the core's lane says next of lost addresses. */
static struct lane_loss said;
static bool any_said;

/** As a kernel does that refuses all: the frame that is sent is quoted, and nothing goes out. */
static bool refuses;

static bool say_lost(struct lane *lane, struct lane_loss *loss)
{
    bool any = any_said;

    *loss = said;
    any_said = false;
    return any;
}

static void quote(const void *frame, size_t bytes)
{
    said.quote_bytes = (uint8_t)(bytes < LANE_QUOTE_BYTES ? bytes : LANE_QUOTE_BYTES);
    memcpy(said.quote, frame, said.quote_bytes);
    any_said = true;
}

static unsigned (*send_on)(struct lane *lane, const struct lane_address *to,
                           const struct lane_outgoing *frames, unsigned count);

static unsigned send_or_refuse(struct lane *lane, const struct lane_address *to,
                               const struct lane_outgoing *frames, unsigned count)
{
    if (!refuses) {
        return send_on(lane, to, frames, count);
    }
    quote(frames[0].head, frames[0].head_bytes);
    return count;
}

/** Has the core's lane hear of refusals: none yet. */
static void listen_for_refusals(struct stranger *stranger)
{
    static struct lane_operations operations;
    struct lane *lane = stranger->core->options.lanes.lanes[0];

    operations = *lane->operations;
    send_on = operations.send;
    operations.lost = say_lost;
    operations.send = send_or_refuse;
    lane->operations = &operations;
    said = (struct lane_loss){.address = sim_address(1, 0)};
    any_said = false;
    refuses = false;
}

static bool say_nothing(struct lane *lane, struct lane_loss *loss)
{
    return false;
}

static unsigned send_nowhere(struct lane *lane, const struct lane_address *to,
                             const struct lane_outgoing *frames, unsigned count)
{
    return count;
}

static unsigned receive_nothing(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    return 0;
}

static void release_nothing(struct lane *lane)
{
}

static int be_well(struct lane *lane)
{
    return 0;
}

/** The core has just sent something that is not acknowledged, and asked for that. */
static struct core_peer *await_answer(struct stranger *stranger)
{
    struct core_peer *peer = be_accepted_as_named(stranger);

    listen_for_refusals(stranger);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    while (!hear(stranger) || stranger->heard.type != FRAME_PROBE) {
        round_trip(stranger);
    }
    return peer;
}

static void forget_heard(struct stranger *stranger)
{
    while (hear(stranger)) {
        /* on */
    }
}

/** Somebody says, every millisecond, that the peer has ended, and quotes this. */
static void say_for(struct stranger *stranger, const void *frame, size_t bytes, uint64_t time_ns)
{
    for (uint64_t at = 0; at < time_ns; at += 1000000) {
        quote(frame, bytes);
        pass(stranger, 1000000);
    }
}

/** Who does not know the key can say so as often as it likes; though the peer is silent meanwhile.
 */
TEST_AROUND(core_suspect__a_stranger_says_so, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);
    uint8_t frame[sizeof(struct frame_header)] = {0};

    frame_encode(frame, &(struct frame_fields){.type = FRAME_PROBE, .key = STRANGER_KEY + 1});
    say_for(stranger, frame, sizeof frame, LONG_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_true(stranger->core->counters.refusals_strange > 1);
    assert_int_equal(stranger->core->counters.refusals_strange,
                     stranger->core->counters.refusals_heard);
}

/** Routers need not quote more of what they drop than eight bytes. */
TEST_AROUND(core_suspect__too_little_is_quoted, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);
    uint8_t frame[sizeof(struct frame_header)] = {0};

    frame_encode(frame, &(struct frame_fields){.type = FRAME_PROBE, .key = STRANGER_KEY});
    say_for(stranger, frame, 11, LONG_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/** Any hint has the peer asked at once, but not more often than it would be anyway. */
TEST_AROUND(core_suspect__asks, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    listen_for_refusals(stranger);
    pass(stranger, PEER_TIMEOUT_NS); /* idle: nothing is owed */
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    round_trip(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    round_trip(stranger);
    forget_heard(stranger);
    for (unsigned i = 0; i < 100; i++) { /* each is answered, which ends the suspicion */
        quote("", 0);
        core_notice_lost(stranger->core, true, cluster_now(&stranger->cluster));
        pass(stranger, 100000);
        if (hear(stranger)) {
            assert_int_equal(stranger->heard.type, FRAME_PROBE);
            say(stranger,
                &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
        }
        pass(stranger, 100000);
        assert_false(core_is_suspected(peer) && peer->doubt->suspicion.questions > 0);
    }
    assert_in_range(stranger->core->counters.sent[FRAME_PROBE], 1, 2);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/** Its kernel refuses what we send, and nothing at all is heard of it. */
TEST_AROUND(core_is_refused__silent_and_refused_again, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);

    refuses = true;
    pass(stranger, SUSPICION_NS / 2);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    pass(stranger, SUSPICION_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -ECONNRESET);
}

static unsigned cuts;
static unsigned known_cuts;

static void note_cut(struct lane *lane, bool known)
{
    cuts++;
    known_cuts += known;
}

static void count_cuts(struct stranger *stranger)
{
    struct lane *lane = stranger->core->options.lanes.lanes[0];
    static struct lane_operations operations;

    operations = *lane->operations;
    operations.cut = note_cut;
    lane->operations = &operations;
    cuts = 0;
    known_cuts = 0;
}

/** Says once that a frame is too long for the way. @return how often the lane was told to cut. */
static unsigned say_too_long(struct stranger *stranger, const void *frame, size_t bytes)
{
    count_cuts(stranger);
    said.too_long = true;
    quote(frame, bytes);
    core_notice_lost(stranger->core, true, cluster_now(&stranger->cluster));
    return known_cuts;
}

/** Only who has seen a frame that did arrive once says that the way has become narrow. */
STRANGER_TEST(core_notice_lost__a_frame_is_too_long)
{
    struct core_peer *peer = await_answer(stranger);
    uint8_t frame[sizeof(struct frame_header)] = {0};

    frame_encode(frame, &(struct frame_fields){.type = FRAME_EAGER, .key = STRANGER_KEY + 1});
    assert_int_equal(say_too_long(stranger, frame, sizeof frame), 0);
    assert_int_equal(say_too_long(stranger, frame, 11), 0);
    assert_int_equal(stranger->core->counters.refusals_strange, 2);
    frame_encode(frame, &(struct frame_fields){.type = FRAME_EAGER, .key = STRANGER_KEY});
    assert_int_equal(say_too_long(stranger, frame, sizeof frame), 1);
    assert_false(core_is_suspected(peer)); /* that says nothing of the peer's end */
}

/** The peer answers each question, and never has what was sent: nobody says why. */
TEST_AROUND(core_cut_stuck__a_frame_never_arrives, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    count_cuts(stranger);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    const struct flow *flow = &peer->message.flow;
    while (cuts == 0) {
        assert_int_equal(peer->connection.state, CONNECTION_OPEN);
        while (!hear(stranger) || stranger->heard.type != FRAME_PROBE) {
            pass(stranger, 1000000);
        }
        say_nothing_came(stranger, 1, from_le32(stranger->heard.probe->number));
        round_trip(stranger);
    }
    assert_int_equal(known_cuts, 0); /* it may have been lost otherwise */
    uint64_t stuck_ns = cluster_now(&stranger->cluster) - flow->stuck_since_ns;
    assert_in_range(stuck_ns, PEER_TIMEOUT_NS / 4, PEER_TIMEOUT_NS / 2);
}

/** A longer CONNECT than arrives is how it is found out what does. */
STRANGER_TEST(core_notice_lost__a_connect_is_too_long)
{
    struct core_peer *peer = NULL;
    bool shortest = false;

    listen_for_refusals(stranger);
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    while (!shortest) {
        round_trip(stranger);
        while (hear(stranger)) {
            uint32_t asked = from_le16(stranger->heard.connect->frame_bytes);
            shortest = asked <= paths_data_bytes(&peer->route.paths, &stranger->core->options.lanes,
                                                 CONNECTION_SHORTEST_MTU);
            assert_int_equal(say_too_long(stranger, stranger->wire, stranger->heard_bytes),
                             shortest ? 1 : 0);
        }
    }
}

/** So does something between us and a peer that answers another way. */
TEST_AROUND(core_is_refused__but_it_is_heard, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);

    refuses = true;
    for (unsigned i = 0; i < 20; i++) {
        pass(stranger, SUSPICION_NS - 10000000);
        say(stranger, &(struct says){.fields.type = FRAME_ACK, .credit = 16});
        round_trip(stranger);
        assert_false(core_is_doubted(peer));
    }
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/** Once is not enough; until the peer has been silent for as long as any other may be. */
TEST_AROUND(core_is_refused__once, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);
    uint8_t frame[sizeof(struct frame_header)] = {0};

    frame_encode(frame, &(struct frame_fields){.type = FRAME_PROBE, .key = STRANGER_KEY});
    quote(frame, sizeof frame);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    pass(stranger, PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
}

/** DATA has a header of its own; the key is where all have it. */
STRANGER_TEST(core_is_refused__data)
{
    struct core_peer *peer = await_answer(stranger);
    const struct frame_data data = frame_encode_data(CLUSTER_ENDPOINT, STRANGER_KEY, 1);

    say_for(stranger, &data, sizeof data, LONG_NS);
    assert_int_equal(peer->message.error, -ECONNRESET);
}

/** CONNECT has no key in its header, but one in its body. */
STRANGER_TEST(core_is_refused__nobody_is_there_to_connect_to)
{
    struct core_peer *peer = NULL;

    listen_for_refusals(stranger);
    refuses = true;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, LONG_NS);
    assert_int_equal(completed(stranger).status, -ECONNRESET);
}

/** A second lane of the core, which is told of refusals as well, and never of any. */
static void add_silent_lane(struct stranger *stranger)
{
    static struct lane lane;
    static struct lane_operations operations;
    struct path_lanes *lanes = &stranger->core->options.lanes;

    lane = *lanes->lanes[0];
    operations = (struct lane_operations){
        .reach = lane.operations->reach,
        .send = send_nowhere,
        .receive = receive_nothing,
        .release = release_nothing,
        .lost = say_nothing,
        .status = be_well,
    };
    lane.operations = &operations;
    lanes->lanes[1] = &lane;
    lanes->count = 2;
}

/** One lane leads to a host that has the peer's address, too, and refuses; the peer may be where
 *  the other leads. So it is waited for as if nobody had said anything. */
TEST_AROUND(core_is_refused__not_where_it_was_never_heard, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;

    listen_for_refusals(stranger);
    add_silent_lane(stranger);
    refuses = true;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, 2 * LONG_NS);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_int_equal(peer->message.error, 0);
    pass(stranger, PEER_TIMEOUT_NS);
    assert_int_equal(completed(stranger).status, -ETIMEDOUT);
    stranger->core->options.lanes.count = 1;
}

/** Of a connection that is open, whoever refuses what asks for the proof of another way. */
STRANGER_TEST(core_is_refused__not_over_a_way_that_is_not_proven)
{
    struct core_peer *peer = await_answer(stranger);

    add_silent_lane(stranger);
    peer->route.paths.reachable |= 2;
    peer->route.paths.to[1] = peer->route.paths.to[0];
    struct lane_loss loss = {.address = peer->route.paths.to[1], .quote_bytes = LANE_QUOTE_BYTES};
    frame_encode(loss.quote,
                 &(struct frame_fields){.type = FRAME_CHALLENGE, .key = peer->connection.peer_key});
    core_suspect(stranger->core, peer, 1, &loss, cluster_now(&stranger->cluster));
    assert_int_equal(peer->doubt->suspicion.refused_ns, 0);
    core_suspect(stranger->core, peer, 0, &loss, cluster_now(&stranger->cluster));
    assert_int_not_equal(peer->doubt->suspicion.refused_ns, 0);
    stranger->core->options.lanes.count = 1;
}

TEST_AROUND(core_suspect__a_stranger_says_so_of_whom_we_ask, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;
    uint8_t frame[FRAME_HEAD_BYTES_MAX] = {0};

    listen_for_refusals(stranger);
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    frame_encode(frame, &(struct frame_fields){.type = FRAME_CONNECT});
    say_for(stranger, frame, sizeof frame, LONG_NS);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
}

/** A closed socket beside shared memory is no hint. */
STRANGER_TEST(core_notice_lost__our_own_kernel_knows)
{
    struct core_peer *peer = await_answer(stranger);

    said.certain = true;
    quote("", 0);
    pass(stranger, 1000000);
    assert_int_equal(peer->message.error, -ECONNRESET);
}

/** What was said while nobody looked is found out as well; but the time is not the peer's. */
TEST_AROUND(core_is_refused__while_nobody_looked, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = await_answer(stranger);
    uint64_t now_ns = cluster_now(&stranger->cluster);

    refuses = true;
    pass(stranger, SUSPICION_NS / 2);
    assert_true(core_is_suspected(peer));
    cluster_pause(&stranger->cluster, 0, now_ns + PEER_TIMEOUT_NS);
    pass(stranger, PEER_TIMEOUT_NS - SUSPICION_NS / 2 + 1000);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    pass(stranger, LONG_NS);
    assert_int_equal(peer->message.error, -ECONNRESET);
}
