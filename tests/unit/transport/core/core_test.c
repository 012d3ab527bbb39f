/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/control.h"
#include "core/core.h"

#include "stranger.h"

/* ---- peers --------------------------------------------------------------------------------- */

STRANGER_TEST(core_peer_add__addresses_it_cannot_use)
{
    struct core_peer *peer = NULL;
    struct beowire_address address = {{0}};

    assert_int_equal(core_peer_add(stranger->core, &address, &peer), -EINVAL);
    address = stranger->address;
    memset(address.bytes + offsetof(struct address_layout, rail[0].mac), 0, 6);
    address.bytes[offsetof(struct address_layout, rail[0].port)] = 1;
    address.bytes[offsetof(struct address_layout, rail[0].ip)] = 1;
    assert_int_equal(core_peer_add(stranger->core, &address, &peer), -EHOSTUNREACH);
    /* One incarnation cannot be at two places. */
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    address = stranger->address;
    address.bytes[offsetof(struct address_layout, rail[0].mac) + 5] ^= 1;
    assert_int_equal(core_peer_add(stranger->core, &address, &peer), -EINVAL);
}

STRANGER_TEST(core_peer_add__more_than_ordered)
{
    struct core_peer *peer = NULL;
    struct beowire_address address = stranger->address;

    for (unsigned i = 0; i < 3; i++) {
        address = address_of_another(&address, (uint8_t)i);
        assert_int_equal(core_peer_add(stranger->core, &address, &peer), 0);
    }
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), -ENOSPC);
}

/* ---- connecting ---------------------------------------------------------------------------- */

/** What it promises, and what the answer does. */
static void ask_and_hear(struct stranger *stranger, uint16_t asked, uint16_t answered)
{
    struct frame_connect body = connect_body(stranger);

    body.frame_bytes = to_le16(asked);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_int_equal(from_le16(hear_type(stranger, FRAME_ACCEPT)->connect->frame_bytes), answered);
    assert_int_equal(stranger->heard_bytes, answered);
    assert_int_equal(stranger->core->peers[0]->frame_bytes, answered);
}

/** A CONNECT whose answer would be longer than it is. */
static void ask_in_vain(struct stranger *stranger, uint16_t asked)
{
    struct frame_connect body = connect_body(stranger);

    body.frame_bytes = to_le16(asked);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_false(hear(stranger));
}

/** The way back may drop what the way there does not. */
TEST_AROUND(core_service__answers_that_do_not_arrive_get_shorter, stranger_setup, stranger_teardown)
{
    for (unsigned i = 0; i < CONNECTION_LONG_ACCEPTS; i++) {
        ask_and_hear(*state, 1500, 1500);
    }
    ask_and_hear(*state, 1420, 1420);
    ask_and_hear(*state, 1228, 1228);
    ask_and_hear(*state, 1500, 1228);
}

/** What was long did arrive once, and does not any more. */
TEST_AROUND(core_service__questions_that_stay_short_are_answered, stranger_setup, stranger_teardown)
{
    ask_and_hear(*state, 1500, 1500);
    for (unsigned i = 1; i < CONNECTION_LONG_ACCEPTS; i++) {
        ask_in_vain(*state, 1228);
    }
    ask_and_hear(*state, 1228, 1228);
}

/** Each, if what answers it is no longer. */
STRANGER_TEST(core_service__answers_each_question)
{
    static const uint16_t lengths[] = {1420, 1500, 1228};
    struct frame_connect body = connect_body(stranger);

    for (unsigned i = 0; i < 3; i++) {
        body.frame_bytes = to_le16(lengths[i]);
        say_connect(stranger, &body);
    }
    round_trip(stranger);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(from_le16(hear_type(stranger, FRAME_ACCEPT)->connect->frame_bytes), 1420);
        assert_int_equal(stranger->heard_bytes, 1420);
    }
    assert_false(hear(stranger));
}

/** Both have asked: this one has opened by the other's CONNECT, and the other by a shorter one. */
STRANGER_TEST(core_service__an_answer_to_an_open_connection_may_be_shorter)
{
    struct core_peer *peer = be_accepted_as_named(stranger);
    struct frame_connect body = connect_body(stranger);

    proof_nonce(stranger->core->proof_key, peer->connection.own_key, stranger->asked);
    body.echoed_key = to_le32(peer->connection.own_key ^ 1); /* of another connection */
    body.frame_bytes = to_le16(1228);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->frame_bytes, 1500);
    body.echoed_key = to_le32(peer->connection.own_key);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->message.frame_bytes, 1228);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

#define JOB UINT64_C(0x100000002)

STRANGER_TEST(core_receive__connect_of_another_job_is_refused)
{
    const uint64_t others[] = {0, 2, UINT64_C(0x100000000)};

    stranger->core->options.job_key = JOB;
    for (unsigned i = 0; i < 3; i++) {
        struct frame_connect body = connect_body(stranger);
        body.job_key = to_le64(others[i]);
        say_connect(stranger, &body);
        round_trip(stranger);
        const struct frame_reset *reset = hear_type(stranger, FRAME_RESET)->reset;
        assert_int_equal(from_le32(reset->reason), FRAME_RESET_JOB);
        assert_int_equal(from_le32(reset->echoed_key), STRANGER_KEY);
        assert_int_equal(stranger->core->peer_count, 0);
    }
    struct frame_connect body = connect_body(stranger);
    body.job_key = to_le64(JOB);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_true(from_le64(hear_type(stranger, FRAME_ACCEPT)->connect->job_key) == JOB);
}

TEST_AROUND(core_receive__accept_of_another_job_does_not_count, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;

    stranger->core->options.job_key = JOB;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, 1000000);
    uint32_t key = from_le32(hear_type(stranger, FRAME_CONNECT)->connect->key);
    struct frame_connect body = connect_body(stranger);
    body.echoed_key = to_le32(key);
    say(stranger, &(struct says){.fields = {.type = FRAME_ACCEPT, .key = key},
                                 .credit = STRANGER_CREDIT,
                                 .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_int_equal(stranger->core->counters.dropped_source, 1);
}

/** Both ask, at once. */
TEST(core_service__to_an_endpoint_of_another_job)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct beowire_completion done;

    assert_non_null(cluster);
    cluster_open(cluster, &wire);
    for (uint32_t i = 0; i < 2; i++) {
        cluster_start(cluster, i);
        cluster->nodes[i].core.options.job_key = JOB + i;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct core_peer *other = cluster_peer(cluster, i, 1 - i);
        assert_int_equal(cluster_send(cluster, i, other, 1, 0, "x", 1, NULL), 0);
    }
    cluster_run(cluster, cluster_now(cluster) + 1000000);
    for (uint32_t i = 0; i < 2; i++) {
        struct message_layer *messages = &cluster->nodes[i].core.messages;
        struct core_peer *other = cluster_peer(cluster, i, 1 - i);
        assert_true(message_complete(messages, &done));
        assert_int_equal(done.status, -EKEYREJECTED);
        assert_int_equal(other->connection.state, CONNECTION_FAILED);
        assert_int_equal(message_send(messages, &other->message, 1, 0, "x", 1, NULL),
                         -EKEYREJECTED);
    }
    cluster_close(cluster);
    free(cluster);
}

/* ---- frames -------------------------------------------------------------------------------- */

/** The lane takes nothing, or everything. */
static void refuse(struct stranger *stranger, bool all)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.refused_ppm = all ? 1000000 : 0;
    sim_wire_set(stranger->cluster.wire, &wire);
}

/** Or the sender would have to ask. */
STRANGER_TEST(core_timers__an_acknowledgement_that_a_lane_refuses_is_not_lost)
{
    (void)be_accepted(stranger);
    say_eager(stranger, 1, "a", 1);
    refuse(stranger, true);
    pass(stranger, 4 * FLOW_ACK_DELAY_NS);
    assert_true(stranger->core->deadline_ns > cluster_now(&stranger->cluster)); /* no spinning */
    refuse(stranger, false);
    pass(stranger, 2 * FLOW_ACK_DELAY_NS);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->acknowledgement, 1);
    pass(stranger, 4 * FLOW_ACK_DELAY_NS);
    assert_false(hear(stranger)); /* once is enough */
}

STRANGER_TEST(core_timers__lane_that_was_busy_is_tried_again_soon)
{
    struct core_peer *peer = be_accepted(stranger);

    refuse(stranger, true);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    round_trip(stranger);
    refuse(stranger, false);
    round_trip(stranger); /* long before a timeout */
    assert_int_equal(hear_type(stranger, FRAME_EAGER)->flags, 0);
}

/** Other peers may have them: nothing of this one is under way that would bring it its turn. */
STRANGER_TEST(core_timers__frames_that_were_used_up_are_looked_for_again)
{
    struct core_peer *peer = be_accepted(stranger);
    struct frame_pool *pool = &stranger->core->messages.frames;
    struct flow_frame *taken = NULL;
    struct flow_frame *frame;

    while ((frame = frame_pool_take(pool, 1)) != NULL) {
        frame->next = taken;
        taken = frame;
    }
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    pass(stranger, 1000000);
    assert_false(hear(stranger));
    while (taken != NULL) {
        frame = taken;
        taken = frame->next;
        frame_pool_give(pool, frame);
    }
    pass(stranger, UINT64_C(2000000));
    (void)hear_type(stranger, FRAME_EAGER);
}

/** Messages go only to who shows that it is there: who has its port now gets questions. */
STRANGER_TEST(core_service__a_peer_that_falls_silent)
{
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    pass(stranger, (uint64_t)SUSPICION_NS + 1000000);
    while (hear(stranger)) {
    }
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "y", 1), 0);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    unsigned probes = 0;
    for (; hear(stranger); probes++) {
        assert_int_equal(stranger->heard.type, FRAME_PROBE);
    }
    assert_true(probes > 0);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_EAGER);
}

STRANGER_TEST(core_acknowledge__at_once)
{
    (void)be_accepted(stranger);
    say_eager(stranger, 1, "a", 1);
    pass(stranger, 21000);
    assert_false(hear(stranger));
    core_acknowledge(stranger->core, cluster_now(&stranger->cluster));
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 21000);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->acknowledgement, 1);
    core_acknowledge(stranger->core, cluster_now(&stranger->cluster));
    pass(stranger, 1000000);
    assert_false(hear(stranger));
}

STRANGER_TEST(core_say_goodbye__to_connected_peers_only)
{
    struct core_peer *peer = NULL;
    const struct beowire_address address = address_of_another(&stranger->address, 1);

    (void)be_accepted(stranger);
    assert_int_equal(core_peer_add(stranger->core, &address, &peer), 0);
    assert_true(core_say_goodbye(stranger->core));
    round_trip(stranger);
    const struct frame *close = hear_type(stranger, FRAME_CLOSE);
    assert_int_equal(close->key, STRANGER_KEY);
    assert_int_equal(close->flags, FRAME_ACK_REQUEST);
    assert_false(hear(stranger));
}

STRANGER_TEST(core_say_goodbye__until_it_is_answered)
{
    (void)be_accepted(stranger);
    assert_true(core_say_goodbye(stranger->core));
    assert_true(core_say_goodbye(stranger->core));
    assert_true(core_has_connections(stranger->core));
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    round_trip(stranger);
    assert_false(core_has_connections(stranger->core));
    assert_false(core_say_goodbye(stranger->core));
    (void)hear_type(stranger, FRAME_CLOSE);
    (void)hear_type(stranger, FRAME_CLOSE);
    assert_false(hear(stranger)); /* an answer is not answered */
}

STRANGER_TEST(core_leave__who_asks_is_told)
{
    const struct frame_probe probe = {.number = to_le32(1)};

    (void)be_accepted(stranger);
    core_leave(stranger->core);
    say(stranger, &(struct says){.fields.type = FRAME_PROBE, .credit = 16, .body = &probe});
    round_trip(stranger);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->flags, FRAME_LEAVING);
    say_eager(stranger, 1, "a", 1); /* nobody will receive it, and that is no secret */
    pass(stranger, 1000000);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->flags, FRAME_LEAVING);
}

/** As long as a frame that says so has not left, what was received might be taken for lost. */
STRANGER_TEST(core_leave__not_before_what_was_answered)
{
    struct core_peer *peer = be_accepted(stranger);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    core_leave(stranger->core);
    wire.refused_ppm = 1000000;
    sim_wire_set(stranger->cluster.wire, &wire);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    wire.refused_ppm = 0;
    sim_wire_set(stranger->cluster.wire, &wire);
    control_send_ack(stranger->core, peer, 0, cluster_now(&stranger->cluster));
    round_trip(stranger);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->flags, 0);
    (void)hear_type(stranger, FRAME_EAGER);
}
