/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"
#include "peers/peers.h"

#include "unit/transport/core/stranger.h"

/** So long after a peer has fallen silent its operations have ended. */
#define IN_TIME_NS (PEER_TIMEOUT_NS + UINT64_C(10000000))

/** Has the timers looked at when it is so late. Nothing else of the cluster is: what the test says
 * of the core's state need not be in balance. */
static void look_at_timers(struct stranger *stranger, uint64_t now_ns)
{
    sim_wire_advance(stranger->cluster.wire, now_ns);
    stranger->core->deadline_ns = now_ns;
    core_timers(stranger->core, now_ns);
}

/** The peer answers, and sends nothing of what it is asked for. */
TEST_AROUND(core_timers__data_that_never_comes, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);
    uint64_t now_ns = cluster_now(&stranger->cluster);
    uint64_t stuck_ns = now_ns + PULL_STUCK_TIMEOUTS * PEER_TIMEOUT_NS;

    peer->message.pulls = 1;
    peer->message.data_silent_since_ns = now_ns;
    look_at_timers(stranger, stuck_ns - 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    peer->message.flow.unanswered = 1; /* then it may be the peer that is away */
    look_at_timers(stranger, stuck_ns);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    peer->message.flow.unanswered = 0;
    look_at_timers(stranger, stuck_ns + 1);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    peer->message.pulls = 0;
}

STRANGER_TEST(core_timers__nobody_answers_the_question)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, IN_TIME_NS);
    assert_int_equal(completed(stranger).status, -ETIMEDOUT);
    assert_int_equal(peer->message.chunks, 0);
    assert_int_equal(stranger->core->counters.peers_failed, 1);
    assert_true(core_is_flushed(stranger->core));
    assert_true(stranger->core->undelivered);
}

TEST_AROUND(core_timers__silent_peer_is_dead, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    pass(stranger, IN_TIME_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    assert_true(stranger->core->undelivered);
}

/** Answers everything for a time, and has got nothing of it but the probes. */
static void get_probes_only(struct stranger *stranger, uint64_t time_ns)
{
    uint64_t end_ns = cluster_now(&stranger->cluster) + time_ns;

    while (cluster_now(&stranger->cluster) < end_ns) {
        round_trip(stranger);
        while (hear(stranger)) {
            if (stranger->heard.type == FRAME_PROBE) {
                say_nothing_came(stranger, stranger->heard.sequence,
                                 from_le32(stranger->heard.probe->number));
            }
        }
    }
}

/** Something on the way drops frames of that length, for example. */
TEST_AROUND(core_timers__a_frame_that_never_arrives, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    get_probes_only(stranger, PEER_TIMEOUT_NS - 1000000);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_true(flow_stuck_since(&peer->message.flow) != 0);
    get_probes_only(stranger, PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    assert_true(stranger->core->undelivered);
}

/** One that arrives at last is no reason, however often it was sent. */
TEST_AROUND(core_timers__a_frame_that_arrives_late, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
        get_probes_only(stranger, PEER_TIMEOUT_NS / 2);
        say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = i, .credit = 16});
        round_trip(stranger);
        assert_int_equal(flow_stuck_since(&peer->message.flow), 0);
    }
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/** A process that was stopped, or a clock that was set, says nothing about a peer. */
TEST_AROUND(core_timers__a_jump_of_the_clock_is_no_silence, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    pass(stranger, 2 * (uint64_t)FLOW_RTO_MIN_NS);
    cluster_jump_clock(&stranger->cluster, 0, 20 * PEER_TIMEOUT_NS);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    pass(stranger, 2 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_true(core_is_flushed(stranger->core));
}

TEST_AROUND(core_timers__a_jump_of_the_clock_while_asking, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, CONNECTION_RETRY_NS / 2);
    cluster_jump_clock(&stranger->cluster, 0, 20 * PEER_TIMEOUT_NS);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    pass(stranger, IN_TIME_NS);
    assert_int_equal(completed(stranger).status, -ETIMEDOUT);
}

/** Whoever looks seldom notices as well, only later. */
TEST_AROUND(core_timers__silent_peer_is_dead_however_seldom_one_looks, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    pass(stranger, 1000);
    for (unsigned looks = 0; looks < 12; looks++) {
        cluster_pause(&stranger->cluster, 0, cluster_now(&stranger->cluster) + PEER_TIMEOUT_NS);
        pass(stranger, PEER_TIMEOUT_NS + 1000);
    }
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
}

TEST_AROUND(core_timers__idle_peer_may_be_silent_for_ever, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    pass(stranger, 100 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->deadline_ns, UINT64_MAX);
}

/** Nothing is under way, and nothing else happens: the receive alone has the peer watched. */
STRANGER_TEST(core_watch__a_peer_that_a_receive_waits_for)
{
    struct core_peer *peer = be_accepted_as_named(stranger);
    char buffer[1];

    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, peer, 1, 0, buffer, sizeof buffer, buffer), 0);
    pass(stranger, 2 * (uint64_t)FLOW_WATCH_NS);
    (void)hear_type(stranger, FRAME_PROBE);
    pass(stranger, IN_TIME_NS);
    struct beowire_completion done = completed(stranger);
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_ptr_equal(done.context, buffer);
}

/** Nobody has said a word yet: the receive asks for a connection, or the peer's end would never be
 *  noticed. */
STRANGER_TEST(core_watch__a_peer_that_has_never_been_heard_of)
{
    struct core_peer *peer = NULL;
    char buffer[1];

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_false(core_watch(stranger->core, peer));
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, peer, 1, 0, buffer, sizeof buffer, buffer), 0);
    assert_true(core_watch(stranger->core, peer));
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_CONNECT);
    pass(stranger, PEER_TIMEOUT_NS - 2000000);
    assert_false(message_has_completions(&stranger->core->messages));
    pass(stranger, 4000000);
    struct beowire_completion done = completed(stranger);
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_ptr_equal(done.context, buffer);
    assert_int_equal(done.peer, peer->message.index);
}

/** Nobody waits for its answer any more: no reason to give it up. Another that does waits as long
 * as any other. */
TEST_AROUND(core_cancel__a_receive_that_alone_wanted_the_connection, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core *core = stranger->core;
    struct core_peer *peer = NULL;
    char buffer[1];

    assert_int_equal(core_peer_add(core, &stranger->address, &peer), 0);
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, peer, 1, 0, buffer, sizeof buffer, buffer), 0);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    assert_int_equal(core_cancel(core, buffer), 0);
    assert_int_equal(completed(stranger).status, -ECANCELED);
    pass(stranger, 3 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, peer, 1, 0, buffer, sizeof buffer, buffer), 0);
    pass(stranger, PEER_TIMEOUT_NS - 2000000);
    assert_false(message_has_completions(&core->messages));
    pass(stranger, 4000000);
    assert_int_equal(completed(stranger).status, -ETIMEDOUT);
}

STRANGER_TEST(core_cancel__another_operation_still_wants_the_connection)
{
    struct core_peer *peer = NULL;
    char buffer[2];

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            cluster_receive(&stranger->cluster, 0, peer, 1, 0, &buffer[i], 1, &buffer[i]), 0);
    }
    assert_int_equal(core_cancel(stranger->core, &buffer[0]), 0);
    assert_int_equal(completed(stranger).status, -ECANCELED);
    assert_int_equal(core_cancel(stranger->core, &buffer[0]), -ENOENT);
    pass(stranger, IN_TIME_NS);
    assert_int_equal(completed(stranger).status, -ETIMEDOUT);
}

/** A timer that was set to a time that is over (core_watch() takes that of the last frame) says
 * nothing about whether anybody has looked at the timers. */
STRANGER_TEST(core_attend__who_has_looked_lately_was_not_away)
{
    struct core *core = stranger->core;
    struct core_peer *peer = be_accepted_as_named(stranger);

    pass(stranger, 2 * PEER_TIMEOUT_NS);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    uint64_t start_ns = cluster_now(&stranger->cluster);
    uint64_t dies_ns = core_dies_at(core, peer);
    core_timers(core, start_ns);
    core->deadline_ns = start_ns - PEER_TIMEOUT_NS;
    core_timers(core, start_ns + 1000000);
    assert_true(core_dies_at(core, peer) == dies_ns);
    uint64_t counted_ns = core_counted_absence(core);
    core_attend(core, start_ns + 1000000 + 3 * counted_ns); /* and now it was */
    assert_true(core_dies_at(core, peer) > dies_ns);
    assert_true(core_dies_at(core, peer) < dies_ns + 2 * counted_ns);
}

/** No other time than the timeout counts, however far away the next probe is. */
TEST_AROUND(core_dies_at__when_the_timeout_is_over, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_true(core_dies_at(stranger->core, peer) == UINT64_MAX);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    uint64_t dies_ns = cluster_now(&stranger->cluster) + PEER_TIMEOUT_NS;
    assert_true(core_dies_at(stranger->core, peer) == dies_ns);
    cluster_run(&stranger->cluster, dies_ns - 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_true(stranger->core->deadline_ns <= dies_ns);
    cluster_run(&stranger->cluster, dies_ns + 10000); /* some steps of the simulation */
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_true(core_dies_at(stranger->core, peer) == UINT64_MAX);
}

static int lane_status;

static int say_status(struct lane *lane)
{
    return lane_status;
}

/** A lane that is down is asked again by the clock, whatever else comes and goes. */
STRANGER_TEST(core_timers__a_lane_that_comes_back)
{
    static struct lane_operations operations;
    struct lane *lane = stranger->core->options.lanes.lanes[0];

    (void)be_accepted_as_named(stranger);
    operations = *lane->operations;
    operations.status = say_status;
    lane->operations = &operations;
    lane_status = -ENETDOWN;
    assert_int_equal(core_status(stranger->core), -ENETDOWN);
    lane_status = 0;
    look_at_timers(stranger, cluster_now(&stranger->cluster) + UINT64_C(200000000));
    assert_false(stranger->core->options.lanes.down[0]);
}

static unsigned withdrawn;

static void note_withdrawn(struct lane *lane, const struct lane_address *to)
{
    const struct lane_address stranger_at = sim_address(1, lane->rail);

    assert_memory_equal(to, &stranger_at, sizeof stranger_at);
    withdrawn++;
}

/** Whoever is given up reads no more of our memory: the application may use it again at once. */
STRANGER_TEST(core_fail_peer__withdraws_our_memory)
{
    static struct lane_operations operations;
    struct core_peer *peer = be_accepted_as_named(stranger);
    struct lane *lane = stranger->core->options.lanes.lanes[0];

    operations = *lane->operations;
    operations.withdraw = note_withdrawn;
    lane->operations = &operations;
    withdrawn = 0;
    core_fail_peer(stranger->core, peer, -ETIMEDOUT);
    assert_int_equal(withdrawn, 1);
}

TEST_AROUND(core_dies_at__never_if_so_ordered, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    stranger->core->options.peer_timeout_ns = UINT64_MAX;
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    assert_true(core_dies_at(stranger->core, peer) == UINT64_MAX);
    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/* ---- peers that stand still ---------------------------------------------------------------- */

/** What the host of the peer does. */
static enum lane_host host_says;
static unsigned host_asked;
static uint32_t host_mark;
static enum lane_host answer_waits;

static enum lane_host ask_host_at_once(struct lane *lane, const struct lane_address *to,
                                       uint32_t mark, bool vouch)
{
    const struct lane_address stranger_at = sim_address(1, lane->rail);

    assert_memory_equal(to, &stranger_at, sizeof stranger_at);
    host_asked++;
    host_mark = mark;
    return host_says;
}

static enum lane_host ask_host_later(struct lane *lane, const struct lane_address *to,
                                     uint32_t mark, bool vouch)
{
    answer_waits = ask_host_at_once(lane, to, mark, vouch);
    return LANE_HOST_ASKED;
}

static enum lane_host answer_of_host(struct lane *lane, uint32_t *mark)
{
    enum lane_host answer = answer_waits;

    *mark = host_mark;
    answer_waits = LANE_HOST_ASKED;
    return answer;
}

/** The core's lane can ask hosts, which answer at once or later. */
static void have_host(struct stranger *stranger, bool at_once)
{
    static struct lane_operations operations;
    struct lane *lane = stranger->core->options.lanes.lanes[0];

    operations = *lane->operations;
    operations.ask_host = at_once ? ask_host_at_once : ask_host_later;
    operations.host_answer = at_once ? NULL : answer_of_host;
    lane->operations = &operations;
    host_says = LANE_HOST_ANSWERS;
    host_asked = 0;
    answer_waits = LANE_HOST_ASKED;
}

static struct core_peer *have_silent_peer(struct stranger *stranger, bool at_once)
{
    struct core_peer *peer = be_accepted_as_named(stranger);

    have_host(stranger, at_once);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    return peer;
}

STRANGER_TEST(core_ask_host__not_as_long_as_the_peer_answers)
{
    (void)have_silent_peer(stranger, true);
    pass(stranger, PEER_TIMEOUT_NS / 2 - 1000000);
    assert_int_equal(host_asked, 0);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(host_asked, 0);
}

static void waits_for_a_peer_that_stands_still(struct stranger *stranger, bool at_once)
{
    struct core_peer *peer = have_silent_peer(stranger, at_once);
    struct beowire_event event = {0};

    pass(stranger, PEER_TIMEOUT_NS - 1000000);
    assert_int_equal(stranger->core->events, 0);
    pass(stranger, 20 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_in_range(host_asked, 20, 2 * 21); /* at most once in half a peer timeout */
    assert_true(core_stands_still(peer));
    assert_true(core_take_event(stranger->core, &event, cluster_now(&stranger->cluster)));
    assert_int_equal(event.kind, BEOWIRE_PEER_STANDS_STILL);
    assert_int_equal(event.peer, peer->message.index);
    assert_true(event.since_ns > 20 * PEER_TIMEOUT_NS);
    assert_false(core_take_event(stranger->core, &event, 0)); /* once */
    assert_int_equal(stranger->core->counters.peers_stood_still, 1);

    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    round_trip(stranger);
    assert_false(core_stands_still(peer));
    assert_true(core_take_event(stranger->core, &event, cluster_now(&stranger->cluster)));
    assert_int_equal(event.kind, BEOWIRE_PEER_GOES_ON);
    assert_true(event.since_ns > 20 * PEER_TIMEOUT_NS);
    assert_false(core_take_event(stranger->core, &event, 0));
    assert_true(core_is_flushed(stranger->core));
}

TEST_AROUND(core_ask_host__waits_for_a_peer_that_stands_still, stranger_setup, stranger_teardown)
{
    waits_for_a_peer_that_stands_still(*state, true);
}

TEST_AROUND(core_ask_host__answers_that_take_their_time, stranger_setup, stranger_teardown)
{
    waits_for_a_peer_that_stands_still(*state, false);
}

/** A host that is gone is noticed as soon as without all this. */
TEST_AROUND(core_ask_host__a_host_that_does_not_answer, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, false);

    host_says = LANE_HOST_ASKED;
    pass(stranger, PEER_TIMEOUT_NS - 1000000);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_in_range(host_asked, 2, 5);
    pass(stranger, 10000000);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
}

/** And one that goes while its process stands still, in no more than twice the time. */
TEST_AROUND(core_ask_host__a_host_that_goes_later, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, true);
    struct beowire_event event;

    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(stranger->core->events, 1);
    host_says = LANE_HOST_ASKED;
    pass(stranger, PEER_TIMEOUT_NS / 2 - 10000000);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    pass(stranger, PEER_TIMEOUT_NS / 2 + 20000000);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    assert_false(core_take_event(stranger->core, &event, 0)); /* its end says more */
}

/** Nothing was ever heard by that lane: who knows whether it would be told of the peer's end. */
STRANGER_TEST(core_ask_host__whose_refusals_may_not_come_through)
{
    struct core_peer *peer = have_silent_peer(stranger, true);

    peer->route.paths.heard = 0;
    pass(stranger, IN_TIME_NS);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
}

/** But not for ever: who has ended may have left its place to another. */
TEST_AROUND(core_ask_host__one_that_never_answers, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;

    have_host(stranger, true);
    host_says = LANE_HOST_VOUCHES;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, (STILL_ASKING_TIMEOUTS + 2) * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
}

/** One that has not opened the connection yet may stand still as well, if its host vouches. */
TEST_AROUND(core_ask_host__before_there_is_a_connection, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;

    have_host(stranger, true);
    host_says = LANE_HOST_VOUCHES;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, (STILL_ASKING_TIMEOUTS - 1) * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_true(core_stands_still(peer));
    struct frame_connect body = connect_body(stranger);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_ANSWERED);
    assert_false(core_stands_still(peer));
}

/** Data that does not come of one that stands still is not missing. */
TEST_AROUND(core_ask_host__data_is_not_waited_for_meanwhile, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, true);

    peer->message.data_silent_since_ns = cluster_now(&stranger->cluster);
    peer->message.flow.stuck_since_ns = cluster_now(&stranger->cluster);
    pass(stranger, 20 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    uint64_t since_ns = cluster_now(&stranger->cluster) - PEER_TIMEOUT_NS;
    assert_true(peer->message.data_silent_since_ns > since_ns);
    assert_true(peer->message.flow.stuck_since_ns > since_ns);
}

/** Who looks so seldom that the answer comes together with the end of patience has it counted. */
TEST_AROUND(core_ask_host__who_looks_seldom, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, false);

    for (unsigned i = 0; i < 20; i++) {
        uint64_t now_ns = cluster_now(&stranger->cluster);
        cluster_pause(&stranger->cluster, 0, now_ns + PEER_TIMEOUT_NS * 6 / 10);
        pass(stranger, PEER_TIMEOUT_NS * 6 / 10 + 1000);
    }
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}
