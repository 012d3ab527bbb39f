/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that come and go; what they say is in receive_test.c. */
#include "core/counters.h"
#include "unit/transport/core/stranger.h"

#define PEERS 3 /* stranger_setup() orders so many */

/** A message of the peer is received. */
static void take_message(struct stranger *stranger, struct core_peer *peer)
{
    char byte = 0;

    assert_int_equal(cluster_receive(&stranger->cluster, 0, peer, 1, 0, &byte, 1, NULL), 0);
    round_trip(stranger);
    assert_int_equal(completed(stranger).bytes, 1);
    assert_int_equal(byte, 'a');
}

static void leave(struct stranger *stranger)
{
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    round_trip(stranger);
}

static void let_forget(struct stranger *stranger)
{
    pass(stranger, PEER_FORGET_NS + 1000000);
    while (hear(stranger)) {
    }
}

/** What is under way arrives, and the core looks for it, once. */
static void arrive(struct stranger *stranger)
{
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
    (void)look(stranger);
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
}

/** A server that has room for three clients at a time lives for ever. */
STRANGER_TEST(core_forget_peers__ten_thousand_clients_come_and_go)
{
    struct core *core = stranger->core;
    struct beowire_completion done;
    uint32_t most = 0;

    for (uint32_t i = 1; i <= 10000; i++) {
        be_another(stranger, i);
        const struct frame_connect body = connect_body(stranger);
        char byte = 0;
        say_connect(stranger, &body);
        arrive(stranger);
        stranger->core_key = from_le32(hear_type(stranger, FRAME_ACCEPT)->connect->key);
        assert_int_equal(
            cluster_receive(&stranger->cluster, 0, NULL, 1, 0, &byte, sizeof byte, NULL), 0);
        say_eager(stranger, 1, "a", 1);
        arrive(stranger);
        assert_true(message_complete(&core->messages, &done));
        assert_int_equal(byte, 'a');
        say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
        arrive(stranger);
        most = core->peer_count > most ? core->peer_count : most;
        while (hear(stranger)) {
        }
    }
    assert_true(most <= PEERS);
    assert_true(core->slots_used <= PEERS);
    let_forget(stranger);
    assert_int_equal(core->peer_count, 0);
    assert_int_equal(core->counters.peers_forgotten, 10000);
    assert_int_equal(core->messages.chunks_shared + core->messages.chunks_unmade, MESSAGE_CHUNKS);
}

/** What it said can still be received, and then is the end of it. */
STRANGER_TEST(core_forget_peers__not_before_its_messages_are_received)
{
    struct core_peer *peer = be_accepted(stranger);
    uint32_t handle = peer->message.handle;
    struct beowire_completion done;

    say_eager(stranger, 1, "a", 1);
    leave(stranger);
    let_forget(stranger);
    assert_ptr_equal(core_peer_at(stranger->core, handle), peer);
    char byte = 0;
    assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, &byte, 1, NULL), 0);
    let_forget(stranger);
    assert_ptr_equal(core_peer_at(stranger->core, handle), peer); /* nobody knows yet whose it is */
    done = completed(stranger);
    assert_int_equal(done.peer, handle);
    pass(stranger, 4 * PEER_FORGET_NS);
    assert_null(core_peer_at(stranger->core, handle));
    assert_int_equal(stranger->core->peer_count, 0);
}

/** Whoever keeps a handle never means another peer by it. */
STRANGER_TEST(core_peer_at__an_old_handle_is_nobodys)
{
    uint32_t old = be_accepted(stranger)->message.handle;

    leave(stranger);
    let_forget(stranger);
    be_another(stranger, 7);
    const struct core_peer *peer = be_accepted(stranger);
    assert_int_equal(BEOWIRE_PEER_SLOT(peer->message.handle), BEOWIRE_PEER_SLOT(old));
    assert_int_not_equal(peer->message.handle, old);
    assert_null(core_peer_at(stranger->core, old));
    assert_ptr_equal(core_peer_at(stranger->core, peer->message.handle), peer);
    assert_null(core_peer_at(stranger->core, BEOWIRE_ANY_PEER));
}

/** They say who refuses by the key that they have chosen, and several may have chosen the same. */
STRANGER_TEST(core_forget_peers__those_with_the_same_key_can_refuse)
{
    const struct frame_reset reset = {.echoed_key = to_le32(STRANGER_KEY),
                                      .reason = to_le32(FRAME_RESET_UNKNOWN)};
    uint32_t first_key = 0;

    for (uint32_t i = 1; i <= PEERS; i++) {
        be_another(stranger, i);
        (void)be_accepted(stranger);
        first_key = i == 1 ? stranger->core_key : first_key;
    }
    stranger->core_key = first_key;
    leave(stranger);
    let_forget(stranger);
    for (uint32_t left = PEERS - 1; left > 0; left--) {
        assert_int_equal(stranger->core->peer_count, left);
        say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
        round_trip(stranger);
        let_forget(stranger);
    }
    assert_int_equal(stranger->core->peer_count, 0);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &reset});
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_key, 1);
}

/** However many come, those that the application names have their room; and the other way round. */
STRANGER_TEST(core_peer_add__has_room_of_its_own)
{
    struct core_peer *peer = NULL;

    for (uint32_t i = 1; i <= PEERS; i++) {
        be_another(stranger, i);
        (void)be_accepted(stranger);
    }
    be_another(stranger, 4);
    struct frame_connect body = connect_body(stranger);
    say_connect(stranger, &body);
    round_trip(stranger);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_RESET)->reset->reason), FRAME_RESET_FULL);
    for (uint32_t i = 11; i < 11 + PEERS; i++) {
        const struct beowire_address address = address_of_another(&stranger->address, i);
        assert_int_equal(core_peer_add(stranger->core, &address, &peer), 0);
    }
    const struct beowire_address met = address_of_another(&stranger->address, 1);
    assert_int_equal(core_peer_add(stranger->core, &met, &peer), -ENOSPC);
}

/** Whoever knows our secret can say any name; the application knows better whose it is. */
TEST_AROUND(core_peer_add__a_name_is_its_owners, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct beowire_address owner = stranger->address;
    struct core_peer *named = NULL;
    struct core_peer *impostor = be_accepted(stranger);
    struct core_peer *again = NULL;

    owner.bytes[offsetof(struct address_layout, rail[0].mac) + 4] ^= 1;
    assert_int_equal(core_peer_add(stranger->core, &owner, &named), 0);
    assert_ptr_not_equal(named, impostor);
    assert_int_equal(impostor->connection.state, CONNECTION_FAILED);
    assert_int_equal(core_peer_add(stranger->core, &owner, &again), 0);
    assert_ptr_equal(again, named);
    let_forget(stranger);
    assert_int_equal(core_peer_add(stranger->core, &owner, &again), 0);
    assert_ptr_equal(again, named);
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &again), -EINVAL);
}

STRANGER_TEST(core_peer_add__without_its_secret)
{
    struct beowire_address address = stranger->address;
    struct core_peer *peer = NULL;

    memset(address.bytes + offsetof(struct address_layout, secret), 0, ADDRESS_SECRET_BYTES);
    assert_int_equal(core_peer_add(stranger->core, &address, &peer), -EACCES);
    struct core_peer *met = be_accepted(stranger);
    assert_int_equal(core_peer_add(stranger->core, &address, &peer), 0);
    assert_ptr_equal(peer, met);
    assert_false(met->announced);
}

STRANGER_TEST(core_peer_forget__makes_room)
{
    struct core_peer *peer = NULL;

    for (uint32_t i = 0; i < 100; i++) {
        const struct beowire_address address = address_of_another(&stranger->address, i);
        assert_int_equal(core_peer_add(stranger->core, &address, &peer), 0);
        assert_int_equal(core_peer_forget(stranger->core, peer), 0);
        assert_int_equal(core_peer_forget(stranger->core, peer), -EINVAL);
    }
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 0);
}

/** Its host may be gone, and nobody would ever notice. */
TEST_AROUND(core_service__who_is_quiet_for_long_is_asked, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    const struct core_peer *peer = be_accepted(stranger);

    pass(stranger, PEER_QUIET_NS + 100000000);
    (void)hear_type(stranger, FRAME_PROBE);
    say(stranger, &(struct says){.fields.type = FRAME_ACK});
    pass(stranger, PEER_QUIET_NS / 2);
    while (hear(stranger)) {
    }
    pass(stranger, PEER_QUIET_NS / 4);
    assert_false(hear(stranger));
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    sim_wire_vanish(stranger->cluster.wire, 1);
    pass(stranger, PEER_QUIET_NS / 2 + 2 * PEER_TIMEOUT_NS);
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 0);
}

/** Counters never go back. */
STRANGER_TEST(core_forget_peers__what_it_counted_stays)
{
    uint64_t before[CORE_COUNTERS_MAX] = {0};
    unsigned some = 0;

    struct core_peer *peer = be_accepted(stranger);
    say_eager(stranger, 1, "a", 1);
    take_message(stranger, peer);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    round_trip(stranger);
    leave(stranger);
    for (unsigned i = 0; i < counters_count(); i++) {
        before[i] = counters_read(stranger->core, i);
        some += counters_is_of_flows(i) && before[i] > 0;
    }
    assert_int_not_equal(some, 0);
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 0);
    for (unsigned i = 0; i < counters_count(); i++) {
        assert_true(counters_read(stranger->core, i) >= before[i]);
    }
}

/** It has gone already: nothing of it is given back twice. */
STRANGER_TEST(core_peer_add__of_whom_an_impostor_was)
{
    struct beowire_address owner = stranger->address;
    struct core_peer *named = NULL;
    const struct core_peer *impostor = be_accepted(stranger);

    owner.bytes[offsetof(struct address_layout, rail[0].mac) + 4] ^= 1;
    leave(stranger);
    assert_true(impostor->gone);
    assert_int_equal(core_peer_add(stranger->core, &owner, &named), 0);
    assert_int_equal(impostor->message.chunks, 0);
    assert_int_equal(stranger->core->counters.peers_failed, 1);
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 1);
    assert_ptr_equal(stranger->core->peers[0], named);
}

/** A peer that was named, and is asked for the sake of a receive. @param byte its buffer, and
 * context
 */
static struct core_peer *awaited(struct stranger *stranger, char *byte)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_receive(&stranger->cluster, 0, peer, 1, 0, byte, 1, byte), 0);
    return peer;
}

/** Who was asked only for the sake of a receive that nobody wants any more is not asked for ever.
 */
TEST_AROUND(core_peer_forget__of_one_that_is_asked_in_vain, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    char byte = 0;
    struct core_peer *peer = awaited(stranger, &byte);

    assert_int_equal(core_peer_forget(stranger->core, peer), 0);
    assert_int_equal(peer->connection.state, CONNECTION_ASKING);
    assert_int_equal(core_cancel(stranger->core, &byte), 0);
    assert_int_equal(completed(stranger).status, -ECANCELED);
    pass(stranger, PEER_TIMEOUT_NS);
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 0);
    assert_int_equal(stranger->core->deadline_ns, UINT64_MAX);
}

/** The other way round. */
STRANGER_TEST(core_peer_forget__of_one_whose_receive_was_cancelled)
{
    char byte = 0;
    struct core_peer *peer = awaited(stranger, &byte);

    assert_int_equal(core_cancel(stranger->core, &byte), 0);
    assert_int_equal(completed(stranger).status, -ECANCELED);
    assert_int_equal(core_peer_forget(stranger->core, peer), 0);
    pass(stranger, PEER_TIMEOUT_NS);
    let_forget(stranger);
    assert_int_equal(stranger->core->peer_count, 0);
}

/** It may have the question already, and take another one for somebody else's. */
TEST_AROUND(core_peer_forget__of_one_whose_answer_is_on_its_way, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *again = NULL;
    struct frame_connect body = connect_body(stranger);
    char byte = 0;
    struct core_peer *peer = awaited(stranger, &byte);

    assert_int_equal(core_cancel(stranger->core, &byte), 0);
    assert_int_equal(core_peer_forget(stranger->core, peer), 0);
    round_trip(stranger);
    body.echoed_key = hear_type(stranger, FRAME_CONNECT)->connect->key;
    body.expected_incarnation = to_le64(stranger->core->incarnation);
    say(stranger,
        &(struct says){.fields = {.type = FRAME_ACCEPT, .key = from_le32(body.echoed_key)},
                       .credit = STRANGER_CREDIT,
                       .body = &body,
                       .padded_bytes = 1500});
    round_trip(stranger);
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &again), 0);
    assert_ptr_equal(again, peer);
    assert_int_equal(again->connection.state, CONNECTION_OPEN);
    assert_true(again->announced);
}

/** Whatever else there is to do: it may be the only one. */
STRANGER_TEST(core_peer_forget__of_one_whose_host_goes)
{
    struct core_peer *peer = be_accepted_as_named(stranger);

    pass(stranger, PEER_QUIET_NS);
    while (hear(stranger)) {
    }
    assert_int_equal(core_peer_forget(stranger->core, peer), 0);
    sim_wire_vanish(stranger->cluster.wire, 1);
    pass(stranger, 2 * PEER_QUIET_NS);
    assert_int_equal(stranger->core->peer_count, 0);
}

/** What nobody receives lies there, and an idle process is not woken for it all the time. */
STRANGER_TEST(core_forget_peers__looks_seldom_for_what_is_not_received)
{
    const struct core_peer *peer = be_accepted(stranger);
    char byte = 0;

    say_eager(stranger, 1, "a", 1);
    leave(stranger);
    pass(stranger, 1000 * PEER_FORGET_NS);
    assert_true(peer->gone);
    assert_true(stranger->core->deadline_ns >
                cluster_now(&stranger->cluster) + 20 * PEER_FORGET_NS);
    assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, &byte, 1, NULL), 0);
    assert_int_equal(completed(stranger).bytes, 1);
}
