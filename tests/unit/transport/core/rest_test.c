/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/core_internal.h"

#include "stranger.h"

#define NAME 7
#define PART_BYTES 400
#define PARTS 6 /* of the message: the EAGER and five FRAGMENTs */
#define MESSAGE_BYTES (PARTS * PART_BYTES)

/** FRAGMENTs as a lane that cuts hands them out. */
struct parts {
    struct {
        struct frame_header header;
        struct frame_fragment fragment;
    } heads[PARTS];
    struct lane_incoming incoming[PARTS];
};

static uint8_t *message(void)
{
    static uint8_t bytes[MESSAGE_BYTES];

    for (unsigned i = 0; i < MESSAGE_BYTES; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    return bytes;
}

/** Fragment `i` (from 1 on) of the message, as if its EAGER had sequence 0. */
static void load(const struct stranger *stranger, struct parts *parts, unsigned i)
{
    frame_encode((uint8_t *)&parts->heads[i].header,
                 &(struct frame_fields){.type = FRAME_FRAGMENT,
                                        .destination = CLUSTER_ENDPOINT,
                                        .key = stranger->core_key,
                                        .sequence = i,
                                        .payload_bytes = PART_BYTES});
    parts->heads[i].fragment = (struct frame_fragment){.message = to_le16(NAME),
                                                       .offset = to_le64((uint64_t)i * PART_BYTES)};
    parts->incoming[i] = (struct lane_incoming){
        .data = (const uint8_t *)&parts->heads[i],
        .bytes = sizeof parts->heads[i] + PART_BYTES,
        .payload = message() + (size_t)i * PART_BYTES,
        .tacit = true,
        .from = sim_address(1, 0),
    };
}

/** The stranger says the first frame of the message, over a lane of which is said that it cuts. */
static struct core_peer *begin(struct stranger *stranger, struct parts *parts, void *buffer)
{
    const struct frame_eager eager = {
        .tag = to_le64(1), .message_bytes = to_le32(MESSAGE_BYTES), .message = to_le16(NAME)};
    struct core_peer *peer = be_accepted(stranger);

    if (buffer != NULL) {
        assert_int_equal(
            cluster_receive(&stranger->cluster, 0, NULL, 1, 0, buffer, MESSAGE_BYTES, NULL), 0);
    }
    say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .payload_bytes = PART_BYTES},
                                 .body = &eager,
                                 .payload = message()});
    round_trip(stranger);
    for (unsigned i = 1; i < PARTS; i++) {
        load(stranger, parts, i);
    }
    stranger->core->options.lanes.lanes[0]->cuts = true;
    return peer;
}

static unsigned take(struct stranger *stranger, const struct parts *parts, unsigned from,
                     unsigned count)
{
    return core_receive_rest(stranger->core, stranger->core->peers[0], 0, &parts->incoming[from],
                             count, cluster_now(&stranger->cluster));
}

static void say_part(struct stranger *stranger, const struct parts *parts, unsigned i)
{
    say(stranger,
        &(struct says){
            .fields = {.type = FRAME_FRAGMENT, .sequence = i, .payload_bytes = PART_BYTES},
            .body = &parts->heads[i].fragment,
            .payload = message() + (size_t)i * PART_BYTES});
    round_trip(stranger);
}

STRANGER_TEST(core_receive_rest__all_but_the_last)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES] = {0};
    struct beowire_completion done;

    struct core_peer *peer = begin(stranger, &parts, buffer);
    assert_true(message_is_half_here(&peer->message));
    assert_int_equal(take(stranger, &parts, 1, PARTS - 1), PARTS - 2);
    assert_int_equal(peer->message.flow.expected, PARTS - 1);
    assert_false(flow_has_gap(&peer->message.flow));
    assert_int_equal(stranger->core->counters.received[FRAME_FRAGMENT], PARTS - 2);
    assert_false(message_complete(&stranger->core->messages, &done));
    say_part(stranger, &parts, PARTS - 1);
    assert_true(message_complete(&stranger->core->messages, &done));
    assert_int_equal(done.status, 0);
    assert_memory_equal(buffer, message(), MESSAGE_BYTES);
    assert_false(message_is_half_here(&peer->message));
    cluster_check(&stranger->cluster);
}

/** Of a connection whose frames are sealed: what has no seal is not the peer's. */
STRANGER_TEST(core_receive_rest__not_without_its_seal)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES] = {0};

    struct core_peer *peer = begin(stranger, &parts, buffer);
    peer->route.seal = calloc(1, sizeof *peer->route.seal);
    assert_non_null(peer->route.seal);
    assert_int_equal(take(stranger, &parts, 1, PARTS - 1), 0);
    assert_int_equal(peer->message.flow.expected, 1);
}

/** Where the data follows the head, as lanes hand out what they have not joined. */
STRANGER_TEST(core_receive_rest__data_behind_the_head)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES] = {0};
    uint8_t wire[sizeof parts.heads[1] + PART_BYTES];

    (void)begin(stranger, &parts, buffer);
    memcpy(wire, &parts.heads[1], sizeof parts.heads[1]);
    memcpy(wire + sizeof parts.heads[1], message() + PART_BYTES, PART_BYTES);
    parts.incoming[1].data = wire;
    parts.incoming[1].payload = NULL;
    assert_int_equal(take(stranger, &parts, 1, 2), 2);
    assert_memory_equal(buffer, message(), (size_t)3 * PART_BYTES);
}

/** What is owed, granted and reserved afterwards is the same as if they had come one by one. */
TEST_AROUND(core_receive_rest__counts_as_one_by_one, stranger_setup, stranger_teardown)
{
    struct stranger *together = *state;
    struct stranger *single = NULL;
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    assert_int_equal(stranger_setup((void **)&single), 0);
    struct core_peer *one = begin(together, &parts, buffer);
    assert_int_equal(take(together, &parts, 1, PARTS - 2), PARTS - 2);
    struct core_peer *other = begin(single, &parts, buffer);
    single->core->options.lanes.lanes[0]->cuts = false;
    for (unsigned i = 1; i < PARTS - 1; i++) {
        say_part(single, &parts, i);
    }
    assert_int_equal(one->message.flow.expected, other->message.flow.expected);
    assert_int_equal(one->message.flow.seen, other->message.flow.seen);
    assert_int_equal(one->message.flow.granted, other->message.flow.granted);
    assert_int_equal(one->message.window_frames, other->message.window_frames);
    assert_int_equal(one->message.chunks, other->message.chunks);
    assert_int_equal(together->core->messages.chunks_shared, single->core->messages.chunks_shared);
    assert_int_equal(stranger_teardown((void **)&single), 0);
}

/** An acknowledgement is due after as many frames, and not later than after one. */
STRANGER_TEST(core_receive_rest__is_acknowledged)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    struct core_peer *peer = begin(stranger, &parts, buffer);
    pass(stranger, 1000000);
    assert_int_equal(hear_type(stranger, FRAME_ACK)->acknowledgement, 1);
    assert_int_equal(peer->message.flow.unacknowledged, 0);
    assert_int_equal(take(stranger, &parts, 1, 3), 3);
    assert_int_equal(peer->message.flow.unacknowledged, 3);
    assert_int_equal(peer->message.flow.acknowledge_at_ns,
                     cluster_now(&stranger->cluster) + FLOW_ACK_DELAY_NS);
}

/** An acknowledgement that is due already is not put off. */
STRANGER_TEST(core_receive_rest__what_was_owed_is_owed)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    struct core_peer *peer = begin(stranger, &parts, buffer);
    assert_int_equal(peer->message.flow.unacknowledged, 1);
    uint64_t due_ns = peer->message.flow.acknowledge_at_ns;
    assert_true(due_ns < cluster_now(&stranger->cluster) + FLOW_ACK_DELAY_NS);
    assert_int_equal(take(stranger, &parts, 1, 3), 3);
    assert_int_equal(peer->message.flow.acknowledge_at_ns, due_ns);
}

/** It is left to whoever looks at frames one by one. */
STRANGER_TEST(core_receive_rest__leaves_what_is_not_plain)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    struct core_peer *peer = begin(stranger, &parts, buffer);
    parts.heads[1].header.sequence = to_le32(2);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].fragment.offset = to_le64((uint64_t)2 * PART_BYTES);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.incoming[1].tacit = false;
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.incoming[1].damaged = true;
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.incoming[1].segment_bytes = PART_BYTES;
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.incoming[1].from = sim_address(2, 0);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].header.key = to_le32(stranger->core_key ^ 1);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].header.flags = to_le16(FRAME_ACK_REQUEST);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].header.type = FRAME_REPLY; /* whose head is as long */
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].header.payload_bytes = to_le16(PART_BYTES + 1); /* more than has come */
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    parts.heads[1].fragment.message = to_le16(NAME + 1);
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    load(stranger, &parts, 1);
    stranger->core->options.lanes.lanes[0]->frame_bytes = parts.incoming[1].bytes - 1;
    assert_int_equal(take(stranger, &parts, 1, 1), 0);
    assert_int_equal(peer->message.flow.expected, 1);
    stranger->core->options.lanes.lanes[0]->frame_bytes = parts.incoming[1].bytes;
    assert_int_equal(take(stranger, &parts, 1, 1), 1);
}

STRANGER_TEST(core_receive_rest__not_beyond_the_credit)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    struct core_peer *peer = begin(stranger, &parts, buffer);
    peer->message.flow.granted = 3;
    assert_int_equal(take(stranger, &parts, 1, 4), 2);
}

STRANGER_TEST(core_receive_rest__something_is_missing_before)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    struct core_peer *peer = begin(stranger, &parts, buffer);
    stranger->core->options.lanes.lanes[0]->cuts = false;
    say_part(stranger, &parts, 3);
    stranger->core->options.lanes.lanes[0]->cuts = true;
    assert_true(flow_has_gap(&peer->message.flow));
    assert_int_equal(take(stranger, &parts, 1, 2), 0);
}

STRANGER_TEST(core_receive_rest__the_peer_has_failed)
{
    struct parts parts;
    uint8_t buffer[MESSAGE_BYTES];

    (void)begin(stranger, &parts, buffer);
    stranger->core->options.lanes.lanes[0]->cuts = false;
    say(stranger, &(struct says){.fields.type = FRAME_CLOSE});
    round_trip(stranger);
    stranger->core->options.lanes.lanes[0]->cuts = true;
    assert_int_equal(take(stranger, &parts, 1, 2), 0);
}

/* ---- messages of which only half is here ---------------------------------------------------- */

/** The core's peer, which has so much credit that it needs none soon. */
static void have_credit(struct stranger *stranger)
{
    struct flow *flow = &be_accepted(stranger)->message.flow;

    flow->granted = flow->granted_sent = FLOW_WINDOW_FRAMES;
}

/** The first `frames` frames of a message, of one byte each, come at once. */
static void say_half(struct stranger *stranger, unsigned frames, uint32_t bytes)
{
    const struct frame_eager eager = {
        .tag = to_le64(1), .message_bytes = to_le32(bytes), .message = to_le16(7)};

    say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .payload_bytes = 1},
                                 .body = &eager,
                                 .payload = "x"});
    for (unsigned i = 1; i < frames; i++) {
        const struct frame_fragment fragment = {.message = to_le16(7), .offset = to_le64(i)};
        say(stranger, &(struct says){.fields = {.type = FRAME_FRAGMENT, .payload_bytes = 1},
                                     .body = &fragment,
                                     .payload = "x"});
    }
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
}

/** One part more, of one byte. */
static void say_more(struct stranger *stranger, uint64_t offset, uint64_t at_ns)
{
    const struct frame_fragment fragment = {.message = to_le16(7), .offset = to_le64(offset)};

    say(stranger, &(struct says){.fields = {.type = FRAME_FRAGMENT, .payload_bytes = 1},
                                 .body = &fragment,
                                 .payload = "x"});
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + at_ns);
}

/** Of a message that is received into `buffer`, as much has come as calls for an ACK, and has been
 *  looked at. */
static void half_is_here(struct stranger *stranger, uint8_t *buffer, uint32_t bytes)
{
    have_credit(stranger);
    assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, buffer, bytes, NULL), 0);
    say_half(stranger, FLOW_ACK_EVERY_FRAMES, bytes);
    assert_int_equal(look(stranger), FLOW_ACK_EVERY_FRAMES);
}

/** The rest follows it: its acknowledgement, due for the number of frames, can go with the answer
 * to the message. But it waits for no more than one look. */
STRANGER_TEST(core_receive__half_a_message_waits_for_the_rest)
{
    uint8_t buffer[FLOW_ACK_EVERY_FRAMES + 1];

    half_is_here(stranger, buffer, sizeof buffer);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 0);
    assert_int_equal(look(stranger), 0);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/** Then the application goes first, as after a message that has come in one. */
STRANGER_TEST(core_receive__the_rest_has_come)
{
    uint8_t buffer[FLOW_ACK_EVERY_FRAMES + 1];

    half_is_here(stranger, buffer, sizeof buffer);
    say_more(stranger, FLOW_ACK_EVERY_FRAMES, 40000);
    assert_int_equal(look(stranger), 1);
    assert_int_equal(completed(stranger).bytes, sizeof buffer);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 0);
    assert_int_equal(look(stranger), 0);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/** Not if the sender has no credit for it until we answer. */
STRANGER_TEST(core_receive__half_a_message_for_which_credit_is_needed)
{
    uint8_t buffer[FLOW_INITIAL_CREDIT_FRAMES + 1];

    (void)be_accepted(stranger);
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, NULL, 1, 0, buffer, sizeof buffer, NULL), 0);
    say_half(stranger, FLOW_INITIAL_CREDIT_FRAMES, sizeof buffer);
    assert_int_equal(look(stranger), FLOW_INITIAL_CREDIT_FRAMES);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/** Who asks with the first frame waits for the whole message: it is answered with the last. */
STRANGER_TEST(core_receive__a_message_that_asks)
{
    const struct frame_eager eager = {
        .tag = to_le64(1), .message_bytes = to_le32(3), .message = to_le16(7)};

    (void)be_accepted(stranger);
    for (unsigned i = 0; i < 2; i++) { /* unexpected, and with a receive */
        char buffer[3];
        if (i == 1) {
            assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, buffer, 3, NULL),
                             0);
            assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 1, 0, buffer, 3, NULL),
                             0);
        }
        say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .payload_bytes = 1},
                                     .flags = FRAME_ACK_REQUEST,
                                     .body = &eager,
                                     .payload = "x"});
        for (unsigned at = 1; at < 3; at++) {
            pass(stranger, 21000);
            assert_int_equal(stranger->core->counters.sent[FRAME_ACK], i);
            const struct frame_fragment fragment = {.message = to_le16(7), .offset = to_le64(at)};
            say(stranger, &(struct says){.fields = {.type = FRAME_FRAGMENT, .payload_bytes = 1},
                                         .body = &fragment,
                                         .payload = "y"});
        }
        pass(stranger, 21000);
        assert_int_equal(stranger->core->counters.sent[FRAME_ACK], i + 1);
    }
}

/** Nor if it has asked for an answer. */
STRANGER_TEST(core_receive__half_a_message_that_asks)
{
    const struct frame_eager eager = {
        .tag = to_le64(1), .message_bytes = to_le32(3), .message = to_le16(7)};
    const struct frame_fragment fragment = {.message = to_le16(7), .offset = to_le64(1)};

    (void)be_accepted(stranger);
    say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .payload_bytes = 1},
                                 .body = &eager,
                                 .payload = "x"});
    say(stranger, &(struct says){.fields = {.type = FRAME_FRAGMENT, .payload_bytes = 1},
                                 .flags = FRAME_ACK_REQUEST,
                                 .body = &fragment,
                                 .payload = "y"});
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
    assert_int_equal(look(stranger), 2);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/** Nor after what was announced: the receiver asks for that. */
STRANGER_TEST(core_receive__an_announced_message_is_no_half)
{
    const struct frame_announce announce = {.tag = to_le64(1),
                                            .message_bytes = to_le64(5000),
                                            .message = to_le32(9),
                                            .segment_bytes = to_le16(1000)};

    have_credit(stranger);
    say(stranger, &(struct says){.fields.type = FRAME_ANNOUNCE, .body = &announce});
    round_trip(stranger);
    for (unsigned i = 0; i < FLOW_ACK_EVERY_FRAMES - 1; i++) {
        say_eager(stranger, 2, "a", 1);
    }
    sim_wire_advance(stranger->cluster.wire, cluster_now(&stranger->cluster) + 20000);
    assert_int_equal(look(stranger), FLOW_ACK_EVERY_FRAMES - 1);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/** And in a stream of halves it waits once: the next one is told of at once. */
STRANGER_TEST(core_receive__half_and_half_again)
{
    uint8_t buffer[FLOW_ACK_EVERY_FRAMES + 3];

    half_is_here(stranger, buffer, sizeof buffer);
    say_more(stranger, FLOW_ACK_EVERY_FRAMES, 40000);
    assert_int_equal(look(stranger), 1);
    assert_int_equal(stranger->core->counters.sent[FRAME_ACK], 1);
}

/* ---- loss ---------------------------------------------------------------------------------- */
