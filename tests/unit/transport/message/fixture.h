/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixture.h - a message layer with two lanes and two connected peers, and frames that are handed to
 * it as if they had come, and taken from it as if they left. No connection, no wire.
 */
#ifndef BEOWIRE_TESTS_MESSAGE_FIXTURE_H
#define BEOWIRE_TESTS_MESSAGE_FIXTURE_H

#include "message/internal.h"
#include "pull/pull.h"
#include "pull/pull_path.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>

#define FRAME_BYTES 500
#define EAGER_ROOM ((size_t)FRAME_BYTES - 46)
#define FRAGMENT_ROOM ((size_t)FRAME_BYTES - 40)
#define SEGMENT ((size_t)FRAME_BYTES - 16) /**< of a long message */
#define EAGER_BYTES 16384                  /* longest message that is not announced */
#define LONG_BYTES ((size_t)EAGER_BYTES + 1)
#define LANE_CAPACITY (UINT64_C(1) << 20)
#define OPERATIONS 32
#define PEERS 4
#define LIMIT 1000 /**< credit that the peers gave */

struct fixture {
    struct message_layer layer;
    struct message_peer peers[PEERS]; /**< 0 and 1 are ready */
    struct pull_path pull_paths[PEERS][LANES_MAX];
};

static inline void make_ready(struct fixture *fixture, unsigned index)
{
    struct message_peer *peer = &fixture->peers[index];

    peer->frame_bytes = FRAME_BYTES;
    peer->data_bytes = FRAME_BYTES;
    peer->segment_bytes_max = SEGMENT;
    peer->bulk_lanes = 1;
    peer->usable_lanes = 1;
    peer->remote_memory = true;
    message_peer_ready(&fixture->layer, peer,
                       message_initial_credit(&fixture->layer, peer, FRAME_BYTES), LIMIT);
}

static inline int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL || message_open(&fixture->layer, OPERATIONS, PEERS, FRAME_BYTES) != 0 ||
        !message_admits(&fixture->layer, PEERS)) {
        return -1;
    }
    for (uint8_t i = 0; i < 2; i++) {
        fixture->layer.lanes[i] =
            (struct message_lane){.kind = LANE_SIM, .rail = i, .capacity_bytes = LANE_CAPACITY};
    }
    for (unsigned i = 0; i < PEERS; i++) {
        message_peer_init(&fixture->peers[i], i, fixture->pull_paths[i]);
        fixture->peers[i].handle = i;
    }
    fixture->layer.limits.eager_bytes = EAGER_BYTES;
    fixture->layer.limits.blocks_together = 1;
    make_ready(fixture, 0);
    make_ready(fixture, 1);
    *state = fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;

    message_close(&fixture->layer);
    free(fixture);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, fixture_setup, fixture_teardown)

/** Hands a frame up as the flow and the core do. */
static inline int arrive(struct fixture *fixture, unsigned from, const struct frame *frame)
{
    struct message_peer *peer = &fixture->peers[from];
    int status = message_frame(&fixture->layer, peer, frame);

    if (status == 0) {
        flow_accept(&peer->flow, frame, 0);
        message_frame_accepted(&fixture->layer, peer, true);
    }
    return status;
}

static inline int arrive_eager(struct fixture *fixture, unsigned from, uint64_t tag,
                               uint32_t message_bytes, uint16_t message, const void *data,
                               uint32_t bytes)
{
    const struct frame_eager eager = {.tag = to_le64(tag),
                                      .immediate = to_le32(77),
                                      .message_bytes = to_le32(message_bytes),
                                      .message = to_le16(message)};

    return arrive(
        fixture, from,
        &(struct frame){
            .type = FRAME_EAGER, .eager = &eager, .payload = data, .payload_bytes = bytes});
}

static inline int arrive_fragment(struct fixture *fixture, unsigned from, uint16_t message,
                                  uint64_t offset, const void *data, uint32_t bytes)
{
    const struct frame_fragment fragment = {.message = to_le16(message), .offset = to_le64(offset)};

    return arrive(fixture, from,
                  &(struct frame){.type = FRAME_FRAGMENT,
                                  .fragment = &fragment,
                                  .payload = data,
                                  .payload_bytes = bytes});
}

/** The announcement of a message of which nothing comes unasked. */
static inline struct frame_announce announcement(uint64_t tag, uint64_t message_bytes,
                                                 uint32_t message)
{
    return (struct frame_announce){.tag = to_le64(tag),
                                   .immediate = to_le32(77),
                                   .message_bytes = to_le64(message_bytes),
                                   .message = to_le32(message),
                                   .segment_bytes = to_le16((uint16_t)SEGMENT)};
}

static inline int arrive_announce(struct fixture *fixture, unsigned from, uint64_t tag,
                                  uint64_t message_bytes, uint32_t message)
{
    const struct frame_announce announce = announcement(tag, message_bytes, message);

    return arrive(fixture, from, &(struct frame){.type = FRAME_ANNOUNCE, .announce = &announce});
}

static inline int arrive_done(struct fixture *fixture, unsigned from, uint32_t message)
{
    const struct frame_done done = {.message = to_le32(message)};

    return arrive(fixture, from, &(struct frame){.type = FRAME_DONE, .done = &done});
}

/** DATA is not sequenced. Its offset is that of a segment. */
static inline enum pull_verdict arrive_data(struct fixture *fixture, unsigned from,
                                            uint32_t message, uint64_t offset, const void *data,
                                            uint32_t bytes, uint8_t lane, uint64_t now_ns)
{
    struct frame_data head = frame_encode_data(0, 0, message);

    assert_int_equal(offset % SEGMENT, 0);
    frame_data_set_segment(&head, (uint32_t)(offset / SEGMENT));

    enum pull_verdict verdict = pull_data(
        &fixture->layer, &fixture->peers[from],
        &(struct frame){.type = FRAME_DATA, .data = &head, .payload = data, .payload_bytes = bytes},
        lane, now_ns);
    message_take_pulled(&fixture->layer);
    return verdict;
}

/** As pull_ask(), and the messages that it has ended are taken. */
static inline bool ask_next(struct message_layer *layer, uint64_t now_ns, struct pull_ask *ask)
{
    bool any = pull_ask(layer, now_ns, ask);

    message_take_pulled(layer);
    return any;
}

/** The next PULL that the layer wants to send; the test ends if there is none. */
static inline struct pull_ask asked(struct fixture *fixture, uint64_t now_ns)
{
    struct pull_ask ask = {0};

    assert_true(ask_next(&fixture->layer, now_ns, &ask));
    return ask;
}

static inline bool nothing_asked(struct fixture *fixture, uint64_t now_ns)
{
    struct pull_ask ask;

    return !ask_next(&fixture->layer, now_ns, &ask);
}

/** The frames pushed towards a peer and not yet acknowledged. */
static inline uint32_t pushed(const struct fixture *fixture, unsigned to)
{
    return fixture->peers[to].flow.next - fixture->peers[to].flow.first;
}

/** One of them, the oldest is 0, decoded. Its payload may be the user's. */
static inline struct frame pushed_frame(const struct fixture *fixture, unsigned to, uint32_t index)
{
    static uint8_t wire[FRAME_BYTES];
    const struct flow *flow = &fixture->peers[to].flow;
    struct frame frame;

    assert_true(index < pushed(fixture, to));
    const struct flow_frame *queued = flow->ring[(flow->first + index) % FLOW_WINDOW_FRAMES];
    assert_true(queued->head_bytes + queued->payload_bytes <= FRAME_BYTES);
    memcpy(wire, queued->head, queued->head_bytes);
    if (queued->payload_bytes > 0) {
        memcpy(wire + queued->head_bytes, queued->payload, queued->payload_bytes);
    }
    assert_int_equal(frame_decode(wire, queued->head_bytes + queued->payload_bytes, &frame),
                     FRAME_OK);
    assert_int_equal(frame.sequence, flow->first + index);
    return frame;
}

/** The peer acknowledges the oldest `count` frames. */
static inline void acknowledge(struct fixture *fixture, unsigned from, uint32_t count)
{
    struct flow *flow = &fixture->peers[from].flow;

    assert_true(count <= flow->next - flow->first);
    flow->first += count;
    flow->highest = flow->first;
    message_take_released(&fixture->layer, &fixture->peers[from]);
}

/** Sends a long message; its ANNOUNCE has been acknowledged. @return its name. */
static inline uint32_t announce_long(struct fixture *fixture, unsigned to, uint64_t tag,
                                     const void *data, uint64_t bytes)
{
    uint32_t before = pushed(fixture, to);

    assert_int_equal(message_send(&fixture->layer, &fixture->peers[to], tag, 0, data, bytes, NULL),
                     0);
    assert_int_equal(pushed(fixture, to), before + 1);
    struct frame frame = pushed_frame(fixture, to, before);
    assert_int_equal(frame.type, FRAME_ANNOUNCE);
    uint32_t name = from_le32(frame.announce->message);
    acknowledge(fixture, to, before + 1);
    return name;
}

static inline void fail_peer(struct fixture *fixture, unsigned index, int error)
{
    message_peer_failed(&fixture->layer, &fixture->peers[index], error);
}

static inline int post(struct fixture *fixture, unsigned from, uint64_t tag, uint64_t ignore,
                       void *data, uint64_t bytes, void *context)
{
    struct message_peer *touched = NULL;

    return message_receive(&fixture->layer, from < PEERS ? &fixture->peers[from] : NULL, tag,
                           ignore, data, bytes, context, &touched);
}

#define ANYONE PEERS

/** The next completion; the test ends if there is none. */
static inline struct beowire_completion completed(struct fixture *fixture)
{
    struct beowire_completion done = {0};

    for (unsigned i = 0; i < PEERS; i++) {
        message_pump(&fixture->layer, &fixture->peers[i]); /* a long message ends with its DONE */
        message_take_back(&fixture->layer, &fixture->peers[i]);
    }
    assert_true(message_complete(&fixture->layer, &done));
    return done;
}

static inline bool nothing_completed(struct fixture *fixture)
{
    return !message_has_completions(&fixture->layer);
}

/** From now on sends refer to the user's data, since there is no frame to copy it to. */
static inline void use_up_copies(struct fixture *fixture)
{
    while (frame_pool_take(&fixture->layer.frames, FRAME_BYTES) != NULL) {
        /* all of them */
    }
}

/** Bytes that differ from place to place. */
static inline uint8_t *pattern(size_t bytes)
{
    const size_t period = (size_t)251 * 256; /* after which they would be the same */
    uint8_t *data = malloc(bytes > 0 ? bytes : 1);

    assert_non_null(data);
    for (size_t i = 0; i < bytes && i < period; i++) {
        data[i] = (uint8_t)(i * 7 + i / 251);
    }
    for (size_t i = period; i < bytes; i += period) {
        memcpy(data + i, data, bytes - i < period ? bytes - i : period);
    }
    return data;
}

static inline uint32_t free_chunks(const struct fixture *fixture)
{
    uint32_t count = fixture->layer.chunk_count - fixture->layer.chunks_used;

    for (const struct chunk *chunk = fixture->layer.free_chunks; chunk != NULL;
         chunk = chunk->next) {
        count++;
    }
    return count;
}

/* ---- remote memory -------------------------------------------------------------------------- */

#define PUT_ROOM ((size_t)FRAME_BYTES - 28 - 36)

static inline void offer_memory(struct fixture *fixture, uint64_t key, void *base, uint64_t bytes,
                                unsigned flags)
{
    assert_int_equal(
        region_add(&fixture->layer.regions,
                   &(struct region){.key = key, .base = base, .bytes = bytes, .flags = flags}),
        0);
}

/** Nothing is remembered of any request: all chunks but the peers' credit are free. */
static inline bool nothing_remembered(const struct fixture *fixture)
{
    uint32_t used = 0;

    for (unsigned i = 0; i < PEERS; i++) {
        const struct message_peer *peer = &fixture->peers[i];
        used += peer->ready ? peer->chunks - (peer->flow.granted - peer->flow.expected) : 0;
    }
    return used == 0 && free_chunks(fixture) == fixture->layer.chunk_count;
}

#endif /* BEOWIRE_TESTS_MESSAGE_FIXTURE_H */
