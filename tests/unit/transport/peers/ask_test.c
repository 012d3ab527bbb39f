/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of which it is not sure who they are, and who are therefore asked. */
#include "unit/transport/core/stranger.h"

/** The stranger answers the question that was heard last. */
static void answer_question(struct stranger *stranger, uint32_t key)
{
    struct frame_connect body = connect_body(stranger);

    body.key = to_le32(key);
    body.echoed_key = to_le32(stranger->core_key);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT,
                                 .credit = STRANGER_CREDIT,
                                 .body = &body,
                                 .padded_bytes = 1500});
    round_trip(stranger);
}

/** Waits for the core's question, whatever else it says. */
static void hear_question(struct stranger *stranger)
{
    bool heard = false;

    for (unsigned i = 0; i < 10 && !heard; i++) {
        pass(stranger, 1000000);
        while (!heard && hear(stranger)) {
            heard = stranger->heard.type == FRAME_CONNECT;
        }
    }
    assert_true(heard);
    stranger->core_key = from_le32(stranger->heard.connect->key);
}

/** Somebody who knows our secret, and no more, asks in the name and from the place of a peer that
 *  the application has named: the peer itself refuses what that was answered, and yet connects. */
TEST_AROUND(core_ask_who_it_is__asked_in_the_name_of_another, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;
    const struct frame_reset reset = {.echoed_key = to_le32(STRANGER_KEY + 1),
                                      .reason = to_le32(FRAME_RESET_UNKNOWN)};

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    body.key = to_le32(STRANGER_KEY + 1);
    say_connect(stranger, &body);
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_ACCEPT);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_ANSWERED);
    assert_false(connection_is_in_earnest(&peer->connection)); /* nothing of ours waits for it */
    hear_question(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    answer_question(stranger, STRANGER_KEY);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->message.key, STRANGER_KEY);
    assert_true(peer->message.ready);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(stranger->core->counters.dropped_key, 1); /* the key is nobody's any more */
}

/** The peer had asked once before, and has forgotten that. */
TEST_AROUND(core_ask_who_it_is__asked_again_with_another_key, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    say_connect(stranger, &body);
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_ACCEPT);
    body.key = to_le32(STRANGER_KEY + 1);
    say_connect(stranger, &body);
    round_trip(stranger);
    hear_question(stranger);
    answer_question(stranger, STRANGER_KEY + 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->message.key, STRANGER_KEY + 1);
}

/** One that nobody has named cannot be asked: it is believed. */
STRANGER_TEST(core_ask_who_it_is__reset_by_one_that_nobody_has_named)
{
    const struct frame_connect body = connect_body(stranger);
    const struct frame_reset reset = {.echoed_key = to_le32(STRANGER_KEY),
                                      .reason = to_le32(FRAME_RESET_UNKNOWN)};

    say_connect(stranger, &body);
    round_trip(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.peers_failed, 1);
}
