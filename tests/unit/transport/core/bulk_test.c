/* SPDX-License-Identifier: BSD-3-Clause */
#include "stranger.h"

#include "core/core_internal.h"
#include "message/state.h"
#include "pull/pull.h"

#define SEGMENT ((size_t)1500 - 16)
#define LONG_BYTES ((size_t)200000)
#define NAME 77 /**< of the stranger's message */

static uint8_t *pattern(size_t bytes)
{
    uint8_t *data = malloc(bytes);

    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(i * 7 + i / 251);
    }
    return data;
}

/* ---- lanes --------------------------------------------------------------------------------- */

TEST(core_choose_bulk_lanes__the_best_that_work)
{
    static const enum lane_bulk bulk[] = {LANE_BULK_FRAMES, LANE_BULK_TRAINS, LANE_BULK_FRAMES,
                                          LANE_BULK_TRAINS, LANE_BULK_TRAINS};
    struct core *core = calloc(1, sizeof *core);
    struct core_peer *peer = calloc(1, sizeof *peer);
    struct lane lanes[5] = {0};

    assert_true(core != NULL && peer != NULL);
    list_init(&core->messages.pulls);
    core->options.lanes.count = 5;
    for (unsigned i = 0; i < 5; i++) {
        lanes[i].bulk = bulk[i];
        core->options.lanes.lanes[i] = &lanes[i];
    }
    peer->route.paths.reachable = 0x1F;
    peer->route.paths.proven = 0x0F; /* the last should reach it, and nobody knows yet */
    core->options.packet_bulk_rails = 1u << lanes[0].rail; /* as was measured here */
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x05);
    assert_int_equal(peer->message.usable_lanes, 0x0F);
    core->options.packet_bulk_rails = 0;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x0A);
    assert_int_equal(peer->message.usable_lanes, 0x0F);
    core->options.lanes.down[1] = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x08);
    assert_int_equal(peer->message.usable_lanes, 0x0D);
    core->options.lanes.down[3] = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x05);
    assert_int_equal(peer->message.usable_lanes, 0x05);
    core->options.lanes.down[0] = core->options.lanes.down[2] = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0);
    assert_int_equal(peer->message.usable_lanes, 0);
    assert_false(peer->message.cut);
    memset(core->options.lanes.down, 0, sizeof core->options.lanes.down);
    lanes[3].bulk = LANE_BULK_CUT;
    lanes[3].cuts = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x08);
    assert_int_equal(peer->message.usable_lanes, 0x0F);
    assert_true(peer->message.cut);
    lanes[1].bulk = LANE_BULK_MEMORY; /* which nothing that is measured beats */
    core->options.packet_bulk_rails = 1u << lanes[0].rail;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x02);
    lanes[1].bulk = LANE_BULK_LAST; /* the last */
    core->options.lanes.down[0] = core->options.lanes.down[2] = core->options.lanes.down[3] = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 0x02);
    free(core);
    free(peer);
}

/** What was measured on one interface says nothing of another one: both carry, each as it is better
 *  there. */
TEST(core_choose_bulk_lanes__frames_on_one_interface_beside_another)
{
    static const enum lane_bulk bulk[] = {LANE_BULK_FRAMES, LANE_BULK_FRAMES, LANE_BULK_CUT,
                                          LANE_BULK_CUT, LANE_BULK_TRAINS};
    struct core *core = calloc(1, sizeof *core);
    struct core_peer *peer = calloc(1, sizeof *peer);
    struct lane lanes[5] = {0};

    assert_true(core != NULL && peer != NULL);
    list_init(&core->messages.pulls);
    core->options.lanes.count = 5;
    for (uint8_t i = 0; i < 5; i++) {
        lanes[i].bulk = bulk[i];
        lanes[i].cuts = bulk[i] == LANE_BULK_CUT;
        lanes[i].rail = i % 2;
        core->options.lanes.lanes[i] = &lanes[i];
    }
    peer->route.paths.reachable = peer->route.paths.proven = 0x1F;
    core->options.packet_bulk_rails = 1u << 1;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 1u << 1 | 1u << 2);
    core->options.lanes.down[1] = true; /* then no worse than the rest of its interface */
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 1u << 2);
    core->options.lanes.down[2] = true;
    core_choose_bulk_lanes(core, peer);
    assert_int_equal(peer->message.bulk_lanes, 1u << 3 | 1u << 4);
    free(core);
    free(peer);
}

static struct lane_expectation told;
static unsigned times_told;

static void note_expectation(struct lane *lane, const struct lane_expectation *expectation)
{
    told = *expectation;
    times_told++;
}

/* ---- data in ------------------------------------------------------------------------------- */

/** The stranger announces a message that the core receives into `buffer`. */
static void say_announce(struct stranger *stranger, uint64_t bytes, void *buffer, uint64_t capacity)
{
    const struct frame_announce body = {
        .tag = to_le64(5),
        .message_bytes = to_le64(bytes),
        .message = to_le32(NAME),
        .segment_bytes = to_le16((uint16_t)SEGMENT),
    };

    assert_int_equal(cluster_receive(&stranger->cluster, 0, NULL, 5, 0, buffer, capacity, buffer),
                     0);
    say(stranger, &(struct says){.fields.type = FRAME_ANNOUNCE, .body = &body});
}

static void announce(struct stranger *stranger, uint64_t bytes, void *buffer, uint64_t capacity)
{
    say_announce(stranger, bytes, buffer, capacity);
    round_trip(stranger);
}

static void say_data(struct stranger *stranger, uint32_t message, uint64_t offset,
                     const uint8_t *data, uint16_t bytes)
{
    uint8_t wire[1500];
    struct frame_data head = frame_encode_data(CLUSTER_ENDPOINT, stranger->core_key, message);

    frame_data_set_segment(&head, (uint32_t)(offset / SEGMENT));
    memcpy(wire, &head, sizeof head);
    memcpy(wire + sizeof head, data, bytes);
    say_raw(stranger, wire, (uint32_t)sizeof head + bytes);
}

/** Hears frames until one of this type comes. */
static const struct frame *hear_some(struct stranger *stranger, enum frame_type type)
{
    do {
        assert_true(hear(stranger));
    } while (stranger->heard.type != type);
    return &stranger->heard;
}

/** Answers every PULL. */
static void answer_pulls(struct stranger *stranger, const uint8_t *data, uint64_t bytes)
{
    while (hear(stranger)) {
        if (stranger->heard.type != FRAME_PULL) {
            continue;
        }
        struct frame_pull pull = *stranger->heard.pull;
        uint64_t offset = from_le64(pull.offset);
        assert_int_equal(from_le32(pull.message), NAME);
        assert_int_equal(pull.lane_kind, LANE_SIM);
        assert_int_equal(pull.lane_rail, 0);
        unsigned segments = 64 + from_le16(pull.more) * pull_block_segments(SEGMENT);
        for (unsigned i = 0; i < segments; i++, offset += SEGMENT) {
            bool wanted =
                i >= pull_block_segments(SEGMENT) || (from_le64(pull.wanted) >> i & 1) != 0;
            if (wanted && offset < bytes) {
                uint64_t left = bytes - offset;
                say_data(stranger, NAME, offset, data + offset,
                         (uint16_t)(left < SEGMENT ? left : SEGMENT));
            }
        }
    }
}

STRANGER_TEST(core_bulk__pulls_what_was_announced)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *buffer = calloc(1, LONG_BYTES);
    struct beowire_completion done;

    (void)be_accepted_as_named(stranger);
    announce(stranger, LONG_BYTES, buffer, LONG_BYTES);
    answer_pulls(stranger, data, LONG_BYTES);
    round_trip(stranger);
    assert_true(message_complete(&stranger->core->messages, &done));
    assert_int_equal(done.status, 0);
    assert_memory_equal(buffer, data, LONG_BYTES);
    assert_int_equal(from_le32(hear_some(stranger, FRAME_DONE)->done->message), NAME);
    assert_int_equal(stranger->core->counters.dropped_data_unknown, 0);
    assert_int_equal(stranger->core->counters.dropped_data_duplicate, 0);
    cluster_check(&stranger->cluster);
    free(data);
    free(buffer);
}

/** The lane takes this many frames in a million no longer. */
static void refuse(struct stranger *stranger, uint32_t refused_ppm)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    wire.refused_ppm = refused_ppm;
    sim_wire_set(stranger->cluster.wire, &wire);
}

STRANGER_TEST(core_bulk__a_request_that_a_lane_refuses_is_made_as_soon_as_there_is_room)
{
    struct core *core = stranger->core;
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *buffer = calloc(1, LONG_BYTES);
    struct beowire_completion done;

    (void)be_accepted_as_named(stranger);
    say_announce(stranger, LONG_BYTES, buffer, LONG_BYTES);
    refuse(stranger, 1000000);
    round_trip(stranger);
    assert_int_equal(core->counters.sent[FRAME_PULL], 0);
    assert_true(core_has_bulk(core) && core->bulk_is_stuck); /* whoever waits may sleep */
    uint64_t late_ns = pull_deadline(&core->messages);
    assert_true(late_ns > cluster_now(&stranger->cluster));
    refuse(stranger, 0);
    round_trip(stranger);
    assert_int_equal(core->counters.sent[FRAME_PULL], 1);
    assert_false(core_has_bulk(core));
    answer_pulls(stranger, data, LONG_BYTES);
    round_trip(stranger);
    assert_true(message_complete(&core->messages, &done));
    assert_memory_equal(buffer, data, LONG_BYTES);
    assert_true(cluster_now(&stranger->cluster) < late_ns);
    assert_int_equal(core->messages.counters.pulls_repeated, 0); /* it was never sent */
    cluster_check(&stranger->cluster);
    free(data);
    free(buffer);
}

STRANGER_TEST(core_bulk__asks_for_a_few_blocks_in_one_turn_and_goes_on)
{
    struct core *core = stranger->core;
    const uint64_t bytes = (uint64_t)PULL_BLOCKS * 64 * SEGMENT;
    uint8_t *buffer = calloc(1, bytes);

    (void)be_accepted_as_named(stranger);
    announce(stranger, bytes, buffer, bytes);
    const uint64_t asked = core->counters.sent[FRAME_PULL];
    assert_int_equal(asked, PULL_BLOCKS / PULL_BLOCKS_TOGETHER); /* nothing had to come for that */
    assert_false(core_has_bulk(core));
    uint64_t now_ns = pull_deadline(&core->messages); /* all are lost: all are asked for again */
    core_bulk(core, now_ns);
    const uint64_t at_once = core->counters.sent[FRAME_PULL] - asked;
    assert_in_range(at_once, 1, PULL_BLOCKS - 1);
    assert_true(core_has_bulk(core));
    assert_in_range(core->deadline_ns, 0, now_ns);
    for (unsigned i = 0; i < PULL_BLOCKS && core_has_bulk(core); i++) {
        core_bulk(core, now_ns);
    }
    assert_int_equal(core->counters.sent[FRAME_PULL], asked + PULL_BLOCKS); /* each by itself */
    assert_false(core_has_bulk(core));
    free(buffer);
}

TEST_AROUND(core_receive_bulk__drops_are_counted, stranger_setup, stranger_teardown)
{
    struct stranger *stranger = *state;
    uint8_t *data = pattern(3 * SEGMENT);
    uint8_t *buffer = calloc(1, 3 * SEGMENT);

    struct core_peer *peer = be_accepted_as_named(stranger);
    say_data(stranger, NAME, 0, data, SEGMENT); /* it has overtaken its ANNOUNCE */
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_data_unknown, 1);
    announce(stranger, 3 * SEGMENT, buffer, 3 * SEGMENT);
    say_data(stranger, NAME, SEGMENT, data + SEGMENT, SEGMENT);
    say_data(stranger, NAME, SEGMENT, data + SEGMENT, SEGMENT);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_data_duplicate, 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    free(data);
    free(buffer);
}

STRANGER_TEST(core_receive_bulk__data_that_is_no_segment_breaks_off)
{
    uint8_t *data = pattern(SEGMENT);
    uint8_t *buffer = calloc(1, 3 * SEGMENT);
    struct beowire_completion done;

    struct core_peer *peer = be_accepted_as_named(stranger);
    announce(stranger, 3 * SEGMENT, buffer, 3 * SEGMENT);
    say_data(stranger, NAME, 3 * SEGMENT, data, 1);
    round_trip(stranger);
    assert_int_equal(peer->message.error, -EPROTO);
    assert_int_equal(from_le32(hear_some(stranger, FRAME_RESET)->reset->reason),
                     FRAME_RESET_PROTOCOL);
    assert_true(message_complete(&stranger->core->messages, &done));
    assert_int_equal(done.status, -EPROTO);
    cluster_check(&stranger->cluster);
    free(data);
    free(buffer);
}

/** It does not say its length, so whatever is cut off or added is no segment. */
TEST(core_receive_bulk__data_of_another_length_breaks_off)
{
    const uint16_t lengths[] = {1, 30, SEGMENT - 1};
    uint8_t *data = pattern(SEGMENT);
    uint8_t *buffer = calloc(1, 2 * SEGMENT);

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        void *again = NULL;
        assert_int_equal(stranger_setup(&again), 0);
        struct stranger *stranger = again;
        struct core_peer *peer = be_accepted_as_named(stranger);
        announce(stranger, 2 * SEGMENT, buffer, 2 * SEGMENT);
        say_data(stranger, NAME, 0, data, lengths[i]);
        round_trip(stranger);
        assert_int_equal(peer->message.error, -EPROTO);
        assert_int_equal(from_le32(hear_some(stranger, FRAME_RESET)->reset->reason),
                         FRAME_RESET_PROTOCOL);
        assert_int_equal(stranger_teardown(&again), 0);
    }
    free(data);
    free(buffer);
}

STRANGER_TEST(core_receive_bulk__data_of_an_unknown_key_is_not_answered)
{
    (void)be_accepted_as_named(stranger);
    stranger->core_key ^= 1;
    say_data(stranger, NAME, 0, (const uint8_t *)"?", 1);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_key, 1);
    assert_false(hear(stranger));
}

TEST_AROUND(core_receive_bulk__data_from_another_place_is_dropped, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    uint8_t *data = pattern(2 * SEGMENT);
    uint8_t *buffer = calloc(1, 2 * SEGMENT);

    struct core_peer *peer = be_accepted_as_named(stranger);
    announce(stranger, 2 * SEGMENT, buffer, 2 * SEGMENT);
    peer->route.paths.to[0].bytes[0] ^= 1; /* it is elsewhere, and this is another one */
    say_data(stranger, NAME, 0, data, SEGMENT);
    round_trip(stranger);
    assert_int_equal(stranger->core->counters.dropped_source, 1);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_int_equal(buffer[1], 0);
    free(data);
    free(buffer);
}

STRANGER_TEST(core_expect__tells_the_lane_while_something_comes)
{
    struct lane *lane = stranger->core->options.lanes.lanes[0];
    static struct lane_operations operations; /* teardown uses them still */
    uint8_t *data = pattern(3 * SEGMENT);
    uint8_t *buffer = calloc(1, 3 * SEGMENT);

    operations = *lane->operations;
    operations.expect = note_expectation;
    lane->operations = &operations;
    times_told = 0;
    struct core_peer *peer = be_accepted_as_named(stranger);
    assert_int_equal(times_told, 0);
    announce(stranger, 3 * SEGMENT, buffer, 3 * SEGMENT);
    assert_true(times_told > 0);
    assert_int_equal(told.frames, 3);
    assert_ptr_equal(told.target, buffer);
    assert_int_equal(told.message, NAME);
    assert_memory_equal(&told.from, &peer->route.paths.to[0], sizeof told.from);
    say_data(stranger, NAME, 0, data, SEGMENT);
    round_trip(stranger);
    assert_int_equal(told.offset, SEGMENT);
    assert_int_equal(told.frames, 2);
    say_data(stranger, NAME, SEGMENT, data, SEGMENT);
    say_data(stranger, NAME, 2 * SEGMENT, data, SEGMENT);
    round_trip(stranger);
    round_trip(stranger);
    assert_int_equal(told.frames, 0); /* before the buffer is the caller's again */
    unsigned times = times_told;
    round_trip(stranger);
    assert_int_equal(times_told, times); /* once is enough */
    free(data);
    free(buffer);
}

/** Two nodes; the first has announced a message to the second. @return the second's messages */
static struct message_layer *open_announced(struct cluster *cluster, const struct sim_options *wire,
                                            const uint8_t *data)
{
    cluster_open(cluster, wire);
    cluster_start(cluster, 0);
    cluster_start(cluster, 1);
    assert_int_equal(
        cluster_send(cluster, 0, cluster_peer(cluster, 0, 1), 5, 0, data, LONG_BYTES, NULL), 0);
    cluster_run(cluster, cluster_now(cluster) + 10000000);
    return &cluster->nodes[1].core.messages;
}

/** No frame comes of a message that is read. */
TEST(core_bulk__a_message_that_was_read_ends_at_once)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *buffer = calloc(1, LONG_BYTES);

    wire.sharing = 1;
    struct message_layer *receiver = open_announced(&cluster, &wire, data);
    cluster_pause(&cluster, 0, UINT64_MAX);
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, LONG_BYTES, NULL), 0);
    while (!list_is_empty(&receiver->pulls)) {
        (void)cluster_step(&cluster, UINT64_MAX);
    }
    (void)cluster_step(&cluster, cluster_now(&cluster));
    assert_true(message_complete(receiver, &done));
    assert_int_equal(done.status, 0);
    assert_memory_equal(buffer, data, LONG_BYTES);
    cluster_close(&cluster);
    free(data);
    free(buffer);
}

/* ---- data out ------------------------------------------------------------------------------ */

/** The core sends a long message. @return its name, once ANNOUNCE has come; DATA may have. */
static uint32_t be_sent(struct stranger *stranger, struct core_peer *peer, const uint8_t *data,
                        bool unasked)
{
    peer->message.unasked_credit = unasked ? PULL_UNASKED_CREDIT : 0;
    assert_int_equal(
        cluster_send(&stranger->cluster, 0, peer, 5, 0, data, LONG_BYTES, (void *)(uintptr_t)1), 0);
    round_trip(stranger);
    const struct frame *frame = hear_some(stranger, FRAME_ANNOUNCE);
    assert_int_equal(from_le64(frame->announce->message_bytes), LONG_BYTES);
    assert_int_equal(from_le16(frame->announce->segment_bytes), SEGMENT);
    assert_int_equal(from_le32(frame->announce->unasked_bytes),
                     unasked ? PULL_UNASKED_BLOCKS * (PULL_BLOCK_BYTES / SEGMENT * SEGMENT) : 0);
    return from_le32(frame->announce->message);
}

static void say_pull(struct stranger *stranger, uint32_t message, uint64_t offset, uint64_t wanted,
                     uint8_t kind, uint8_t rail)
{
    const struct frame_pull body = {
        .message = to_le32(message),
        .lane_kind = kind,
        .lane_rail = rail,
        .offset = to_le64(offset),
        .wanted = to_le64(wanted),
    };

    say(stranger, &(struct says){.fields.type = FRAME_PULL, .body = &body});
}

/** Hears all DATA there is. @return how many bytes. */
static uint64_t hear_data(struct stranger *stranger, uint32_t name, const uint8_t *data,
                          uint64_t *first)
{
    uint64_t bytes = 0;

    while (hear(stranger)) {
        if (stranger->heard.type == FRAME_DATA) {
            uint64_t offset = frame_data_segment(stranger->heard.data) * SEGMENT;
            assert_int_equal(from_le32(stranger->heard.data->message), name);
            assert_int_equal(stranger->heard.key, STRANGER_KEY);
            assert_int_equal(stranger->heard.destination, CLUSTER_ENDPOINT);
            assert_memory_equal(stranger->heard.payload, data + offset,
                                stranger->heard.payload_bytes);
            *first = bytes == 0 ? offset : *first;
            bytes += stranger->heard.payload_bytes;
        }
    }
    return bytes;
}

STRANGER_TEST(core_bulk__sends_what_is_asked_for)
{
    uint8_t *data = pattern(LONG_BYTES);
    struct beowire_completion done;
    uint64_t first = 0;

    uint32_t name = be_sent(stranger, be_accepted_as_named(stranger), data, false);
    say_pull(stranger, name, 3 * SEGMENT, 0xF00000000000000F, LANE_SIM, 0);
    round_trip(stranger);
    assert_int_equal(hear_data(stranger, name, data, &first), 8 * SEGMENT);
    assert_int_equal(first, 3 * SEGMENT);
    say_pull(stranger, name, LONG_BYTES / SEGMENT * SEGMENT, 1, LANE_SIM, 0);
    round_trip(stranger);
    assert_int_equal(hear_data(stranger, name, data, &first), LONG_BYTES % SEGMENT);
    assert_false(message_complete(&stranger->core->messages, &done));
    const struct frame_done body = {.message = to_le32(name)};
    say(stranger, &(struct says){.fields.type = FRAME_DONE, .body = &body, .acknowledgement = 1});
    round_trip(stranger);
    assert_true(message_complete(&stranger->core->messages, &done));
    assert_int_equal(done.status, 0);
    say_pull(stranger, name, 0, 1, LANE_SIM, 0); /* it was late */
    round_trip(stranger);
    assert_int_equal(hear_data(stranger, name, data, &first), 0);
    assert_int_equal(stranger->core->counters.dropped_data_unknown, 1);
    cluster_check(&stranger->cluster);
    free(data);
}

STRANGER_TEST(core_bulk__a_lane_that_takes_nothing_is_offered_it_again)
{
    uint8_t *data = pattern(LONG_BYTES);
    uint64_t first = 0;

    uint32_t name = be_sent(stranger, be_accepted_as_named(stranger), data, false);
    say_pull(stranger, name, 0, UINT64_MAX, LANE_SIM, 0);
    refuse(stranger, 1000000);
    round_trip(stranger);
    round_trip(stranger);
    assert_int_equal(hear_data(stranger, name, data, &first), 0);
    assert_true(core_has_bulk(stranger->core));
    assert_true(stranger->core->bulk_is_stuck);
    refuse(stranger, 300000);
    for (unsigned i = 0; i < 10; i++) {
        round_trip(stranger);
    }
    assert_int_equal(hear_data(stranger, name, data, &first), 64 * SEGMENT);
    assert_false(core_has_bulk(stranger->core));
    assert_false(stranger->core->bulk_is_stuck);
    free(data);
}

static unsigned take_none(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    return 0;
}

static int be_well(struct lane *lane)
{
    return 0;
}

/** Requests to one peer leave over a full lane, those to another over one with room. */
STRANGER_TEST(core_bulk__a_lane_that_takes_no_requests_is_in_nobodys_way)
{
    static const struct lane_operations full = {.send = take_none, .status = be_well};
    static struct lane lane = {.operations = &full};
    struct core *core = stranger->core;
    uint8_t *buffer = calloc(2, SEGMENT * 2);
    struct core_peer *peer = be_accepted_as_named(stranger);

    core->options.lanes.lanes[1] = &lane;
    peer->route.paths.proven |= 2;
    peer->route.paths.fast = 1;
    announce(stranger, 2 * SEGMENT, buffer, 2 * SEGMENT);
    assert_true(core->bulk_is_stuck);
    be_another(stranger, 2);
    (void)be_accepted_as_named(stranger);
    announce(stranger, 2 * SEGMENT, buffer + 2 * SEGMENT, 2 * SEGMENT);
    assert_int_equal(core->counters.sent[FRAME_PULL], 1);
    assert_true(core_has_bulk(core));
    peer->route.paths.fast = 0;
    round_trip(stranger);
    assert_int_equal(core->counters.sent[FRAME_PULL], 2);
    assert_false(core_has_bulk(core));
    free(buffer);
}

/** A card that takes nothing any more, and says that it works, does not stop a message for ever. */
TEST(core_bulk__another_card_carries_the_requests_of_one_that_refuses)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct cluster cluster;
    struct beowire_completion done;
    uint8_t *data = pattern(LONG_BYTES);
    uint8_t *buffer = calloc(1, LONG_BYTES);

    wire.rails = 2;
    struct message_layer *receiver = open_announced(&cluster, &wire, data);
    struct lane *lane =
        cluster.nodes[1].lanes.lanes[cluster.nodes[1].core.peers[0]->route.paths.fast];
    const struct lane_operations *before = lane->operations;
    struct lane_operations operations = *before;
    operations.send = take_none;
    lane->operations = &operations;
    assert_int_equal(cluster_receive(&cluster, 1, NULL, 5, 0, buffer, LONG_BYTES, NULL), 0);
    for (unsigned i = 0; i < 50 && !message_has_ended(receiver); i++) {
        cluster_run(&cluster, cluster_now(&cluster) + 100000000);
    }
    assert_true(message_complete(receiver, &done));
    assert_int_equal(done.status, 0);
    assert_memory_equal(buffer, data, LONG_BYTES);
    lane->operations = before;
    cluster_close(&cluster);
    free(data);
    free(buffer);
}

/** Whoever offers a lane so much that it is full offers others what they are to carry. */
STRANGER_TEST(core_bulk__lanes_that_take_nothing_are_in_nobodys_way)
{
    static const struct lane_operations full = {.send = take_none, .status = be_well};
    static struct lane lanes[2] = {{.operations = &full}, {.operations = &full}};
    struct core *core = stranger->core;
    struct message_layer *layer = &core->messages;
    uint8_t *data = pattern(LONG_BYTES);
    struct core_peer *peer = be_accepted_as_named(stranger);
    uint64_t first = 0;

    uint32_t name = be_sent(stranger, peer, data, false);
    for (unsigned i = 1; i <= 3; i++) { /* over 1, 2, and then 0, the stranger's */
        const struct frame_pull body = {.message = to_le32(name),
                                        .lane_kind = LANE_SIM,
                                        .offset = to_le64(i * SEGMENT),
                                        .wanted = to_le64(1)};
        const struct frame frame = {.type = FRAME_PULL, .pull = &body};
        assert_int_equal(serve_pull(layer, &peer->message, &frame), 0);
        LIST_ENTRY(layer->requests.previous, struct request, link)->lane = (uint8_t)(i % 3);
    }
    core->options.lanes.lanes[1] = &lanes[0];
    core->options.lanes.lanes[2] = &lanes[1];
    peer->message.usable_lanes |= 6;
    core_bulk(core, cluster_now(&stranger->cluster));
    assert_false(core->bulk_is_stuck);
    assert_true(core_has_bulk(core));
    core_bulk(core, cluster_now(&stranger->cluster));
    assert_true(core->bulk_is_stuck);
    round_trip(stranger);
    assert_int_equal(hear_data(stranger, name, data, &first), SEGMENT);
    assert_int_equal(first, 3 * SEGMENT);
    free(data);
}

TEST(core_receive_bulk__pulls_that_break_rules)
{
    static const struct {
        uint64_t offset;
        uint64_t wanted;
        uint8_t kind;
        uint8_t rail;
    } wrong[] = {
        {1, 1, LANE_SIM, 0},
        {LONG_BYTES / SEGMENT * SEGMENT, 2, LANE_SIM, 0},
        {(LONG_BYTES / SEGMENT + 1) * SEGMENT, 1, LANE_SIM, 0},
        {UINT64_MAX / SEGMENT * SEGMENT, 1, LANE_SIM, 0},
        {0, 1, LANE_SIM, 1},
        {0, 1, LANE_NONE, 0},
        {0, 1, LANE_UDP, 0},
        {0, 1, 99, 0},
    };
    uint8_t *data = pattern(LONG_BYTES);

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *again = NULL;
        struct stranger *stranger;
        struct beowire_completion done;
        assert_int_equal(stranger_setup(&again), 0);
        stranger = again;
        struct core_peer *peer = be_accepted_as_named(stranger);
        uint32_t name = be_sent(stranger, peer, data, false);
        say_pull(stranger, name, wrong[i].offset, wrong[i].wanted, wrong[i].kind, wrong[i].rail);
        round_trip(stranger);
        assert_int_equal(peer->message.error, -EPROTO);
        assert_true(message_complete(&stranger->core->messages, &done));
        assert_int_equal(done.status, -EPROTO);
        assert_int_equal(stranger_teardown(&again), 0);
    }
    free(data);
}

TEST_AROUND(core_receive_bulk__pulls_of_what_is_not_there_are_dropped, stranger_setup,
            stranger_teardown)
{
    struct stranger *stranger = *state;
    struct core_peer *peer = be_accepted_as_named(stranger);

    for (uint32_t i = 0; i < 100; i++) {
        say_pull(stranger, i * 0x12345, i * SEGMENT, UINT64_MAX, LANE_SIM, 0);
    }
    pass(stranger, 1000000);
    assert_int_equal(stranger->core->counters.dropped_data_unknown, 100);
    assert_int_equal(peer->connection.state, CONNECTION_OPEN);
    assert_false(core_has_bulk(stranger->core));
}
