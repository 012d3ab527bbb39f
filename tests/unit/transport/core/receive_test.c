/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core.h"

#include "stranger.h"

/* ---- peers --------------------------------------------------------------------------------- */

STRANGER_TEST(core_receive__accept_again_when_the_flow_has_moved)
{
    struct core_peer *peer = be_accepted(stranger);
    struct frame_connect body = connect_body(stranger);

    say_eager(stranger, 1, "a", 1);
    pass(stranger, 1000000);
    (void)hear_type(stranger, FRAME_ACK);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_int_equal(hear_type(stranger, FRAME_ACCEPT)->credit, FLOW_INITIAL_CREDIT_FRAMES);
    assert_int_equal(peer->message.flow.expected, 1);
    assert_int_equal(peer->message.flow.limit, STRANGER_CREDIT);
}

/** Nothing says that anybody is there. */
STRANGER_TEST(core_receive__connect_without_proof_is_not_answered)
{
    struct frame_connect body = connect_body(stranger);

    stranger->guesses = true;
    say_connect(stranger, &body);
    body.expected_incarnation = to_le64(0); /* whoever is there */
    say_connect(stranger, &body);
    body.job_key = to_le64(77);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_proof, 3);
    assert_int_equal(stranger->core->peer_count, 0);
}

/** It knows the secret, and says another name. */
STRANGER_TEST(core_receive__connect_for_another_incarnation)
{
    struct frame_connect body = connect_body(stranger);

    body.expected_incarnation = to_le64(stranger->core->incarnation + 1);
    say_connect(stranger, &body);
    body.expected_incarnation = to_le64(0);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_proof, 2);
}

/** A CONNECT that somebody has recorded, with something else in it. */
STRANGER_TEST(core_receive__connect_that_was_altered)
{
    struct frame_connect body = connect_body(stranger);
    uint8_t wire[1500] = {0};

    frame_encode(wire, &(struct frame_fields){.type = FRAME_CONNECT,
                                              .destination = CLUSTER_ENDPOINT,
                                              .source = CLUSTER_ENDPOINT});
    memcpy(wire + sizeof(struct frame_header), &body, sizeof body);
    proof_write(wire, address_layout(&stranger->core->options.address)->secret, NULL);
    wire[sizeof(struct frame_header) + offsetof(struct frame_connect, features)] ^= 2;
    say_raw(stranger, wire, sizeof wire);
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_proof, 1);
}

/** Whoever guesses keys does not make the core believe that its peer has answered. */
TEST_AROUND(core_receive__accept_without_proof_is_ignored, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = NULL;
    struct frame_connect body = connect_body(stranger);

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    core_connect(stranger->core, peer, cluster_now(&stranger->cluster));
    round_trip(stranger);
    const struct frame *asked = hear_type(stranger, FRAME_CONNECT);
    body.echoed_key = asked->connect->key;
    stranger->core_key = from_le32(asked->connect->key);
    stranger->guesses = true;
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    stranger->guesses = false;
    stranger->asked[3] ^= 1; /* the answer to another question */
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_int_equal(stranger->core->counters.dropped_proof, 2);
    stranger->asked[3] ^= 1;
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
}

/** Until it is known that the peer is where it says it is. */
TEST_AROUND(core_receive__only_answers_go_to_a_place_before_it_is_heard, stranger_setup,
            stranger_teardown)
{
    static const uint8_t text[3000] = {0};
    struct stranger *stranger = *state;
    struct frame_connect body = connect_body(stranger);
    unsigned accepts = 0;

    say_connect(stranger, &body);
    round_trip(stranger);
    struct core_peer *peer = stranger->core->peers[0];
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, text, sizeof text, NULL), 0);
    pass(stranger, PEER_TIMEOUT_NS / 2);
    while (hear(stranger)) {
        accepts += stranger->heard.type == FRAME_ACCEPT;
        assert_true(stranger->heard.type == FRAME_ACCEPT);
    }
    assert_int_equal(accepts, 1);
    assert_false(peer->message.ready);
    pass(stranger, HALF_OPEN_TIMEOUTS * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
}

STRANGER_TEST(core_receive__connect_that_lies)
{
    const struct frame_connect honest = connect_body(stranger);
    struct frame_connect body = honest;

    body.place[offsetof(struct address_layout, rail[0].mac)] ^= 2;
    say_connect(stranger, &body);
    body = honest;
    body.place[offsetof(struct address_layout, endpoint)] ^= 1;
    say_connect(stranger, &body);
    body = honest;
    body.incarnation = to_le64(stranger->incarnation + 1);
    say_connect(stranger, &body);
    body = honest;
    body.place[0] = 99; /* no valid address */
    say_connect(stranger, &body);
    say_connect_of(stranger, &honest, 0); /* promises longer frames than it is one */
    say_connect_of(stranger, &honest, from_le16(honest.frame_bytes) - 1u);
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_source, 6);
    assert_int_equal(stranger->core->peer_count, 0);
}

STRANGER_TEST(core_receive__connect_after_failure_is_refused)
{
    struct frame_connect body = connect_body(stranger);

    (void)be_accepted(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_RESET)->reset->reason),
                     FRAME_RESET_UNKNOWN);
}

STRANGER_TEST(core_receive__every_drop_has_its_counter)
{
    const struct core_counters *counters = &stranger->core->counters;
    uint8_t bad[1500] = {0};

    (void)be_accepted(stranger);
    say_raw(stranger, bad, 3);
    say_raw(stranger, bad, 100);
    frame_encode(bad, &(struct frame_fields){.type = FRAME_ACK});
    bad[1] = 99;
    say_raw(stranger, bad, 28);
    bad[1] = FRAME_ACK;
    bad[3] = 0x80;
    say_raw(stranger, bad, 28);
    frame_encode(bad, &(struct frame_fields){.type = FRAME_FRAGMENT});
    say_raw(stranger, bad, 40);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1});
    say_eager(stranger, 1, "a", 1);
    stranger->sequence = 0;
    say_eager(stranger, 1, "a", 1); /* sequence 0 again: `say` counts on from it */
    const struct frame_eager eager = {.tag = to_le64(1)};
    say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .sequence = 9}, .body = &eager});
    say(stranger, &(struct says){.fields = {.type = FRAME_ACK, .key = 77}});
    round_trip(stranger);
    assert_int_equal(counters->dropped[FRAME_BAD_LENGTH], 1);
    assert_int_equal(counters->dropped[FRAME_BAD_VERSION], 1);
    assert_int_equal(counters->dropped[FRAME_BAD_TYPE], 1);
    assert_int_equal(counters->dropped[FRAME_BAD_FLAGS], 1);
    assert_int_equal(counters->dropped[FRAME_BAD_FIELD], 1);
    assert_int_equal(counters->dropped_acknowledgement, 1);
    assert_int_equal(counters->dropped_duplicate, 1);
    assert_int_equal(counters->dropped_key, 1); /* of a gap: only go-back-N drops */
}

STRANGER_TEST(core_receive__sent_without_credit)
{
    struct core_peer *peer = be_accepted(stranger);
    const struct flow *flow = &peer->message.flow;
    uint32_t probes = 0;

    /* Nobody receives: the receiver's memory fills up, more and more of it as the sender asks. */
    while (flow->expected != flow->granted) {
        say_eager(stranger, 1, "a", 1);
        round_trip(stranger);
        if (flow->expected == flow->granted) {
            const struct frame_probe body = {.number = to_le32(++probes)};
            say(stranger,
                &(struct says){.fields = {.type = FRAME_PROBE, .sequence = stranger->sequence},
                               .body = &body});
            round_trip(stranger);
        }
    }
    uint64_t unexpected = stranger->core->messages.counters.unexpected_messages;
    say_eager(stranger, 1, "a", 1);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_overrun, 1);
    assert_int_equal(stranger->core->messages.counters.unexpected_messages, unexpected);
    assert_int_equal(peer->message.chunks, MESSAGE_CHUNKS + MESSAGE_PEER_CHUNKS);
}

STRANGER_TEST(core_receive__key_of_nobody_is_reset)
{
    say(stranger, &(struct says){.fields = {.type = FRAME_PROBE, .key = 0x55}});
    round_trip(stranger);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_RESET)->reset->echoed_key), 0x55);
    say(stranger, &(struct says){.fields = {.type = FRAME_CLOSE, .key = 0x55}});
    round_trip(stranger);
    assert_false(hear(stranger)); /* it is over anyway */
}

STRANGER_TEST(core_receive__reset_is_never_answered)
{
    const struct frame_reset reset = {.echoed_key = to_le32(5)};

    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_key, 1);
}

TEST_AROUND(core_receive__reset_ends_the_connection, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted(stranger);
    const struct frame_reset guessed = {.echoed_key = to_le32(stranger->core_key)};
    const struct frame_reset reset = {.echoed_key = to_le32(STRANGER_KEY),
                                      .reason = to_le32(FRAME_RESET_UNKNOWN)};

    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &guessed});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -ECONNRESET);
}

TEST_AROUND(core_receive__key_is_right_and_the_sender_is_not, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    uint8_t wire[28];

    (void)be_accepted(stranger);
    frame_encode(wire, &(struct frame_fields){.type = FRAME_CLOSE,
                                              .destination = CLUSTER_ENDPOINT,
                                              .source = CLUSTER_ENDPOINT + 1,
                                              .key = stranger->core_key});
    say_raw(stranger, wire, sizeof wire);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_source, 1);
    assert_int_equal(stranger->core->peers[0]->connection.state, CONNECTION_OPEN);
}

TEST_AROUND(core_receive__broken_rule_ends_the_connection, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted(stranger);
    const struct frame_done done = {.message = to_le32(3)};

    say(stranger, &(struct says){.fields.type = FRAME_DONE, .body = &done});
    round_trip(stranger);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_RESET)->reset->reason),
                     FRAME_RESET_PROTOCOL);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->message.error, -EPROTO);
    assert_int_equal(peer->message.chunks, 0);
}

STRANGER_TEST(core_receive__frames_for_a_failed_peer_are_reset)
{
    (void)be_accepted(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    say(stranger, &(struct says){.fields.type = FRAME_PROBE});
    round_trip(stranger);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_RESET)->reset->reason),
                     FRAME_RESET_UNKNOWN);
    assert_int_equal(stranger->core->counters.dropped_state, 1);
}

TEST_AROUND(core_receive__close_is_answered_as_often_as_it_is_said, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted(stranger);
    const struct frame_eager eager = {.tag = to_le64(1)};

    say(stranger, &(struct says){.fields.type = FRAME_EAGER, .body = &eager});
    for (unsigned i = 0; i < 3; i++) { /* as if our answers were lost */
        say(stranger, &(struct says){.fields.type = FRAME_CLOSE, .flags = FRAME_ACK_REQUEST});
        round_trip(stranger);
        const struct frame *answer = hear_type(stranger, FRAME_CLOSE);
        assert_int_equal(answer->flags, 0); /* or each would answer the other for ever */
        assert_int_equal(answer->acknowledgement, 1);
        assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    }
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    round_trip(stranger);
    assert_false(hear(stranger));
    assert_int_equal(stranger->core->counters.dropped_state, 0); /* none was out of place */
}

STRANGER_TEST(core_receive__frame_longer_than_the_lane_s)
{
    uint8_t wire[1600] = {0};
    struct frame_eager eager = {.message_bytes = to_le32(1554)};

    (void)be_accepted(stranger);
    stranger->cluster.nodes[0].lanes.lanes[0]->frame_bytes =
        1000; /* what the core says and has room for */
    frame_encode(wire, &(struct frame_fields){.type = FRAME_EAGER,
                                              .destination = CLUSTER_ENDPOINT,
                                              .source = CLUSTER_ENDPOINT,
                                              .key = stranger->core_key,
                                              .payload_bytes = 955});
    eager.message_bytes = to_le32(955);
    memcpy(wire + 28, &eager, sizeof eager);
    say_raw(stranger, wire, 1001);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped[FRAME_BAD_LENGTH], 1);
    assert_int_equal(stranger->core->messages.counters.unexpected_messages, 0);
}

STRANGER_TEST(core_receive__empty_frames)
{
    for (unsigned i = 0; i < 3; i++) {
        say_raw(stranger, "", 0);
    }
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped[FRAME_BAD_LENGTH], 3);
}

STRANGER_TEST(core_receive__peers_with_shorter_frames)
{
    struct frame_connect body = connect_body(stranger);
    uint8_t data[1000] = {0};

    body.frame_bytes = to_le16(400);
    say_connect(stranger, &body);
    round_trip(stranger);
    stranger->core_key = from_le32(hear_type(stranger, FRAME_ACCEPT)->connect->key);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .credit = STRANGER_CREDIT});
    round_trip(stranger);
    assert_int_equal(
        cluster_send(&stranger->cluster, 0, stranger->core->peers[0], 1, 0, data, 1000, NULL), 0);
    pass(stranger, 30000);
    assert_int_equal(hear_type(stranger, FRAME_EAGER)->payload_bytes, 400 - 46);
    assert_int_equal(hear_type(stranger, FRAME_FRAGMENT)->payload_bytes, 400 - 40);
    assert_int_equal(hear_type(stranger, FRAME_FRAGMENT)->payload_bytes, 1000 - 354 - 360);
    assert_false(hear(stranger));
}

STRANGER_TEST(core_receive__traffic_that_never_pauses_stops_no_clock)
{
    struct core_peer *silent = NULL;
    struct beowire_address address = address_of_another(&stranger->address, 1);
    uint64_t connects;

    (void)be_accepted(stranger);
    address.bytes[offsetof(struct address_layout, rail[0].mac) + 4] ^= 1;
    assert_int_equal(core_peer_add(stranger->core, &address, &silent), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, silent, 1, 0, "x", 1, NULL), 0);
    connects = stranger->core->counters.sent[FRAME_CONNECT];
    for (unsigned i = 0; i < 1000; i++) {
        say(stranger, &(struct says){.fields.type = FRAME_ACK});
        sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
        assert_int_not_equal(look(stranger), 0);
    }
    assert_true(stranger->core->counters.sent[FRAME_CONNECT] > connects);
}

/** Says a message of one byte, tag 1, as the frame with this sequence. */
static void say_byte(struct stranger *stranger, uint32_t sequence, char byte)
{
    const struct frame_eager eager = {.tag = to_le64(1), .message_bytes = to_le32(1)};

    stranger->sequence = sequence;
    say(stranger,
        &(struct says){.fields = {.type = FRAME_EAGER, .sequence = sequence, .payload_bytes = 1},
                       .body = &eager,
                       .payload = &byte});
}

STRANGER_TEST(core_receive__keeps_what_is_early_and_says_so)
{
    char buffer[3];
    struct beowire_completion done;

    (void)be_accepted(stranger);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, &buffer[i], 1, NULL),
                         0);
    }
    say_byte(stranger, 2, 'c');
    say_byte(stranger, 1, 'b');
    round_trip(stranger);
    const struct frame *sack = hear_type(stranger, FRAME_SACK);
    while (hear(stranger)) {
        sack = &stranger->heard; /* the last says it all */
    }
    assert_int_equal(sack->acknowledgement, 0);
    assert_int_equal(from_le32(sack->sack->upto), 3);
    assert_int_equal(sack->sack->received[0], 3);
    assert_false(message_complete(&stranger->core->messages, &done));
    say_byte(stranger, 0, 'a');
    round_trip(stranger);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->acknowledgement, 3);
    assert_memory_equal(buffer, "abc", 3);
    say_byte(stranger, 2, 'c'); /* once is enough */
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_duplicate, 1);
}

STRANGER_TEST(core_receive__go_back_n_keeps_nothing)
{
    struct frame_connect body = connect_body(stranger);

    body.features = to_le32(0);
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *accept = hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(from_le32(accept->connect->features), 0);
    stranger->core_key = from_le32(accept->connect->key);
    say_byte(stranger, 1, 'b');
    round_trip(stranger);
    assert_true(stranger->core->peers[0]->message.flow.go_back_n);
    const struct frame *sack = hear_type(stranger, FRAME_SACK);
    assert_int_equal(from_le32(sack->sack->upto), 2);
    assert_int_equal(sack->sack->received[0], 0);
    assert_int_equal(stranger->core->counters.dropped_gap, 1);
    assert_null(stranger->core->peers[0]->message.reordered);
}

/** What a PROBE asks for may have come with it, and more than one receive() takes. */
STRANGER_TEST(core_receive__probe_is_answered_when_all_has_been_taken)
{
    const struct frame_probe body = {.number = to_le32(1)};

    (void)be_accepted(stranger);
    for (unsigned i = 1; i < ENDPOINT_RECEIVE_FRAMES; i++) {
        say(stranger, &(struct says){.fields.type = FRAME_ACK});
    }
    say(stranger, &(struct says){.fields = {.type = FRAME_PROBE, .sequence = 4}, .body = &body});
    for (unsigned i = 0; i < 4; i++) {
        say_eager(stranger, i, "a", 1);
    }
    round_trip(stranger);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->acknowledgement, 4);
    assert_false(hear(stranger));
}

/** A copy of a PROBE is no second question: it makes no more room for what nobody takes. */
STRANGER_TEST(core_receive__a_probe_makes_room_once)
{
    const struct frame_probe body = {.number = to_le32(1)};
    struct message_peer *peer = &be_accepted(stranger)->message;

    while (peer->flow.granted != peer->flow.expected) {
        say_eager(stranger, 1, "a", 1);
        round_trip(stranger);
    }
    assert_int_equal(peer->pile_frames, MESSAGE_PILE_FRAMES);
    say(stranger, &(struct says){.fields.type = FRAME_PROBE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->pile_frames, 4 * MESSAGE_PILE_FRAMES);
    while (peer->flow.granted != peer->flow.expected) {
        say_eager(stranger, 1, "a", 1);
        round_trip(stranger);
    }
    say(stranger, &(struct says){.fields.type = FRAME_PROBE, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->pile_frames, 4 * MESSAGE_PILE_FRAMES);
}

TEST_AROUND(core_receive__rule_broken_by_what_was_kept, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    const struct frame_done done = {.message = to_le32(3)}; /* nothing was announced */

    struct core_peer *peer = be_accepted(stranger);
    say(stranger, &(struct says){.fields = {.type = FRAME_DONE, .sequence = 1}, .body = &done});
    say_byte(stranger, 2, 'c');
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    say_byte(stranger, 0, 'a');
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->connection.error, -EPROTO);
    assert_null(peer->message.reordered);
    cluster_check(&stranger->cluster);
}

STRANGER_TEST(core_receive__sack_of_what_was_never_sent)
{
    struct core_peer *peer = be_accepted(stranger);

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    say_nothing_came(stranger, 2, 0);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_acknowledgement, 1);
}

/** A frame by which the stranger says that it receives no more than what it has answered before. */
static void say_leaving(struct stranger *stranger, uint32_t sequence)
{
    say(stranger, &(struct says){.fields = {.type = FRAME_ACK, .sequence = sequence},
                                 .flags = FRAME_LEAVING,
                                 .acknowledgement = 1,
                                 .credit = STRANGER_CREDIT});
    round_trip(stranger);
}

STRANGER_TEST(core_receive__who_leaves_gets_no_more)
{
    static const uint8_t data[300000];
    struct core_peer *peer = be_accepted(stranger);
    struct beowire_completion done;
    char buffer[1];
    int context = 0;

    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, data, sizeof data, &context),
                     0);
    round_trip(stranger);
    say_leaving(stranger, 1); /* a frame of its is missing, which may be DONE */
    assert_false(message_complete(&stranger->core->messages, &done));
    assert_false(stranger->core->undelivered);
    say_eager(stranger, 7, "a", 1);
    say_leaving(stranger, 1);
    assert_ptr_equal(completed(stranger).context, &context);
    assert_true(stranger->core->undelivered);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), -ECONNRESET);
    assert_true(core_is_flushed(stranger->core));
    /* What it has sent, and still sends, can be received. */
    say_eager(stranger, 8, "b", 1);
    round_trip(stranger);
    for (uint64_t tag = 7; tag <= 8; tag++) {
        assert_int_equal(cluster_receive(&stranger->cluster, 0, peer, tag, 0, buffer, 1, NULL), 0);
        assert_int_equal(completed(stranger).status, 0);
    }
}
