/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"
#include "frame/checksum.h"

#include "stranger.h"

#define CHECKING ((uint32_t)FRAME_FEATURE_SELECTIVE | (uint32_t)FRAME_FEATURE_CHECKSUM)
#define TEXT "whole"

/** As be_accepted_as_named(), with these features offered. */
static struct core_peer *be_accepted_with(struct stranger *stranger, uint32_t features)
{
    struct frame_connect body = connect_body(stranger);
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    body.features = to_le32(features);
    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *accept = hear_type(stranger, FRAME_ACCEPT);
    assert_null(accept->checksum);
    assert_int_equal(from_le32(accept->connect->features) & FRAME_FEATURE_CHECKSUM,
                     peer->route.checked ? FRAME_FEATURE_CHECKSUM : 0);
    stranger->core_key = from_le32(accept->connect->key);
    return peer;
}

/** A message with a checksum, which the core has room for. @return its bytes */
static uint32_t make_eager(const struct stranger *stranger, uint8_t frame[100], uint32_t sequence)
{
    const struct frame_eager body = {.tag = to_le64(1), .message_bytes = to_le32(sizeof TEXT)};
    uint32_t head_bytes = (uint32_t)frame_head_bytes(FRAME_EAGER);

    frame_encode(frame, &(struct frame_fields){.type = FRAME_EAGER,
                                               .destination = CLUSTER_ENDPOINT,
                                               .source = CLUSTER_ENDPOINT,
                                               .key = stranger->core_key,
                                               .sequence = sequence,
                                               .payload_bytes = sizeof TEXT});
    frame_stamp(frame, 0, 0, STRANGER_CREDIT);
    memcpy(frame + sizeof(struct frame_header), &body, sizeof body);
    memcpy(frame + head_bytes, TEXT, sizeof TEXT);
    checksum_write(frame, head_bytes, frame + head_bytes, sizeof TEXT);
    return head_bytes + (uint32_t)sizeof TEXT;
}

/** Opens the connection by a message that is whole. */
static void open_connection(struct stranger *stranger, struct core_peer *peer)
{
    uint8_t frame[100];

    say_raw(stranger, frame, make_eager(stranger, frame, 0));
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->message.flow.expected, 1);
    while (hear(stranger)) {
    }
}

STRANGER_TEST(core_begin_checksums__if_both_offer_them)
{
    assert_true(be_accepted_with(stranger, CHECKING)->route.checked);
    be_another(stranger, 5);
    assert_false(be_accepted_with(stranger, FRAME_FEATURE_SELECTIVE)->route.checked);
    be_another(stranger, 6);
    stranger->core->options.checksums = false;
    assert_false(be_accepted_with(stranger, CHECKING)->route.checked);
}

/** A seal says more. */
STRANGER_TEST(core_begin_checksums__not_where_frames_are_sealed)
{
    const struct core_peer *peer =
        be_accepted_with(stranger, CHECKING | FRAME_FEATURE_SEAL | FRAME_FEATURE_SEAL_WANTED);

    assert_non_null(peer->route.seal);
    assert_false(peer->route.checked);
}

STRANGER_TEST(route_write_checksums__of_all_that_is_said)
{
    static uint8_t text[4000];
    struct core_peer *peer = be_accepted_with(stranger, CHECKING);
    unsigned said = 0;

    open_connection(stranger, peer);
    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, text, sizeof text, NULL), 0);
    round_trip(stranger);
    while (hear(stranger)) {
        assert_non_null(stranger->heard.checksum);
        assert_true(checksum_is_right(stranger->wire, &stranger->heard));
        said++;
    }
    assert_true(said >= 3);
}

TEST(route_write_checksums__does_not_look_at_data_that_needs_none)
{
    const struct lane lane = {.needs_checksum = false};
    struct frame_data head = frame_encode_data(1, 2, 3);
    const struct frame_data before = head;
    /* The second is at no address. */
    const struct lane_outgoing frames[] = {{.head = (uint8_t *)&head, .head_bytes = sizeof head},
                                           {.head = NULL, .head_bytes = sizeof head}};

    route_write_checksums(&lane, frames, 2);
    assert_memory_equal(&head, &before, sizeof head);
}

/** An endpoint that is older sees nothing of it. */
STRANGER_TEST(route_write_checksums__not_to_one_who_does_not_know_them)
{
    static uint8_t text[4000];
    struct core_peer *peer = be_accepted_as_named(stranger);

    assert_int_equal(cluster_send(&stranger->cluster, 0, peer, 1, 0, text, sizeof text, NULL), 0);
    round_trip(stranger);
    while (hear(stranger)) {
        assert_null(stranger->heard.checksum);
        assert_int_equal(stranger->heard.flags & 0xFF00, 0);
    }
}

/** Whatever bit it is, nothing comes of the frame but a count, and a name for the link. */
TEST_AROUND(core_receive_frame__damaged_ones_are_dropped, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_with(stranger, CHECKING);
    uint8_t frame[100];
    uint64_t bits = 0;

    open_connection(stranger, peer);
    uint32_t bytes = make_eager(stranger, frame, 1);
    for (uint32_t at = 0; at < bytes; at++) {
        frame[at] ^= (uint8_t)(1u << at % 8);
        say_raw(stranger, frame, bytes);
        frame[at] ^= (uint8_t)(1u << at % 8);
        round_trip(stranger);
        bits++;
    }
    const struct core_counters *counters = &stranger->core->counters;
    uint64_t dropped = counters->dropped_damaged;
    for (unsigned i = 0; i < FRAME_VERDICTS; i++) {
        dropped += counters->dropped[i];
    }
    assert_int_equal(dropped, bits);
    assert_true(counters->dropped_damaged > bits / 2);
    assert_int_equal(counters->dropped_damaged, stranger->core->damage[0].frames);
    assert_int_equal(counters->dropped_damaged,
                     stranger->core->options.lanes.lanes[0]->damaged_frames);
    assert_int_equal(stranger->core->damaged_links, 1);
    assert_int_equal(stranger->core->damage[0].handle, peer->message.handle);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(peer->message.flow.expected, 1);
    say_raw(stranger, frame, bytes);
    round_trip(stranger);
    assert_int_equal(peer->message.flow.expected, 2);
}

/** That there is a checksum is said by a bit, too. */
STRANGER_TEST(core_receive_frame__without_a_checksum)
{
    struct core_peer *peer = be_accepted_with(stranger, CHECKING);

    open_connection(stranger, peer);
    stranger->sequence = 1;
    say_eager(stranger, 1, TEXT, sizeof TEXT);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_damaged, 1);
    assert_int_equal(peer->message.flow.expected, 1);
}

/** What refuses a frame that had a checksum has one, or was damaged. */
TEST_AROUND(core_receive_reset__without_a_checksum, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_with(stranger, CHECKING);
    const struct frame_reset body = {.echoed_key = to_le32(STRANGER_KEY),
                                     .reason = to_le32(FRAME_RESET_UNKNOWN)};
    uint8_t frame[sizeof(struct frame_header) + sizeof body];

    open_connection(stranger, peer);
    say(stranger, &(struct says){.fields.type = FRAME_RESET, .body = &body});
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(stranger->core->counters.dropped_damaged, 1);
    frame_encode(frame, &(struct frame_fields){.type = FRAME_RESET,
                                               .destination = CLUSTER_ENDPOINT,
                                               .source = CLUSTER_ENDPOINT});
    memcpy(frame + sizeof(struct frame_header), &body, sizeof body);
    checksum_write(frame, sizeof frame, NULL, 0);
    say_raw(stranger, frame, sizeof frame);
    round_trip(stranger);
    assert_int_equal(peer->connection.state, CONNECTION_FAILED);
}

/** One that refuses a frame with a checksum: whoever has sent that knows them. */
STRANGER_TEST(control_send_reset__with_a_checksum)
{
    uint8_t frame[100];

    stranger->core_key = 12345;
    say_raw(stranger, frame, make_eager(stranger, frame, 0));
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_RESET);
    assert_non_null(stranger->heard.checksum);
    assert_true(checksum_is_right(stranger->wire, &stranger->heard));
    say_eager(stranger, 1, TEXT, sizeof TEXT);
    round_trip(stranger);
    (void)hear_type(stranger, FRAME_RESET);
    assert_null(stranger->heard.checksum);
}

/** DATA is as long as without, so less is in it; other frames have room for it anyway. */
TEST_AROUND(lengths_begin__room_for_the_checksum_of_data, stranger_setup, stranger_teardown)
{
    const struct core_peer *peer = be_accepted_with(*state, CHECKING);

    assert_int_equal(peer->message.data_bytes, 1500 - 4);
    assert_int_equal(peer->message.frame_bytes, 1500);
}
