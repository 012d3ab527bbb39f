/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/connection.h"

#include "tuning.h"
#include "unit/test.h"

#include <errno.h>

#define OWN_KEY 11
#define PEER_KEY 22
#define NONCE "the nonce: 16 B"
#define NOW_NS UINT64_C(1000)

static struct connection fresh(enum connection_state state)
{
    struct connection connection;

    connection_init(&connection, OWN_KEY);
    connection.state = state;
    if (state == CONNECTION_OPEN || state == CONNECTION_ANSWERED) {
        connection.peer_key = PEER_KEY;
    }
    connection.asks = state == CONNECTION_ASKING;
    return connection;
}

static enum connection_event receive_connect(struct connection *connection, enum frame_type type,
                                             uint32_t key, uint32_t echoed)
{
    struct frame_connect body = {.key = to_le32(key), .echoed_key = to_le32(echoed)};

    memcpy(body.nonce, NONCE, sizeof body.nonce);
    return connection_receive(connection, &(struct frame){.type = type, .connect = &body}, NOW_NS);
}

static enum connection_event receive_reset(struct connection *connection, uint32_t echoed,
                                           enum frame_reset_reason reason)
{
    const struct frame_reset body = {.echoed_key = to_le32(echoed), .reason = to_le32(reason)};

    return connection_receive(connection, &(struct frame){.type = FRAME_RESET, .reset = &body},
                              NOW_NS);
}

TEST(connection_ask__begins_at_once)
{
    struct connection connection = fresh(CONNECTION_NONE);

    assert_int_equal(connection_deadline(&connection), UINT64_MAX);
    connection_ask(&connection, NOW_NS);
    assert_int_equal(connection.state, CONNECTION_ASKING);
    assert_int_equal(connection_deadline(&connection), NOW_NS);
    assert_true(connection_ask_due(&connection, NOW_NS));
    assert_false(connection_ask_due(&connection, NOW_NS));
}

TEST(connection_ask__twice_does_not_begin_anew)
{
    struct connection connection = fresh(CONNECTION_NONE);

    connection_ask(&connection, NOW_NS);
    connection_ask(&connection, 2 * NOW_NS);
    assert_int_equal(connection.asking_since_ns, NOW_NS);
}

TEST(connection_ask__open_stays_open)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    connection_ask(&connection, NOW_NS);
    assert_int_equal(connection.state, CONNECTION_OPEN);
    assert_false(connection_ask_due(&connection, UINT64_MAX));
}

TEST(connection_ask_due__pauses_double_up_to_a_bound)
{
    struct connection connection = fresh(CONNECTION_NONE);
    uint64_t now_ns = NOW_NS;
    uint64_t pause_ns = CONNECTION_RETRY_NS;

    connection_ask(&connection, now_ns);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(connection_ask_due(&connection, now_ns));
        assert_false(connection_ask_due(&connection, now_ns + pause_ns - 1));
        assert_int_equal(connection_deadline(&connection), now_ns + pause_ns);
        now_ns += pause_ns;
        pause_ns = 2 * pause_ns < FLOW_BACKOFF_MAX_NS ? 2 * pause_ns : FLOW_BACKOFF_MAX_NS;
    }
}

TEST(connection_ask__who_was_asked_waits_a_moment)
{
    struct connection connection = fresh(CONNECTION_ANSWERED);

    assert_int_equal(connection_deadline(&connection), UINT64_MAX);
    connection_ask(&connection, NOW_NS);
    assert_int_equal(connection.state, CONNECTION_ANSWERED);
    assert_false(connection_ask_due(&connection, NOW_NS));
    assert_true(connection_ask_due(&connection, NOW_NS + CONNECTION_RETRY_NS));
}

TEST(connection_receive__connect_is_answered)
{
    const enum connection_state before[] = {CONNECTION_NONE, CONNECTION_ASKING};

    for (unsigned i = 0; i < 2; i++) {
        struct connection connection = fresh(before[i]);
        assert_int_equal(receive_connect(&connection, FRAME_CONNECT, PEER_KEY, 0),
                         CONNECTION_BEGUN);
        assert_int_equal(connection.state, CONNECTION_ANSWERED);
        assert_int_equal(connection.peer_key, PEER_KEY);
        assert_memory_equal(connection.peer_nonce, NONCE, FRAME_NONCE_BYTES);
        assert_int_equal(connection.asks, before[i] == CONNECTION_ASKING);
        assert_int_equal(connection.answered_ns, NOW_NS);
    }
}

TEST(connection_receive__connect_again_changes_nothing)
{
    const enum connection_state before[] = {CONNECTION_ANSWERED, CONNECTION_OPEN,
                                            CONNECTION_FAILED};

    for (unsigned i = 0; i < 3; i++) {
        struct connection connection = fresh(before[i]);
        assert_int_equal(receive_connect(&connection, FRAME_CONNECT, 99, 0), CONNECTION_NOTHING);
        assert_int_equal(connection.state, before[i]);
        assert_int_not_equal(connection.peer_key, 99);
    }
}

TEST(connection_heard__opens_what_was_answered)
{
    struct connection connection = fresh(CONNECTION_ANSWERED);

    connection_ask(&connection, NOW_NS);
    assert_true(connection_heard(&connection));
    assert_int_equal(connection.state, CONNECTION_OPEN);
    assert_false(connection.asks);
    assert_false(connection_heard(&connection));
}

TEST(connection_receive__accept_opens_who_asked)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, PEER_KEY, OWN_KEY),
                     CONNECTION_BEGUN);
    assert_int_equal(connection.state, CONNECTION_OPEN);
    assert_int_equal(connection.peer_key, PEER_KEY);
    assert_memory_equal(connection.peer_nonce, NONCE, FRAME_NONCE_BYTES);
    assert_false(connection.asks);
}

TEST(connection_receive__accept_of_another_question)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, PEER_KEY, OWN_KEY + 1),
                     CONNECTION_NOTHING);
    assert_int_equal(connection.state, CONNECTION_ASKING);
}

TEST(connection_receive__accept_nobody_asked_for)
{
    const enum connection_state before[] = {CONNECTION_NONE, CONNECTION_OPEN, CONNECTION_FAILED};

    for (unsigned i = 0; i < 3; i++) {
        struct connection connection = fresh(before[i]);
        assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, 99, OWN_KEY),
                         CONNECTION_NOTHING);
        assert_int_equal(connection.state, before[i]);
        assert_int_not_equal(connection.peer_key, 99);
    }
}

TEST(connection_receive__reset_that_echoes_our_question)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    assert_int_equal(receive_reset(&connection, OWN_KEY, FRAME_RESET_UNKNOWN), CONNECTION_BROKEN);
    assert_int_equal(connection.state, CONNECTION_FAILED);
    assert_int_equal(connection.error, -ECONNRESET);
}

TEST(connection_receive__reset_that_echoes_the_peers_key)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    assert_int_equal(receive_reset(&connection, PEER_KEY, FRAME_RESET_PROTOCOL), CONNECTION_BROKEN);
    assert_int_equal(connection.error, -EPROTO);
    connection = fresh(CONNECTION_ANSWERED);
    assert_int_equal(receive_reset(&connection, PEER_KEY, FRAME_RESET_UNKNOWN), CONNECTION_BROKEN);
}

TEST(connection_receive__reset_of_another_job)
{
    struct connection connection;

    connection_init(&connection, OWN_KEY);
    connection_ask(&connection, 1);
    assert_int_equal(receive_reset(&connection, OWN_KEY, FRAME_RESET_JOB), CONNECTION_BROKEN);
    assert_int_equal(connection.error, -EKEYREJECTED);
}

TEST(connection_receive__reset_by_who_does_not_know_seals)
{
    struct connection connection;

    connection_init(&connection, OWN_KEY);
    connection_ask(&connection, 1);
    assert_int_equal(receive_reset(&connection, OWN_KEY, FRAME_RESET_SEAL), CONNECTION_BROKEN);
    assert_int_equal(connection.error, -EPROTONOSUPPORT);
}

TEST(connection_receive__reset_by_who_has_seen_nothing)
{
    struct connection open = fresh(CONNECTION_OPEN);
    struct connection asking = fresh(CONNECTION_ASKING);
    struct connection none = fresh(CONNECTION_NONE);

    assert_int_equal(receive_reset(&open, OWN_KEY, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(receive_reset(&asking, 0, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(receive_reset(&none, 0, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(open.state, CONNECTION_OPEN);
}

TEST(connection_receive__close_ends_an_open_one_only)
{
    struct connection open = fresh(CONNECTION_OPEN);
    struct connection asking = fresh(CONNECTION_ASKING);
    const struct frame close = {.type = FRAME_CLOSE};

    assert_int_equal(connection_receive(&open, &close, NOW_NS), CONNECTION_BROKEN);
    assert_int_equal(open.error, -ECONNRESET);
    assert_int_equal(connection_receive(&asking, &close, NOW_NS), CONNECTION_NOTHING);
}

TEST(connection_receive__other_frames_change_nothing)
{
    for (unsigned type = FRAME_ACK; type <= FRAME_DONE; type++) {
        struct connection connection = fresh(CONNECTION_OPEN);
        assert_int_equal(connection_receive(&connection, &(struct frame){.type = type}, NOW_NS),
                         CONNECTION_NOTHING);
        assert_int_equal(connection.state, CONNECTION_OPEN);
    }
}

TEST(connection_fail__the_first_error_stays)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    connection.asks = true;
    assert_int_equal(connection_fail(&connection, -ETIMEDOUT), CONNECTION_BROKEN);
    assert_int_equal(connection_fail(&connection, -EPROTO), CONNECTION_NOTHING);
    assert_int_equal(connection.error, -ETIMEDOUT);
    assert_false(connection.asks);
}
