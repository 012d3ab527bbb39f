/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"
#include "peers/peers.h"

#include "unit/transport/core/stranger.h"

#define CALLED 7
#define WITNESSED ((uint32_t)FRAME_FEATURE_SELECTIVE | (uint32_t)FRAME_FEATURE_WITNESS)

static enum lane_witness witness_says;
static unsigned called;
static unsigned dismissed;
static bool refuses; /* there is no room to ask */
static uint8_t key_of_call[LANE_WITNESS_KEY_BYTES];

static int bear(struct lane *lane, const uint8_t key[LANE_WITNESS_KEY_BYTES])
{
    memcpy(key_of_call, key, sizeof key_of_call);
    return refuses ? -EADDRINUSE : 0;
}

static int call(struct lane *lane, const struct lane_address *to,
                const uint8_t key[LANE_WITNESS_KEY_BYTES], int who[LANE_WITNESS_CALLS])
{
    const struct lane_address stranger_at = sim_address(1, lane->rail);

    assert_memory_equal(to, &stranger_at, sizeof stranger_at);
    memcpy(key_of_call, key, sizeof key_of_call);
    called++;
    who[0] = CALLED;
    who[1] = CALLED + 1;
    return refuses ? -EMFILE : 0;
}

static enum lane_witness tell(struct lane *lane, int who[LANE_WITNESS_CALLS])
{
    assert_int_equal(who[0], CALLED);
    assert_int_equal(who[1], CALLED + 1);
    return witness_says;
}

static void dismiss(struct lane *lane, const int who[LANE_WITNESS_CALLS])
{
    assert_int_equal(who[0], CALLED);
    dismissed++;
}

static enum lane_host answer(struct lane *lane, const struct lane_address *to, uint32_t mark,
                             bool vouch)
{
    return LANE_HOST_VOUCHES;
}

/** The core's lane asks a host that answers, and the kernel there. */
static void have_kernel(struct stranger *stranger, enum lane_witness says)
{
    static struct lane_operations operations;
    struct lane *lane = stranger->core->options.lanes.lanes[0];

    operations = *lane->operations;
    operations.ask_host = answer;
    operations.bear_witness = bear;
    operations.call_witness = call;
    operations.witness = tell;
    operations.dismiss_witness = dismiss;
    lane->operations = &operations;
    called = dismissed = 0;
    refuses = false;
    witness_says = says;
    core_bear_witness(stranger->core);
}

/** A peer that the application has named, and that offers these features. */
static struct core_peer *be_accepted_with(struct stranger *stranger, uint32_t features)
{
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    body.features = to_le32(features);
    say_connect(stranger, &body);
    round_trip(stranger);
    stranger->core_key = from_le32(hear_type(stranger, FRAME_ACCEPT)->connect->key);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .credit = STRANGER_CREDIT});
    round_trip(stranger);
    return peer;
}

/** A peer that could prove that it is there, and owes an answer. */
static struct core_peer *have_silent_peer(struct stranger *stranger, enum lane_witness says)
{
    have_kernel(stranger, says);
    struct core_peer *peer = be_accepted_with(stranger, WITNESSED);
    assert_true(peer->bears_witness);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    return peer;
}

STRANGER_TEST(core_bear_witness__is_offered_where_all_lanes_do)
{
    uint8_t key[LANE_WITNESS_KEY_BYTES];

    assert_false(stranger->core->bears_witness);
    have_kernel(stranger, LANE_WITNESS_UNKNOWN);
    proof_witness_key(address_layout(&stranger->core->options.address)->secret, key);
    assert_memory_equal(key, key_of_call, sizeof key);
    assert_true((core_features(stranger->core) & FRAME_FEATURE_WITNESS) != 0);
    refuses = true;
    core_bear_witness(stranger->core);
    assert_true((core_features(stranger->core) & FRAME_FEATURE_WITNESS) == 0);
}

/** Its host answers, but who has its place cannot prove that it is the peer. */
STRANGER_TEST(core_may_be_there__who_proves_nothing_is_silent)
{
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_SILENT);
    uint8_t key[LANE_WITNESS_KEY_BYTES];

    pass(stranger, PEER_TIMEOUT_NS + 10000000);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    assert_int_equal(called, 1);
    assert_int_equal(dismissed, 1);
    proof_witness_key(address_layout(&stranger->address)->secret, key);
    assert_memory_equal(key, key_of_call, sizeof key);
}

STRANGER_TEST(core_may_be_there__is_asked_again)
{
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_ENDED);

    pass(stranger, PEER_TIMEOUT_NS + 10000000);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
    assert_true(called > 1);
    assert_int_equal(dismissed, called);
}

TEST_AROUND(core_may_be_there__who_proves_it_stands_still, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_PROVES);

    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_true(core_stands_still(peer));
    assert_int_equal(called, 1);
    witness_says = LANE_WITNESS_ENDED; /* and then it ends */
    pass(stranger, PEER_TIMEOUT_NS + (uint64_t)STILL_RETRY_NS);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
}

TEST_AROUND(core_may_be_there__no_socket_is_no_silence, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_SILENT);

    refuses = true;
    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(dismissed, 0);
}

/** A firewall lets no TCP through: the answers of the host are all there is. */
TEST_AROUND(core_may_be_there__nothing_comes_back, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_UNKNOWN);

    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(called, 1);
}

TEST_AROUND(core_call_witness__not_of_who_has_none, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;

    have_kernel(stranger, LANE_WITNESS_UNKNOWN);
    struct core_peer *peer = be_accepted_with(stranger, FRAME_FEATURE_SELECTIVE);
    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    pass(stranger, 10 * PEER_TIMEOUT_NS);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(called, 0);
}

STRANGER_TEST(core_dismiss_witness__the_peer_is_heard)
{
    struct core_peer *peer = have_silent_peer(stranger, LANE_WITNESS_PROVES);

    pass(stranger, 2 * PEER_TIMEOUT_NS);
    assert_int_equal(called, 1);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .acknowledgement = 1, .credit = 16});
    round_trip(stranger);
    assert_false(core_is_doubted(peer));
    assert_int_equal(dismissed, 1);
}
