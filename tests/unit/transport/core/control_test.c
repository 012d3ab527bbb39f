/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/control.h"

#include "stranger.h"

static struct core_peer *known(struct stranger *stranger)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    return peer;
}

STRANGER_TEST(control_send_connect__says_who_and_whom)
{
    struct core_peer *peer = known(stranger);

    peer->first_credit = 9;
    stranger->core->options.job_key = 0xFEDCBA9876543210;
    control_send_connect(stranger->core, peer, 0, PATHS_ANY_MTU);
    pass(stranger, 1000000);
    const struct frame *frame = hear_type(stranger, FRAME_CONNECT);
    assert_int_equal(frame->key, 0);
    assert_int_equal(frame->credit, 9);
    assert_int_equal(frame->source, CLUSTER_ENDPOINT);
    assert_int_equal(frame->destination, CLUSTER_ENDPOINT);
    assert_int_equal(from_le64(frame->connect->incarnation), stranger->core->incarnation);
    assert_int_equal(from_le64(frame->connect->expected_incarnation), stranger->incarnation);
    assert_int_equal(from_le32(frame->connect->key), peer->connection.own_key);
    assert_int_equal(from_le32(frame->connect->echoed_key), 0);
    assert_int_equal(from_le32(frame->connect->features),
                     FRAME_FEATURE_SELECTIVE | FRAME_FEATURE_REMOTE | FRAME_FEATURE_SEAL |
                         FRAME_FEATURE_CHECKSUM);
    assert_int_equal(from_le16(frame->connect->frame_bytes), 1500);
    assert_true(from_le64(frame->connect->job_key) == 0xFEDCBA9876543210);
    assert_memory_equal(frame->connect->place, stranger->core->options.address.bytes,
                        FRAME_PLACE_BYTES);
    assert_true(proof_is_right(frame, address_layout(&stranger->address)->secret, NULL));
    assert_int_equal(stranger->core->counters.sent[FRAME_CONNECT], 1);
}

/** It arrives only where such frames do. */
STRANGER_TEST(control_send_connect__is_as_long_as_it_promises)
{
    struct core_peer *peer = known(stranger);

    control_send_connect(stranger->core, peer, 0, PATHS_ANY_MTU);
    pass(stranger, 1000000);
    assert_int_equal(from_le16(hear_type(stranger, FRAME_CONNECT)->connect->frame_bytes), 1500);
    assert_int_equal(stranger->heard_bytes, 1500);
    control_send_connect(stranger->core, peer, 0, 1200);
    pass(stranger, 1000000);
    assert_int_equal(from_le16(hear_type(stranger, FRAME_CONNECT)->connect->frame_bytes), 1200);
    assert_int_equal(stranger->heard_bytes, 1200);
}

/** A peer with which frames of this length were agreed on. */
static struct core_peer *agreed_on(struct stranger *stranger, uint32_t bytes)
{
    struct core_peer *peer = known(stranger);

    peer->connection.peer_key = STRANGER_KEY;
    peer->data_bytes = bytes;
    peer->frame_bytes = bytes;
    return peer;
}

STRANGER_TEST(control_send_accept__is_as_long_as_what_follows)
{
    struct core_peer *peer = agreed_on(stranger, 1300);

    control_send_accept(stranger->core, peer, 0, 1500);
    pass(stranger, 1000000);
    assert_int_equal(from_le16(hear_type(stranger, FRAME_ACCEPT)->connect->frame_bytes), 1300);
    assert_int_equal(stranger->heard_bytes, 1300);
}

/** Whoever has asked may not be who the address belongs to. */
STRANGER_TEST(control_send_accept__is_no_longer_than_what_asked)
{
    struct core_peer *peer = agreed_on(stranger, 1300);

    control_send_accept(stranger->core, peer, 0, 1290);
    pass(stranger, 1000000);
    (void)hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(stranger->heard_bytes, 1290);
    peer->data_bytes = 2000; /* nor than the lane carries */
    peer->frame_bytes = 2000;
    control_send_accept(stranger->core, peer, 0, 2000);
    pass(stranger, 1000000);
    (void)hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(stranger->heard_bytes, 1500);
}

STRANGER_TEST(control_send_accept__echoes_the_key)
{
    struct core_peer *peer = agreed_on(stranger, 1500);

    control_send_accept(stranger->core, peer, 0, 1500);
    pass(stranger, 1000000);
    const struct frame *frame = hear_type(stranger, FRAME_ACCEPT);
    assert_int_equal(frame->key, STRANGER_KEY);
    assert_int_equal(from_le32(frame->connect->echoed_key), STRANGER_KEY);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACCEPT], 1);
}

STRANGER_TEST(control_send_connect__go_back_n_does_not_offer_to_keep)
{
    stranger->core->options.go_back_n = true;
    control_send_connect(stranger->core, known(stranger), 0, PATHS_ANY_MTU);
    pass(stranger, 1000000);
    assert_int_equal(from_le32(hear_type(stranger, FRAME_CONNECT)->connect->features),
                     FRAME_FEATURE_REMOTE | FRAME_FEATURE_SEAL | FRAME_FEATURE_CHECKSUM);
}

STRANGER_TEST(control_send_ack__carries_acknowledgement_and_credit)
{
    struct core_peer *peer = be_accepted(stranger);

    peer->message.flow.expected = peer->message.flow.seen = 3;
    peer->message.flow.unacknowledged = 3;
    control_send_ack(stranger->core, peer, PATH_NONE, cluster_now(&stranger->cluster));
    peer->message.flow.expected = peer->message.flow.seen = 0;
    pass(stranger, 1000000);
    const struct frame *frame = hear_type(stranger, FRAME_ACK);
    assert_int_equal(frame->key, STRANGER_KEY);
    assert_int_equal(frame->acknowledgement, 3);
    assert_int_equal(frame->credit, FLOW_INITIAL_CREDIT_FRAMES);
    assert_int_equal(frame->flags, 0);
    assert_int_equal(peer->message.flow.unacknowledged, 0);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

STRANGER_TEST(control_send_ack__of_a_gap_is_sack)
{
    struct core_peer *peer = be_accepted(stranger);

    peer->message.flow.seen = 3;
    peer->message.flow.probe_seen = 9;
    control_send_ack(stranger->core, peer, PATH_NONE, cluster_now(&stranger->cluster));
    pass(stranger, 1000000);
    const struct frame *frame = hear_type(stranger, FRAME_SACK);
    assert_int_equal(frame->key, STRANGER_KEY);
    assert_int_equal(frame->acknowledgement, 0);
    assert_int_equal(frame->credit, FLOW_INITIAL_CREDIT_FRAMES);
    assert_int_equal(from_le32(frame->sack->upto), 3);
    assert_int_equal(from_le32(frame->sack->probe), 9);
    assert_int_equal(stranger->core->counters.sent[FRAME_SACK], 1);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 0);
}

STRANGER_TEST(control_send_probe__names_the_next_new_frame)
{
    struct core_peer *peer = be_accepted(stranger);

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    }
    control_send_probe(stranger->core, peer);
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_EAGER);
    (void)hear_type(stranger, FRAME_EAGER);
    const struct frame *frame = hear_type(stranger, FRAME_PROBE);
    assert_int_equal(frame->sequence, 2);
    assert_int_equal(from_le32(frame->probe->number), 1);
    assert_int_equal(stranger->core->counters.sent[FRAME_PROBE], 1);
}

STRANGER_TEST(control_send_close__with_the_last_acknowledgement)
{
    struct core_peer *peer = be_accepted(stranger);
    const struct frame_eager eager = {.tag = to_le64(1)};

    say(stranger, &(struct says){.fields.type = FRAME_EAGER, .body = &eager});
    pass(stranger, 25000); /* arrived, and not yet acknowledged */
    control_send_close(stranger->core, peer, false);
    pass(stranger, 25000);
    assert_int_equal(hear_type(stranger, FRAME_CLOSE)->acknowledgement, 1);
}

STRANGER_TEST(control_send_reset__echoes_what_it_refuses)
{
    const struct frame refused = {.type = FRAME_ACK, .key = 0x99, .source = 5};
    struct frame_connect body = connect_body(stranger);
    const struct frame connect = {.type = FRAME_CONNECT, .connect = &body, .source = 6};

    control_send_reset(stranger->core, &refused, &(struct arrival){.address = sim_address(1, 0)},
                       FRAME_RESET_UNKNOWN, 0);
    control_send_reset(stranger->core, &connect, &(struct arrival){.address = sim_address(1, 0)},
                       FRAME_RESET_FULL, 0);
    pass(stranger, 1000000);
    const struct frame *frame = hear_type(stranger, FRAME_RESET);
    assert_int_equal(frame->destination, 5);
    assert_int_equal(from_le32(frame->reset->echoed_key), 0x99);
    assert_int_equal(from_le32(frame->reset->reason), FRAME_RESET_UNKNOWN);
    frame = hear_type(stranger, FRAME_RESET);
    assert_int_equal(frame->destination, 6);
    assert_int_equal(from_le32(frame->reset->echoed_key), STRANGER_KEY);
    assert_int_equal(from_le32(frame->reset->reason), FRAME_RESET_FULL);
}

STRANGER_TEST(control_send_reset__no_more_than_so_many_in_a_second)
{
    const struct frame refused = {.type = FRAME_ACK};
    const struct core_counters *counters = &stranger->core->counters;

    for (unsigned i = 0; i < ENDPOINT_RESETS_PER_SECOND + 10; i++) {
        control_send_reset(stranger->core, &refused,
                           &(struct arrival){.address = sim_address(1, 0)}, FRAME_RESET_UNKNOWN,
                           7 * UINT64_C(1000000000) + i);
    }
    assert_int_equal(counters->sent[FRAME_RESET], ENDPOINT_RESETS_PER_SECOND);
    assert_int_equal(counters->resets_suppressed, 10);
    control_send_reset(stranger->core, &refused, &(struct arrival){.address = sim_address(1, 0)},
                       FRAME_RESET_UNKNOWN, 8 * UINT64_C(1000000000));
    assert_int_equal(counters->sent[FRAME_RESET], ENDPOINT_RESETS_PER_SECOND + 1);
}
