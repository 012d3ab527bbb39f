/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/lengths.h"

#include "stranger.h"

/** Connects from the stranger's side, and says nothing more. @return the core's peer. */
static struct core_peer *be_answered(struct stranger *stranger, uint16_t asked, uint16_t answered)
{
    struct frame_connect body = connect_body(stranger);

    body.frame_bytes = to_le16(asked);
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame_connect *accept = hear_type(stranger, FRAME_ACCEPT)->connect;
    stranger->core_key = from_le32(accept->key);
    assert_int_equal(from_le16(accept->frame_bytes), answered);
    return stranger->core->peers[0];
}

/** The peer says that it has the answer. */
static void confirm(struct stranger *stranger)
{
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .credit = STRANGER_CREDIT});
    round_trip(stranger);
}

/** It is not known whether the answer has arrived, which is as long as what may follow. */
STRANGER_TEST(lengths_begin__nothing_until_the_peer_is_heard)
{
    static const uint8_t text[1400] = {0};
    struct core_peer *peer = be_answered(stranger, 1500, 1500);

    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, text, sizeof text, NULL), 0);
    round_trip(stranger);
    assert_false(hear(stranger));
    confirm(stranger);
    assert_int_equal(peer->message.frame_bytes, 1500);
    assert_int_equal(peer->message.data_bytes, 1500);
    (void)hear_type(stranger, FRAME_EAGER);
    assert_int_equal(stranger->heard_bytes, 1400 + 46);
}

static int announced_error(struct stranger *stranger, const struct core_peer *peer,
                           uint16_t segment_bytes, uint32_t name)
{
    const struct frame_announce announce = {
        .tag = to_le64(1),
        .message_bytes = to_le64(100000),
        .message = to_le32(name),
        .segment_bytes = to_le16(segment_bytes),
    };

    say(stranger, &(struct says){.fields.type = FRAME_ANNOUNCE, .body = &announce});
    round_trip(stranger);
    return peer->message.error;
}

/** What the peer announces comes in DATA that is no longer than the connection's has ever been. */
STRANGER_TEST(lengths_begin__longest_segment)
{
    const struct core_peer *peer = be_answered(stranger, 1000, 1000);

    assert_int_equal(announced_error(stranger, peer, 1000 - 16, 1), 0);
    assert_int_equal(peer->message.data_bytes, 1000);
    assert_int_equal(announced_error(stranger, peer, 1001 - 16, 2), -EPROTO);
}

/** Frames have become shorter, but what was announced before may be on its way. */
STRANGER_TEST(lengths_shorten__longest_segment_stays)
{
    const struct core_peer *peer = be_accepted(stranger);
    struct frame_connect body = connect_body(stranger);

    body.frame_bytes = to_le16(1200);
    for (unsigned i = 0; i < CONNECTION_LONG_ACCEPTS + 1; i++) {
        say_connect(stranger, &body);
        round_trip(stranger);
    }
    assert_int_equal(peer->message.data_bytes, 1200);
    assert_int_equal(announced_error(stranger, peer, 1500 - 16, 1), 0);
    assert_int_equal(announced_error(stranger, peer, 60000, 2), -EPROTO);
}

/** Asks until something is sent so often. */
static struct core_peer *ask(struct stranger *stranger, unsigned attempts)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, "x", 1, NULL), 0);
    while (peer->connection.attempts < attempts) {
        pass(stranger, 100000);
    }
    pass(stranger, 100000);
    while (hear(stranger)) {
        assert_int_equal(stranger->heard.type, FRAME_CONNECT);
        stranger->core_key = from_le32(stranger->heard.connect->key);
    }
    return peer;
}

STRANGER_TEST(lengths_begin__an_answer_says_what_arrives)
{
    const struct core_peer *peer = ask(stranger, 1);
    struct frame_connect body = connect_body(stranger);

    body.echoed_key = to_le32(stranger->core_key);
    say(stranger, &(struct says){.fields.type = FRAME_ACCEPT, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->message.frame_bytes, 1500);
}

/** How it is said is in core_test.c: ask_and_hear(). */
STRANGER_TEST(lengths_shorten__also_what_is_known_to_arrive)
{
    struct core_peer *peer = be_answered(stranger, 1500, 1500);
    struct frame_connect body = connect_body(stranger);
    const struct frame frame = {.type = FRAME_CONNECT, .connect = &body};

    confirm(stranger);
    body.frame_bytes = to_le16(1300);
    lengths_shorten(stranger->core, peer, &frame);
    assert_int_equal(peer->message.frame_bytes, 1500);
    peer->accepts_sent = CONNECTION_LONG_ACCEPTS;
    lengths_shorten(stranger->core, peer, &frame);
    assert_int_equal(peer->message.frame_bytes, 1300);
    body.frame_bytes = to_le16(1400);
    lengths_shorten(stranger->core, peer, &frame);
    assert_int_equal(peer->message.frame_bytes, 1300);
}
