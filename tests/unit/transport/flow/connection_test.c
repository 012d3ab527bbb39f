/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/connection.h"

#include "tuning.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define OWN_KEY 11
#define PEER_KEY 22
#define NOW_NS UINT64_C(1000)

static struct connection fresh(enum connection_state state)
{
    struct connection connection;

    connection_init(&connection, OWN_KEY);
    connection.state = state;
    if (state == CONNECTION_OPEN) {
        connection.peer_key = PEER_KEY;
    }
    return connection;
}

static enum connection_event receive_connect(struct connection *connection, enum frame_type type,
                                             uint32_t key, uint32_t echoed)
{
    const struct frame_connect body = {.key = to_le32(key), .echoed_key = to_le32(echoed)};

    return connection_receive(connection, &(struct frame){.type = type, .connect = &body});
}

static enum connection_event receive_reset(struct connection *connection, uint32_t echoed,
                                           enum frame_reset_reason reason)
{
    const struct frame_reset body = {.echoed_key = to_le32(echoed), .reason = to_le32(reason)};

    return connection_receive(connection, &(struct frame){.type = FRAME_RESET, .reset = &body});
}

static void connection_ask__begins_at_once(void **state)
{
    struct connection connection = fresh(CONNECTION_NONE);

    (void)state;
    assert_int_equal(connection_deadline(&connection), UINT64_MAX);
    connection_ask(&connection, NOW_NS);
    assert_int_equal(connection.state, CONNECTION_ASKING);
    assert_int_equal(connection_deadline(&connection), NOW_NS);
    assert_true(connection_ask_due(&connection, NOW_NS));
    assert_false(connection_ask_due(&connection, NOW_NS));
}

static void connection_ask__twice_does_not_begin_anew(void **state)
{
    struct connection connection = fresh(CONNECTION_NONE);

    (void)state;
    connection_ask(&connection, NOW_NS);
    connection_ask(&connection, 2 * NOW_NS);
    assert_int_equal(connection.asking_since_ns, NOW_NS);
}

static void connection_ask__open_stays_open(void **state)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    (void)state;
    connection_ask(&connection, NOW_NS);
    assert_int_equal(connection.state, CONNECTION_OPEN);
    assert_false(connection_ask_due(&connection, UINT64_MAX));
}

static void connection_ask_due__pauses_double_up_to_a_bound(void **state)
{
    struct connection connection = fresh(CONNECTION_NONE);
    uint64_t now_ns = NOW_NS;
    uint64_t pause_ns = CONNECTION_RETRY_NS;

    (void)state;
    connection_ask(&connection, now_ns);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(connection_ask_due(&connection, now_ns));
        assert_false(connection_ask_due(&connection, now_ns + pause_ns - 1));
        assert_int_equal(connection_deadline(&connection), now_ns + pause_ns);
        now_ns += pause_ns;
        pause_ns = 2 * pause_ns < FLOW_BACKOFF_MAX_NS ? 2 * pause_ns : FLOW_BACKOFF_MAX_NS;
    }
}

static void connection_receive__connect_opens_and_is_answered(void **state)
{
    const enum connection_state before[] = {CONNECTION_NONE, CONNECTION_ASKING};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct connection connection = fresh(before[i]);
        assert_int_equal(receive_connect(&connection, FRAME_CONNECT, PEER_KEY, 0),
                         CONNECTION_OPENED);
        assert_int_equal(connection.state, CONNECTION_OPEN);
        assert_int_equal(connection.peer_key, PEER_KEY);
        assert_true(connection.accept_owed);
        assert_int_equal(connection_deadline(&connection), 0);
    }
}

static void connection_receive__connect_again_is_answered_again(void **state)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    (void)state;
    assert_int_equal(receive_connect(&connection, FRAME_CONNECT, PEER_KEY, 0), CONNECTION_NOTHING);
    assert_true(connection.accept_owed);
}

static void connection_receive__connect_with_another_key_changes_nothing(void **state)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    (void)state;
    assert_int_equal(receive_connect(&connection, FRAME_CONNECT, 99, 0), CONNECTION_NOTHING);
    assert_false(connection.accept_owed);
    assert_int_equal(connection.peer_key, PEER_KEY);
}

static void connection_receive__connect_after_failure_changes_nothing(void **state)
{
    struct connection connection = fresh(CONNECTION_FAILED);

    (void)state;
    assert_int_equal(receive_connect(&connection, FRAME_CONNECT, PEER_KEY, 0), CONNECTION_NOTHING);
    assert_int_equal(connection.state, CONNECTION_FAILED);
    assert_false(connection.accept_owed);
}

static void connection_receive__accept_opens_who_asked(void **state)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    (void)state;
    assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, PEER_KEY, OWN_KEY),
                     CONNECTION_OPENED);
    assert_int_equal(connection.peer_key, PEER_KEY);
    assert_false(connection.accept_owed);
}

static void connection_receive__accept_of_another_question(void **state)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    (void)state;
    assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, PEER_KEY, OWN_KEY + 1),
                     CONNECTION_NOTHING);
    assert_int_equal(connection.state, CONNECTION_ASKING);
}

static void connection_receive__accept_nobody_asked_for(void **state)
{
    const enum connection_state before[] = {CONNECTION_NONE, CONNECTION_OPEN, CONNECTION_FAILED};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct connection connection = fresh(before[i]);
        assert_int_equal(receive_connect(&connection, FRAME_ACCEPT, 99, OWN_KEY),
                         CONNECTION_NOTHING);
        assert_int_equal(connection.state, before[i]);
        assert_int_not_equal(connection.peer_key, 99);
    }
}

static void connection_receive__reset_that_echoes_our_question(void **state)
{
    struct connection connection = fresh(CONNECTION_ASKING);

    (void)state;
    assert_int_equal(receive_reset(&connection, OWN_KEY, FRAME_RESET_UNKNOWN), CONNECTION_BROKEN);
    assert_int_equal(connection.state, CONNECTION_FAILED);
    assert_int_equal(connection.error, -ECONNRESET);
}

static void connection_receive__reset_that_echoes_the_peers_key(void **state)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    (void)state;
    assert_int_equal(receive_reset(&connection, PEER_KEY, FRAME_RESET_PROTOCOL), CONNECTION_BROKEN);
    assert_int_equal(connection.error, -EPROTO);
}

static void connection_receive__reset_of_another_job(void **state)
{
    struct connection connection;

    (void)state;
    connection_init(&connection, OWN_KEY);
    connection_ask(&connection, 1);
    assert_int_equal(receive_reset(&connection, OWN_KEY, FRAME_RESET_JOB), CONNECTION_BROKEN);
    assert_int_equal(connection.error, -EKEYREJECTED);
}

static void connection_receive__reset_by_who_has_seen_nothing(void **state)
{
    struct connection open = fresh(CONNECTION_OPEN);
    struct connection asking = fresh(CONNECTION_ASKING);
    struct connection none = fresh(CONNECTION_NONE);

    (void)state;
    assert_int_equal(receive_reset(&open, OWN_KEY, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(receive_reset(&asking, 0, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(receive_reset(&none, 0, FRAME_RESET_UNKNOWN), CONNECTION_NOTHING);
    assert_int_equal(open.state, CONNECTION_OPEN);
}

static void connection_receive__close_ends_an_open_one_only(void **state)
{
    struct connection open = fresh(CONNECTION_OPEN);
    struct connection asking = fresh(CONNECTION_ASKING);
    const struct frame close = {.type = FRAME_CLOSE};

    (void)state;
    assert_int_equal(connection_receive(&open, &close), CONNECTION_BROKEN);
    assert_int_equal(open.error, -ECONNRESET);
    assert_int_equal(connection_receive(&asking, &close), CONNECTION_NOTHING);
}

static void connection_receive__other_frames_change_nothing(void **state)
{
    (void)state;
    for (unsigned type = FRAME_ACK; type <= FRAME_DONE; type++) {
        struct connection connection = fresh(CONNECTION_OPEN);
        assert_int_equal(connection_receive(&connection, &(struct frame){.type = type}),
                         CONNECTION_NOTHING);
        assert_int_equal(connection.state, CONNECTION_OPEN);
    }
}

static void connection_fail__the_first_error_stays(void **state)
{
    struct connection connection = fresh(CONNECTION_OPEN);

    (void)state;
    connection.accept_owed = true;
    assert_int_equal(connection_fail(&connection, -ETIMEDOUT), CONNECTION_BROKEN);
    assert_int_equal(connection_fail(&connection, -EPROTO), CONNECTION_NOTHING);
    assert_int_equal(connection.error, -ETIMEDOUT);
    assert_false(connection.accept_owed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connection_ask__begins_at_once),
        cmocka_unit_test(connection_ask__twice_does_not_begin_anew),
        cmocka_unit_test(connection_ask__open_stays_open),
        cmocka_unit_test(connection_ask_due__pauses_double_up_to_a_bound),
        cmocka_unit_test(connection_receive__connect_opens_and_is_answered),
        cmocka_unit_test(connection_receive__connect_again_is_answered_again),
        cmocka_unit_test(connection_receive__connect_with_another_key_changes_nothing),
        cmocka_unit_test(connection_receive__connect_after_failure_changes_nothing),
        cmocka_unit_test(connection_receive__accept_opens_who_asked),
        cmocka_unit_test(connection_receive__accept_of_another_question),
        cmocka_unit_test(connection_receive__accept_nobody_asked_for),
        cmocka_unit_test(connection_receive__reset_that_echoes_our_question),
        cmocka_unit_test(connection_receive__reset_that_echoes_the_peers_key),
        cmocka_unit_test(connection_receive__reset_of_another_job),
        cmocka_unit_test(connection_receive__reset_by_who_has_seen_nothing),
        cmocka_unit_test(connection_receive__close_ends_an_open_one_only),
        cmocka_unit_test(connection_receive__other_frames_change_nothing),
        cmocka_unit_test(connection_fail__the_first_error_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
