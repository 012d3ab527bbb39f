/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"

#include "stranger.h"

#define SEALING ((uint32_t)FRAME_FEATURE_SELECTIVE | (uint32_t)FRAME_FEATURE_SEAL)
#define ANY_FRAME_BYTES 400

/** The stranger's end of a connection that is sealed. */
struct end {
    struct seal seal;
    uint8_t said[ANY_FRAME_BYTES]; /**< the sealed frame that was said last */
    uint32_t said_bytes;
};

static void begin_seal(const struct stranger *stranger, struct seal *seal)
{
    const struct frame_connect own = connect_body(stranger);

    seal_begin(
        seal,
        &(struct seal_end){.secret = address_layout(&stranger->address)->secret,
                           .nonce = own.nonce},
        &(struct seal_end){.secret = address_layout(&stranger->core->options.address)->secret,
                           .nonce = stranger->heard.connect->nonce});
}

/** Says a frame with a seal. @param text follows its header: operation header and payload */
static void say_sealed(struct stranger *stranger, struct end *end, enum frame_type type,
                       uint32_t sequence, const void *text, uint16_t text_bytes)
{
    size_t operation_bytes = frame_operation_bytes(type);
    size_t payload_bytes = text_bytes - operation_bytes;
    uint8_t header[sizeof(struct frame_header)];

    frame_encode(header, &(struct frame_fields){.type = type,
                                                .destination = CLUSTER_ENDPOINT,
                                                .source = CLUSTER_ENDPOINT,
                                                .key = stranger->core_key,
                                                .sequence = sequence,
                                                .payload_bytes = (uint16_t)payload_bytes});
    frame_stamp(header, 0, 0, STRANGER_CREDIT);
    uint8_t *behind = (uint8_t *)(frame_copy_for_seal(end->said, header) + 1);
    if (text_bytes > 0) {
        memcpy(behind, text, text_bytes);
    }
    seal_write(&end->seal, end->said, behind, operation_bytes, behind + operation_bytes,
               payload_bytes);
    end->said_bytes = (uint32_t)(behind - end->said) + text_bytes;
    say_raw(stranger, end->said, end->said_bytes);
    round_trip(stranger);
}

/** As be_accepted_as_named(), sealed. @param features offered besides */
static struct core_peer *be_sealed(struct stranger *stranger, struct end *end, uint32_t features)
{
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    body.features = to_le32(SEALING | features);
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *accept = hear_type(stranger, FRAME_ACCEPT);
    assert_null(accept->seal);
    assert_true((from_le32(accept->connect->features) & FRAME_FEATURE_SEAL) != 0);
    stranger->core_key = from_le32(accept->connect->key);
    begin_seal(stranger, &end->seal);
    say_sealed(stranger, end, FRAME_ACK, 0, NULL, 0);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    return peer;
}

/** An empty message. @return the bytes of its operation header */
static struct frame_eager empty(void)
{
    return (struct frame_eager){.tag = to_le64(1)};
}

STRANGER_TEST(core_begin_seals__if_either_end_wants_it)
{
    struct end end;

    struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);
    assert_non_null(peer->route.seal);
    be_another(stranger, 5);
    stranger->core->options.authenticate = true;
    peer = be_sealed(stranger, &end, 0);
    assert_non_null(peer->route.seal);
}

STRANGER_TEST(core_begin_seals__not_if_none_does)
{
    struct frame_connect body = connect_body(stranger);

    body.features = to_le32(SEALING);
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *accept = hear_type(stranger, FRAME_ACCEPT);
    assert_true((from_le32(accept->connect->features) & FRAME_FEATURE_SEAL) == 0);
    assert_null(stranger->core->peers[0]->route.seal);
}

STRANGER_TEST(core_begin_seals__with_one_who_does_not_know_how)
{
    struct frame_connect body = connect_body(stranger);

    stranger->core->options.authenticate = true;
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *reset = hear_type(stranger, FRAME_RESET);
    assert_int_equal(from_le32(reset->reset->reason), FRAME_RESET_SEAL);
    assert_int_equal(stranger->core->peer_count, 0);
}

TEST_AROUND(core_begin_seals__accepted_by_one_who_does_not_know_how, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;

    stranger->core->options.authenticate = true;
    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    core_connect(stranger->core, peer, cluster_now(&stranger->cluster));
    round_trip(stranger);
    const struct frame *asked = hear_type(stranger, FRAME_CONNECT);
    assert_true((from_le32(asked->connect->features) & FRAME_FEATURE_SEAL_WANTED) != 0);
    body.echoed_key = asked->connect->key;
    stranger->core_key = from_le32(asked->connect->key);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
    assert_int_equal(peer->connection.error, -EPROTONOSUPPORT);
}

/** Frames are as long as without seals, so less is in them. */
STRANGER_TEST(core_begin_seals__leave_less_room)
{
    struct end end;
    const struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);

    assert_int_equal(peer->message.data_bytes, 1500 - sizeof(struct frame_seal));
    assert_int_equal(peer->message.frame_bytes, 1500 - sizeof(struct frame_seal));
    assert_int_equal(peer->message.segment_bytes_max,
                     1500 - sizeof(struct frame_seal) - sizeof(struct frame_data));
}

STRANGER_TEST(route_send_sealed__every_frame)
{
    const struct frame_eager eager = empty();
    struct end end;

    (void)be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);
    say_sealed(stranger, &end, FRAME_EAGER, 0, &eager, sizeof eager);
    pass(stranger, 10000000);
    const struct frame *ack = hear_type(stranger, FRAME_ACK);
    assert_non_null(ack->seal);
    assert_true(seal_is_right(&end.seal, ack));
}

/** Sends a frame of the core with a head and a payload. @return what is heard of it */
static const struct frame *hear_sent(struct stranger *stranger, struct core_peer *peer,
                                     const void *head, uint32_t head_bytes, uint32_t payload_bytes)
{
    static const uint8_t payload[100] = "to be sealed";
    uint8_t room[LANE_HEADROOM + ANY_FRAME_BYTES];
    struct lane_outgoing outgoing = {
        .head = room + LANE_HEADROOM,
        .head_bytes = head_bytes,
        .payload = payload,
        .payload_bytes = payload_bytes,
    };

    memcpy(room + LANE_HEADROOM, head, head_bytes);
    assert_int_equal(route_send(&stranger->core->routes, &peer->route, 0, &outgoing, 1), 1);
    assert_memory_equal(room + LANE_HEADROOM, head, head_bytes); /* it may be sent again */
    round_trip(stranger);
    assert_true(hear(stranger));
    return &stranger->heard;
}

/** Ethernet makes frames as long as that, and nobody knows with what. */
STRANGER_TEST(route_send_sealed__short_data_has_its_padding)
{
    struct end end;
    struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);
    const struct frame_data head = frame_encode_data(CLUSTER_ENDPOINT, peer->message.key, 7);

    for (uint32_t bytes = 1; bytes < 10; bytes++) {
        const struct frame *data = hear_sent(stranger, peer, &head, sizeof head, bytes);
        uint32_t padded = bytes < 6 ? 6 : bytes;
        assert_int_equal(stranger->heard_bytes, 40 + padded);
        assert_int_equal(data->type, FRAME_DATA);
        assert_true(frame_data_has(data, bytes));
        assert_memory_equal(data->payload, "to be sealed", bytes);
        assert_true(seal_is_right(&end.seal, data));
    }
}

/** Data that was copied behind the head, as that of bundles. */
STRANGER_TEST(route_send_sealed__data_in_the_head)
{
    struct end end;
    struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);
    uint8_t head[300];

    memset(head, 0x11, sizeof head);
    frame_encode(
        head, &(struct frame_fields){.type = FRAME_BUNDLE,
                                     .destination = CLUSTER_ENDPOINT,
                                     .source = CLUSTER_ENDPOINT,
                                     .key = peer->message.key,
                                     .payload_bytes = sizeof head - sizeof(struct frame_header)});
    const struct frame *bundle = hear_sent(stranger, peer, head, sizeof head, 0);
    assert_int_equal(bundle->payload_bytes, sizeof head - sizeof(struct frame_header));
    assert_memory_equal(bundle->payload, head + sizeof(struct frame_header), bundle->payload_bytes);
    assert_true(seal_is_right(&end.seal, bundle));
}

STRANGER_TEST(core_seal_is_right__not_without_one)
{
    struct end end;
    const struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);

    say_eager(stranger, 1, "a", 1);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_seal, 1);
    assert_int_equal(peer->message.flow.expected, 0);
}

STRANGER_TEST(core_seal_is_right__not_altered_nor_again)
{
    const struct frame_eager eager = empty();
    struct end end;
    const struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);

    say_sealed(stranger, &end, FRAME_EAGER, 0, &eager, sizeof eager);
    assert_int_equal(peer->message.flow.expected, 1);
    say_raw(stranger, end.said, end.said_bytes);
    end.said[offsetof(struct frame_header, sequence)] ^= 1; /* it would be the next */
    say_raw(stranger, end.said, end.said_bytes);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_seal, 2);
    assert_int_equal(peer->message.flow.expected, 1);
}

/** What comes early is kept, without its seal. */
STRANGER_TEST(core_seal_is_right__of_what_comes_early)
{
    const struct frame_eager eager = empty();
    struct end end;
    const struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);

    say_sealed(stranger, &end, FRAME_EAGER, 1, &eager, sizeof eager);
    assert_int_equal(peer->message.flow.expected, 0);
    say_sealed(stranger, &end, FRAME_EAGER, 0, &eager, sizeof eager);
    assert_int_equal(peer->message.flow.expected, 2);
}

/** Of a connection that is not sealed. */
STRANGER_TEST(core_seal_is_right__where_there_should_be_none)
{
    const struct frame_eager eager = empty();
    struct end end;
    const struct core_peer *peer = be_accepted_as_named(stranger);

    stranger->heard.connect = &(struct frame_connect){.nonce = "any"};
    begin_seal(stranger, &end.seal);
    say_sealed(stranger, &end, FRAME_EAGER, 0, &eager, sizeof eager);
    assert_int_equal(stranger->core->counters.dropped_seal, 1);
    assert_int_equal(peer->message.flow.expected, 0);
}

static void say_reset(struct stranger *stranger)
{
    const struct frame_reset body = {.echoed_key = to_le32(STRANGER_KEY),
                                     .reason = to_le32(FRAME_RESET_UNKNOWN)};

    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &body});
    round_trip(stranger);
}

/** Anybody may have said so who has seen a frame: the peer is asked, and it answers. */
TEST_AROUND(core_receive_reset__of_a_peer_that_is_there, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    const struct frame_eager eager = empty();
    struct end end;
    const struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);

    for (uint32_t i = 0; i < 40; i++) {
        say_reset(stranger);
        pass(stranger, 2 * SUSPICION_QUESTION_NS);
        bool asked = false;
        while (hear(stranger)) {
            asked = asked || stranger->heard.type == FRAME_PROBE;
        }
        assert_true(asked);
        say_sealed(stranger, &end, FRAME_EAGER, i, &eager, sizeof eager);
    }
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->message.flow.expected, 40);
}

/** What has no seal ends nothing: whoever has put himself on the path may say so for a while, and
 *  hold back what the peer says. */
TEST_AROUND(core_receive_reset__of_a_peer_that_is_not_heard, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct end end;
    struct core_peer *peer = be_sealed(stranger, &end, FRAME_FEATURE_SEAL_WANTED);
    uint64_t passed = 0;

    assert_int_equal(cluster_inject(&stranger->cluster, 0, peer, 1, 0, "x", 1), 0);
    for (; passed < PEER_TIMEOUT_NS; passed += SUSPICION_QUESTION_NS) {
        assert_int_equal(peer->connection.state, CONNECTION_OPEN);
        say_reset(stranger);
        pass(stranger, SUSPICION_QUESTION_NS);
        while (hear(stranger)) {
        }
    }
    pass(stranger, 2 * (uint64_t)SUSPICION_QUESTION_NS);
    assert_int_equal(peer->message.error, -ETIMEDOUT);
}
