/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequenced frames that network cards cut, over a real link, and how they come. DATA: tso_test.c.
 */
#include "tso_pair.h"

#include "lane/tso/tso_run.h"

/** A message of so many frames. */
#define FRAMES 12u
#define EAGER_BYTES 46u
#define FRAGMENT_BYTES 40u
#define CARRIED (SEGMENT - FRAGMENT_BYTES) /* by a FRAGMENT; as long is the EAGER */
#define MESSAGE_BYTES (FRAMES * CARRIED - EAGER_BYTES - 100)
#define SEQUENCE 1000u
#define NAME 0x0777

/** Frames to be sent, heads with room in front. */
static struct lane_outgoing frames[FRAMES];
static uint32_t source_at; /* where the message begins */
static uint8_t heads[FRAMES][LANE_HEADROOM + EAGER_BYTES];

static void write_frame(unsigned i, enum frame_type type, uint32_t at, uint32_t bytes)
{
    uint8_t *head = heads[i] + LANE_HEADROOM;

    frame_encode(head, &(struct frame_fields){.type = type,
                                              .destination = NUMBER,
                                              .source = 1,
                                              .key = KEY,
                                              .sequence = SEQUENCE + i,
                                              .payload_bytes = (uint16_t)bytes});
    frames[i] = (struct lane_outgoing){.head = head,
                                       .head_bytes = (uint32_t)frame_head_bytes(type),
                                       .payload = source + source_at + at,
                                       .payload_bytes = bytes};
}

/** Makes the frames of a message. */
static void write_message(void)
{
    uint32_t at = CARRIED - EAGER_BYTES;

    for (uint32_t i = 0; i < MESSAGE_BYTES; i++) {
        source[source_at + i] = content_at(i);
    }
    write_frame(0, FRAME_EAGER, 0, at);
    *(struct frame_eager *)(void *)(heads[0] + LANE_HEADROOM + sizeof(struct frame_header)) =
        (struct frame_eager){
            .tag = to_le64(5), .message_bytes = to_le32(MESSAGE_BYTES), .message = to_le16(NAME)};
    for (unsigned i = 1; i < FRAMES; i++, at += CARRIED) {
        uint32_t left = MESSAGE_BYTES - at;
        write_frame(i, FRAME_FRAGMENT, at, left < CARRIED ? left : CARRIED);
        *(struct frame_fragment *)(void *)(heads[i] + LANE_HEADROOM + sizeof(struct frame_header)) =
            (struct frame_fragment){.message = to_le16(NAME), .offset = to_le64(at)};
    }
}

/** Sends `count` frames from the first on. */
static void send_frames(struct udp_pair *pair, unsigned count)
{
    assert_int_equal(pair->a->operations->send(pair->a, &pair->at_b, frames, count), count);
}

/** Is what came frame `i`? */
static void check_came(const struct udp_pair *pair, const struct lane_incoming *came, unsigned i)
{
    struct frame frame;

    assert_int_equal(frame_decode(came->data, came->bytes, &frame), FRAME_OK);
    assert_int_equal(frame.type, i == 0 ? FRAME_EAGER : FRAME_FRAGMENT);
    assert_int_equal(frame.destination, NUMBER);
    assert_int_equal(frame.key, KEY);
    assert_int_equal(frame.sequence, SEQUENCE + i);
    assert_int_equal(frame.payload_bytes, frames[i].payload_bytes);
    assert_int_equal(came->segment_bytes, 0);
    assert_memory_equal(&came->from, &pair->at_a, sizeof came->from);
    const uint8_t *payload = came->payload != NULL ? came->payload : frame.payload;
    assert_memory_equal(payload, frames[i].payload, frame.payload_bytes);
}

/** Takes the first `count` frames, however they come. @return in how many calls of the lane. */
static unsigned take_frames(struct udp_pair *pair, unsigned count, bool tacit)
{
    unsigned calls = 0;

    for (unsigned found = 0; found < count; calls++) {
        unsigned came = receive_some(pair->b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < came; i++, found++) {
            assert_in_range(found, 0, count - 1);
            check_came(pair, &incoming[i], found);
            assert_int_equal(incoming[i].tacit, tacit && found > 0);
        }
        pair->b->operations->release(pair->b);
    }
    assert_nothing_is_there(pair->b);
    return calls;
}

static int setup(void **state)
{
    source_at = 0;
    write_message();
    return 0;
}

TEST_AROUND(tso_send__a_message_goes_in_one_call, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    send_frames(&pair, FRAMES);
    assert_int_equal(pair.a->sent_calls, 1);
    assert_int_equal(pair.a->sent_frames, FRAMES);
    assert_int_equal(pair.a->sent_bytes, FRAMES * TSO_OVERHEAD_BYTES + EAGER_BYTES + MESSAGE_BYTES);
    assert_int_equal(take_frames(&pair, FRAMES, true), 1);
    assert_int_equal(pair.b->received_frames, FRAMES);
    assert_int_equal(pair.b->received_bytes, pair.a->sent_bytes);
    close_pair(&pair);
}

/** What the kernel keeps with the headers differs (tso_head_align()). */
TEST_AROUND(tso_send__a_message_from_any_place, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    for (source_at = 0; source_at < 130; source_at++) {
        write_message();
        send_frames(&pair, FRAMES);
        assert_int_equal(take_frames(&pair, FRAMES, true), 1);
    }
    set_offload(here, "end0", ETHTOOL_STSO, false);
    for (source_at = 0; source_at < 130; source_at += 3) {
        write_message();
        send_frames(&pair, FRAMES);
        (void)take_frames(&pair, FRAMES, true);
    }
    set_offload(here, "end0", ETHTOOL_STSO, true);
    close_pair(&pair);
}

/** Each segment says for itself where it belongs. */
TEST_AROUND(tso_send__a_message_that_comes_in_segments, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    set_offload(here, "end0", ETHTOOL_STSO, false);
    send_frames(&pair, FRAMES);
    set_offload(here, "end0", ETHTOOL_STSO, true);
    assert_int_equal(pair.a->sent_calls, 1);
    (void)take_frames(&pair, FRAMES, true);
    assert_ptr_not_equal(incoming[1].payload + CARRIED, incoming[2].payload); /* a slot each */
    close_pair(&pair);
}

TEST_AROUND(tso_send__the_kernel_joins_a_message, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    set_offload(here, "end0", ETHTOOL_STSO, false);
    set_offload(far, "end1", ETHTOOL_SGRO, true);
    send_frames(&pair, FRAMES);
    set_offload(far, "end1", ETHTOOL_SGRO, false);
    set_offload(here, "end0", ETHTOOL_STSO, true);
    assert_in_range(take_frames(&pair, FRAMES, true), 1, 2); /* the last may be left alone */
    close_pair(&pair);
}

/** Two that follow one another are not joined to one. */
TEST_AROUND(tso_send__two_messages_stay_apart, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    set_offload(here, "end0", ETHTOOL_STSO, false);
    set_offload(far, "end1", ETHTOOL_SGRO, true);
    for (unsigned i = 0; i < 2; i++) {
        send_frames(&pair, FRAMES);
    }
    set_offload(far, "end1", ETHTOOL_SGRO, false);
    set_offload(here, "end0", ETHTOOL_STSO, true);
    for (unsigned found = 0; found < 2 * FRAMES;) {
        unsigned came = receive_some(pair.b, incoming, PAIR_FRAMES);
        for (unsigned i = 0; i < came; i++, found++) {
            check_came(&pair, &incoming[i], found % FRAMES);
        }
        pair.b->operations->release(pair.b);
    }
    close_pair(&pair);
}

/** Where nobody cuts, each goes with its own head. */
TEST_AROUND(tso_send__the_kernel_does_not_cut, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    set_mtu(1000);
    assert_int_equal(send_to(pair.a, &pair.at_b, NUMBER, MESSAGE, 0, SEGMENT, SEGMENT), 0);
    assert_int_equal(pair.a->refused_trains, 1);
    write_message(); /* that was sent from the same place */
    set_mtu(1500);
    send_frames(&pair, FRAMES);
    assert_int_equal(pair.a->sent_calls, 2 + FRAMES);
    (void)take_frames(&pair, FRAMES, false);
    close_pair(&pair);
}

TEST_AROUND(tso_send__one_alone_is_whole, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    send_frames(&pair, 1);
    (void)take_frames(&pair, 1, false);
    close_pair(&pair);
}

/** Data is expected, and a message comes: it is whole, and data finds its place afterwards. */
TEST_AROUND(tso_send__a_message_before_expected_data, setup, NULL)
{
    struct udp_pair pair = open_lanes();

    expect(&pair, MESSAGE, 3, TRAIN_BYTES);
    send_frames(&pair, FRAMES);
    (void)take_frames(&pair, FRAMES, true);
    for (unsigned i = 0; i < 20; i++) {
        expect(&pair, MESSAGE, 3, TRAIN_BYTES);
        send_part(&pair, MESSAGE, 3, SEGMENT, TRAIN_BYTES);
        (void)take_train(&pair, MESSAGE, 3);
    }
    assert_true(is_at_target(incoming[0].payload));
    close_pair(&pair);
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    udp_pair_far();
    return run_listed_tests(NULL, NULL);
}
