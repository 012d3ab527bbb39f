/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order lanes are read, and what is read between two sends. */
#include "core/core.h"

#include "stranger.h"

#include "pull/pull_path.h"

#include <string.h>

#define NAME 3
#define SEGMENT 1400u

/* ---- lanes that a test fills --------------------------------------------------------------- */

/** Frames that have come over a lane and have not been read. */
struct shelf {
    uint8_t frames[2][1500];
    struct lane_incoming incoming[2];
    unsigned count;
    unsigned reads;
    unsigned again;       /* so often as many come once more */
    unsigned joined_each; /* bytes that each counts for */
};

static struct shelf shelves[2];
static struct lane filled[2];
static struct pull_path pull_paths[3];
static struct pull_path *own_pull_paths; /* of the peer, which has room for one lane */

static struct shelf *shelf_of(const struct lane *lane)
{
    return &shelves[lane - filled];
}

static unsigned take_all(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct shelf *shelf = shelf_of(lane);
    unsigned taken = shelf->count < count ? shelf->count : count;

    shelf->reads++;
    memcpy(frames, shelf->incoming, taken * sizeof *frames);
    lane->received_bytes += (uint64_t)taken * shelf->joined_each;
    if (shelf->again > 0) {
        shelf->again--;
    } else {
        shelf->count = 0;
    }
    return taken;
}

static void keep(struct lane *lane)
{
}

static int be_well(struct lane *lane)
{
    return 0;
}

static const struct lane_operations filled_operations = {
    .receive = take_all,
    .release = keep,
    .status = be_well,
};

/** Gives the core two more lanes, by which the peer is reached as by the first. */
static void add_lanes(struct stranger *stranger, struct core_peer *peer)
{
    struct core *core = stranger->core;

    memset(shelves, 0, sizeof shelves);
    for (unsigned i = 0; i < 2; i++) {
        filled[i] = (struct lane){
            .operations = &filled_operations,
            .kind = LANE_UDP,
            .rail = (uint8_t)i,
            .frame_bytes = 1500,
            .takes_trains = true,
        };
        core->options.lanes.lanes[1 + i] = &filled[i];
        core->messages.lanes[1 + i] =
            (struct message_lane){.kind = LANE_UDP, .rail = (uint8_t)i, .capacity_bytes = 1u << 20};
        peer->route.paths.to[1 + i] = peer->route.paths.to[0];
    }
    core->options.lanes.count = 3;
    memset(pull_paths, 0, sizeof pull_paths);
    own_pull_paths = peer->message.pull_paths;
    peer->message.pull_paths = pull_paths;
    peer->route.paths.reachable |= 6;
    peer->route.paths.proven |= 6;
    peer->message.usable_lanes |= 6;
    peer->message.bulk_lanes = 2;
}

static void remove_lanes(struct stranger *stranger)
{
    stranger->core->options.lanes.count = 1;
    stranger->core->peers[0]->message.pull_paths = own_pull_paths;
    stranger->core->peers[0]->message.usable_lanes = 1;
}

static void put(struct stranger *stranger, unsigned shelf, const void *data, uint32_t bytes)
{
    struct shelf *on = &shelves[shelf];
    uint8_t *at = on->frames[on->count];

    memcpy(at, data, bytes);
    on->incoming[on->count++] = (struct lane_incoming){
        .data = at, .bytes = bytes, .from = stranger->core->peers[0]->route.paths.to[0]};
}

static void put_data(struct stranger *stranger, unsigned shelf, uint32_t segment, uint8_t byte)
{
    uint8_t wire[1500];
    struct frame_data head = frame_encode_data(CLUSTER_ENDPOINT, stranger->core_key, NAME);

    frame_data_set_segment(&head, segment);
    memset(wire, byte, sizeof wire);
    memcpy(wire, &head, sizeof head);
    put(stranger, shelf, wire, sizeof head + SEGMENT);
}

/** A message of two segments, both sent unasked over the first of the two lanes. */
static void put_announcement(struct stranger *stranger, unsigned shelf)
{
    uint8_t wire[1500] = {0};
    const struct frame_announce body = {
        .tag = to_le64(5),
        .message_bytes = to_le64(2 * SEGMENT),
        .message = to_le32(NAME),
        .segment_bytes = to_le16((uint16_t)SEGMENT),
        .unasked_bytes = to_le32(2 * SEGMENT),
        .lane_kind = LANE_UDP,
        .lane_rail = 0,
    };

    frame_encode(wire, &(struct frame_fields){.type = FRAME_ANNOUNCE,
                                              .destination = CLUSTER_ENDPOINT,
                                              .source = CLUSTER_ENDPOINT,
                                              .key = stranger->core_key,
                                              .sequence = stranger->sequence++});
    frame_stamp(wire, 0, 0, STRANGER_CREDIT);
    memcpy(wire + sizeof(struct frame_header), &body, sizeof body);
    put(stranger, shelf, wire, sizeof(struct frame_header) + sizeof body);
}

/* ---- what data belongs to ------------------------------------------------------------------ */

/** Whoever was away finds both there, and the lane with the data is read first: nothing of it is
 * dropped, or it would have to be sent a second time. */
STRANGER_TEST(core_receive__data_waits_for_its_announcement_on_another_lane)
{
    struct core *core = stranger->core;
    uint8_t buffer[2 * SEGMENT] = {0};
    uint8_t expected[2 * SEGMENT];

    add_lanes(stranger, be_accepted_as_named(stranger));
    assert_int_equal(
        cluster_receive(&stranger->cluster, 0, NULL, 5, 0, buffer, sizeof buffer, buffer), 0);
    put_data(stranger, 0, 0, 'a');
    put_data(stranger, 0, 1, 'b');
    put_announcement(stranger, 1);
    assert_int_equal(look(stranger), 3);
    assert_int_equal(core->counters.dropped_data_unknown, 0);
    struct beowire_completion done = completed(stranger);
    assert_int_equal(done.status, 0);
    memset(expected, 'a', SEGMENT);
    memset(expected + SEGMENT, 'b', SEGMENT);
    assert_memory_equal(buffer, expected, sizeof buffer);
    assert_int_equal(core->receiving, 0);
    remove_lanes(stranger);
}

/** What nobody has announced is dropped, and costs one look at the other lanes. */
STRANGER_TEST(core_receive__data_that_nobody_announces)
{
    struct core *core = stranger->core;

    add_lanes(stranger, be_accepted_as_named(stranger));
    put_data(stranger, 0, 0, 'a');
    put_data(stranger, 0, 1, 'b');
    put_data(stranger, 1, 0, 'c'); /* on the other lane as well: neither waits for the other */
    assert_int_equal(look(stranger), 3);
    assert_int_equal(core->counters.dropped_data_unknown, 3);
    assert_int_equal(shelves[0].reads, 1);
    assert_int_equal(shelves[1].reads, 3); /* until nothing is there, and in its turn */
    assert_int_equal(core->receiving, 0);
    remove_lanes(stranger);
}

/* ---- quiet lanes --------------------------------------------------------------------------- */

static uint64_t read_time(void *time_ns)
{
    return *(const uint64_t *)time_ns;
}

/** Looks so often that the time is noticed. */
static void look_for_long(struct stranger *stranger, uint64_t *time_ns)
{
    for (unsigned i = 0; i < 64; i++) {
        (void)core_receive(stranger->core, read_time, time_ns);
    }
}

/** Nothing comes where it was awaited: it may be elsewhere. */
STRANGER_TEST(core_receive__vain_looks__quiet_lanes_as_well)
{
    add_lanes(stranger, be_accepted_as_named(stranger));
    filled[0].polling_is_costly = true;
    uint64_t time_ns = cluster_now(&stranger->cluster);
    stranger->core->messages.now_ns = stranger->core->looked_ns = time_ns;
    time_ns += QUIET_LANE_VAIN_NS - 1;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 0);
    time_ns++;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 1);
    time_ns += QUIET_LANE_VAIN_NS;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 2);
    remove_lanes(stranger);
}

/** Frames come over others, and would have to wait. */
STRANGER_TEST(core_receive__frames_come__quiet_lanes_seldom)
{
    uint64_t time_ns = cluster_now(&stranger->cluster);
    const uint64_t begin_ns = time_ns;

    add_lanes(stranger, be_accepted_as_named(stranger));
    filled[0].polling_is_costly = true;
    stranger->core->looked_ns = time_ns;
    while (time_ns < begin_ns + QUIET_LANE_NS - QUIET_LANE_VAIN_NS) {
        time_ns += QUIET_LANE_VAIN_NS / 2;
        stranger->core->messages.now_ns = time_ns; /* as if one had just come */
        look_for_long(stranger, &time_ns);
    }
    assert_int_equal(shelves[0].reads, 0);
    stranger->core->frames_since = QUIET_LANE_FRAMES;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 0);
    time_ns = begin_ns + QUIET_LANE_NS;
    stranger->core->messages.now_ns = time_ns;
    stranger->core->frames_since = QUIET_LANE_FRAMES - 1;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 0);
    stranger->core->frames_since++;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 1);
    time_ns += QUIET_LANE_LONGEST_NS; /* however few have come */
    stranger->core->messages.now_ns = time_ns;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, 2);
    remove_lanes(stranger);
}

/** Looks as who polls does, until a frame comes so long after the last one. */
static void await_frame(struct stranger *stranger, unsigned shelf, uint64_t apart_ns,
                        uint64_t *time_ns)
{
    const uint64_t end_ns = *time_ns + apart_ns;

    for (; *time_ns < end_ns; *time_ns += 100) {
        (void)core_receive(stranger->core, read_time, time_ns);
    }
    put(stranger, shelf, "no frame of anybody's", 22); /* whatever it is, it has come */
    core_look_in_time(stranger->core);
    (void)core_receive(stranger->core, read_time, time_ns);
}

/** Frames come, but more slowly than quiet lanes are usually waited for: nothing is to be found
 * there while the next frame is on its way. */
STRANGER_TEST(core_receive__frames_come_slowly__quiet_lanes_after_longer)
{
    uint64_t time_ns = cluster_now(&stranger->cluster);

    add_lanes(stranger, be_accepted_as_named(stranger));
    filled[0].polling_is_costly = true;
    core_look_at_all(stranger->core);
    await_frame(stranger, 1, 100, &time_ns);
    for (unsigned i = 0; i < 2; i++) {
        await_frame(stranger, 1, QUIET_LANE_VAIN_NS * 3 / 2, &time_ns);
    }
    assert_in_range(stranger->core->vain_ns, 2 * QUIET_LANE_VAIN_NS, QUIET_LANE_VAIN_MAX_NS);
    unsigned reads = shelves[0].reads;
    for (unsigned i = 0; i < QUIET_LANE_FRAMES / 2; i++) {
        await_frame(stranger, 1, QUIET_LANE_VAIN_NS * 3 / 2, &time_ns);
    }
    assert_int_equal(shelves[0].reads, reads);
    /* A pause is no such pace, and a frame on the quiet lane ends all that. */
    await_frame(stranger, 1, 2 * QUIET_LANE_VAIN_MAX_NS, &time_ns);
    assert_true(stranger->core->vain_ns < QUIET_LANE_VAIN_MAX_NS);
    put(stranger, 0, "no frame of anybody's", 22);
    core_look_at_all(stranger->core);
    (void)core_receive(stranger->core, read_time, &time_ns);
    assert_int_equal(stranger->core->vain_ns, QUIET_LANE_VAIN_NS);
    remove_lanes(stranger);
}

/** The next frame comes as likely as not where the last one came, however long that takes; when
 * enough have come elsewhere, not any more. */
STRANGER_TEST(core_receive__lane_stays_awaited_until_frames_come_over_others)
{
    struct core *core = stranger->core;
    uint64_t time_ns = cluster_now(&stranger->cluster);

    add_lanes(stranger, be_accepted_as_named(stranger));
    filled[0].polling_is_costly = true;
    core_look_at_all(core);
    put_data(stranger, 0, 0, 'a');
    (void)core_receive(core, read_time, &time_ns);
    assert_int_equal(core->lane_warmth[1], LANE_WARMTH_FRAMES);
    unsigned reads = shelves[0].reads;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, reads + 64);
    for (unsigned i = 0; i < LANE_WARMTH_FRAMES / 2; i++) {
        assert_true(core->lane_warmth[1] > 0);
        put_data(stranger, 1, 0, 'b');
        put_data(stranger, 1, 1, 'c');
        (void)core_receive(core, read_time, &time_ns);
    }
    reads = shelves[0].reads;
    look_for_long(stranger, &time_ns);
    assert_int_equal(shelves[0].reads, reads);
    remove_lanes(stranger);
}

/** What is missing before a frame may have gone another way. */
STRANGER_TEST(core_receive__frame_has_overtaken_others__quiet_lanes_at_once)
{
    struct core *core = stranger->core;
    struct frame_eager eager = {.tag = to_le64(1)};

    add_lanes(stranger, be_accepted_as_named(stranger));
    filled[0].polling_is_costly = true;
    for (unsigned i = 0; i < 2; i++) { /* the first in its turn, and then the third */
        core->vain_ns = UINT32_MAX;
        core->looked_ns = cluster_now(&stranger->cluster);
        unsigned reads = shelves[0].reads;
        stranger->sequence = 2 * i;
        say(stranger,
            &(struct says){.fields = {.type = FRAME_EAGER, .sequence = 2 * i}, .body = &eager});
        round_trip(stranger);
        assert_int_equal(shelves[0].reads > reads, i == 1);
    }
    remove_lanes(stranger);
}

/* ---- turns --------------------------------------------------------------------------------- */

/** How often a lane is read in one look on which frames come without end.
 *
 * @param joined_each bytes in each */
static unsigned reads_in_a_look(struct stranger *stranger, unsigned joined_each, bool data_leaves)
{
    struct core *core = stranger->core;
    uint64_t time_ns = cluster_now(&stranger->cluster);

    shelves[0] = (struct shelf){.again = 10000, .joined_each = joined_each};
    put_data(stranger, 0, 0, 'a'); /* of nothing that is known: what it is does not matter */
    core->messages.lanes[1].blocks = 1;
    core->messages.pulls_changed = data_leaves;
    (void)core_receive(core, read_time, &time_ns);
    core->messages.lanes[1].blocks = 0;
    return shelves[0].reads;
}

/** A run of data may take as long to send as it takes on the wire. Whoever takes less in between
 * than it sends has its memory full at last, and does not ask for more. */
STRANGER_TEST(core_receive__data_leaves__takes_more_than_that)
{
    add_lanes(stranger, be_accepted_as_named(stranger));
    assert_int_equal(reads_in_a_look(stranger, SEGMENT, false), 1);
    unsigned reads = reads_in_a_look(stranger, SEGMENT, true);
    assert_int_equal(reads, (BULK_TAKEN_BYTES + SEGMENT - 1) / SEGMENT);
    assert_true(reads * SEGMENT > 2 * PULL_BLOCK_BYTES);
    /* Where many come as one, the wire is not what takes time. */
    assert_int_equal(reads_in_a_look(stranger, (BULK_JOINED_FRAMES + 1) * 1500, true), 1);
    remove_lanes(stranger);
}

static struct lane_operations spied;
static const struct lane_operations *original;
static unsigned sent_since_read;
static unsigned most_between_reads;

static unsigned spy_send(struct lane *lane, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count)
{
    unsigned taken = original->send(lane, to, frames, count);

    sent_since_read += taken;
    most_between_reads =
        sent_since_read > most_between_reads ? sent_since_read : most_between_reads;
    return taken;
}

static unsigned spy_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    sent_since_read = 0;
    return original->receive(lane, frames, count);
}

/** A whole window may take milliseconds to send: the lanes are read in between. And all of it
 * leaves by one call: the application may compute after that. */
STRANGER_TEST(core_receive__reads_lanes_between_turns_of_sending)
{
    struct core *core = stranger->core;
    struct core_peer *peer = be_accepted_as_named(stranger);
    struct flow *flow = &peer->message.flow;
    static char text[1000];
    const unsigned messages = 3 * FLOW_BATCH_FRAMES;

    for (unsigned i = 0; i < messages; i++) {
        assert_int_equal(
            message_send(&core->messages, &peer->message, i, 0, text, sizeof text, NULL), 0);
    }
    congestion_init(&flow->congestion, flow->congestion.ceiling, flow->congestion.ceiling,
                    flow->congestion.ceiling, flow->congestion.slack_ns);
    struct lane *lane = core->options.lanes.lanes[0];
    original = lane->operations;
    spied = *original;
    spied.send = spy_send;
    spied.receive = spy_receive;
    lane->operations = &spied;
    most_between_reads = sent_since_read = 0;
    say(stranger, &(struct says){.fields.type = FRAME_ACK,
                                 .acknowledgement = flow->first,
                                 .credit = (uint16_t)(flow->first + FLOW_WINDOW_FRAMES)});
    round_trip(stranger);
    assert_int_equal(flow->highest - flow->first, messages);
    assert_in_range(most_between_reads, 2, FLOW_BATCH_FRAMES + 1);
    lane->operations = original;
}
