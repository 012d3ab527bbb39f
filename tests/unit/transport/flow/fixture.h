/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixture.h - a flow whose wire notes what goes out, and a peer that says what the test wants.
 */
#ifndef BEOWIRE_TESTS_FLOW_FIXTURE_H
#define BEOWIRE_TESTS_FLOW_FIXTURE_H

#include "flow/flow.h"
#include "lane/lane.h"
#include "unit/test.h"

#include <stddef.h>
#include <stdlib.h>

#define NOW_NS UINT64_C(1000000000)
#define CREDIT FLOW_WINDOW_FRAMES
#define SENT_MAX 4096

/** A flow whose wire notes what goes out. */
struct fixture {
    struct flow flow;
    struct lane lane; /* the only one there is */
    struct path_lanes lanes;
    struct routes routes;
    struct route route;
    uint64_t counts[FRAME_TYPES];
    struct flow_frame frames[FLOW_WINDOW_FRAMES];
    uint8_t heads[FLOW_WINDOW_FRAMES][LANE_HEADROOM + 64];
    uint32_t pushed;
    unsigned lane_takes; /* so many frames, then no more */
    uint32_t sent[SENT_MAX];
    uint16_t sent_flags[SENT_MAX];
    unsigned sent_count;
    unsigned batches[SENT_MAX]; /* frames that the wire was offered at once */
    unsigned batch_count;
    unsigned released;
};

static inline struct fixture *fixture_of(struct lane *lane)
{
    return (struct fixture *)(void *)((char *)lane - offsetof(struct fixture, lane));
}

static inline unsigned note_send(struct lane *lane, const struct lane_address *to,
                                 const struct lane_outgoing *frames, unsigned count)
{
    struct fixture *fixture = fixture_of(lane);
    assert_ptr_equal(to, &fixture->route.paths.to[0]);
    unsigned taken = count < fixture->lane_takes ? count : fixture->lane_takes;

    assert_true(fixture->batch_count < SENT_MAX);
    fixture->batches[fixture->batch_count++] = count;
    for (unsigned i = 0; i < taken; i++) {
        struct frame frame;
        assert_int_equal(frame_decode(frames[i].head, frames[i].head_bytes, &frame), FRAME_OK);
        assert_true(fixture->sent_count < SENT_MAX);
        fixture->sent_flags[fixture->sent_count] = frame.flags;
        fixture->sent[fixture->sent_count++] = frame.sequence;
    }
    fixture->lane_takes -= taken;
    return taken;
}

/** Takes back what was acknowledged. */
static inline void take_released(struct fixture *fixture)
{
    struct flow_frame *frame = NULL;

    while ((frame = flow_take_released(&fixture->flow)) != NULL) {
        /* In order, each once. */
        assert_ptr_equal(frame, &fixture->frames[fixture->released % FLOW_WINDOW_FRAMES]);
        fixture->released++;
    }
}

static inline int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    flow_start(&fixture->flow, CREDIT, CREDIT);
    static const struct lane_operations operations = {.send = note_send};
    fixture->lane.operations = &operations;
    fixture->lanes.lanes[0] = &fixture->lane;
    fixture->lanes.count = 1;
    fixture->routes = (struct routes){.lanes = &fixture->lanes, .sent = fixture->counts};
    fixture->route.paths.reachable = fixture->route.paths.proven = 1;
    convoy_init(&fixture->route.convoy, CONVOY_FRAMES_MIN);
    fixture->lane_takes = SENT_MAX;
    for (unsigned i = 0; i < FLOW_WINDOW_FRAMES; i++) {
        fixture->frames[i].head = fixture->heads[i] + LANE_HEADROOM;
        fixture->frames[i].head_bytes = sizeof(struct frame_header) + sizeof(struct frame_eager);
    }
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    free(*state);
    return 0;
}

static inline void push(struct fixture *fixture, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct flow_frame *frame = &fixture->frames[fixture->pushed++ % FLOW_WINDOW_FRAMES];
        assert_true(flow_has_room(&fixture->flow));
        frame_encode(frame->head,
                     &(struct frame_fields){.type = FRAME_EAGER, .sequence = fixture->flow.next});
        flow_push(&fixture->flow, frame);
    }
}

static inline void transmit(struct fixture *fixture, uint64_t now_ns)
{
    (void)flow_transmit(&fixture->flow, &fixture->routes, &fixture->route, UINT32_MAX, now_ns);
}

static inline void push_and_send(struct fixture *fixture, unsigned count, uint64_t now_ns)
{
    push(fixture, count);
    transmit(fixture, now_ns);
}

/** A PROBE leaves. */
static inline void probe(struct fixture *fixture, uint64_t now_ns)
{
    assert_int_equal(flow_due(&fixture->flow, now_ns) & FLOW_DUE_PROBE, FLOW_DUE_PROBE);
    flow_timeout(&fixture->flow, now_ns);
}

static inline bool hear(struct fixture *fixture, const struct frame *frame, uint64_t now_ns)
{
    bool sensible = flow_acknowledged(&fixture->flow, &fixture->route, frame, now_ns);

    take_released(fixture);
    return sensible;
}

/** The peer says: I expect `acknowledgement`, and you may send up to `limit`. */
static inline bool hear_ack(struct fixture *fixture, uint32_t acknowledgement, uint32_t limit,
                            uint64_t now_ns)
{
    const struct frame frame = {.type = FRAME_ACK,
                                .acknowledgement = acknowledgement,
                                .credit = (uint16_t)(limit & 0xFFFF)};

    return hear(fixture, &frame, now_ns);
}

/** The peer says: `acknowledgement` is missing, here are `first` to `last`, of what comes at `upto`
 *  I know nothing, and PROBE number `probe` is the latest that I have seen. first > last: nothing
 *  is here behind the gap. */
static inline bool hear_sack(struct fixture *fixture, uint32_t acknowledgement, uint32_t first,
                             uint32_t last, uint32_t upto, uint32_t probe, uint64_t now_ns)
{
    struct frame_sack sack = {.upto = to_le32(upto), .probe = to_le32(probe)};
    const struct frame frame = {.type = FRAME_SACK,
                                .acknowledgement = acknowledgement,
                                .credit = (uint16_t)((acknowledgement + CREDIT) & 0xFFFF),
                                .sack = &sack};

    for (uint32_t sequence = first; !sequence_before(last, sequence); sequence++) {
        uint32_t bit = sequence - acknowledgement - 1;
        sack.received[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
    return hear(fixture, &frame, now_ns);
}

#define NONE 1, 0 /* first, last of hear_sack() */

/** Sends one frame and has it acknowledged, so that the round trip is known. */
static inline void learn_rtt(struct fixture *fixture, uint64_t now_ns, uint64_t rtt_ns)
{
    uint32_t sequence = fixture->flow.next;

    push_and_send(fixture, 1, now_ns);
    assert_true(hear_ack(fixture, sequence + 1, sequence + 1 + CREDIT, now_ns + rtt_ns));
    fixture->sent_count = 0;
}

/** Moves all sequences, as if so many frames had gone both ways before. */
static inline void start_at(struct fixture *fixture, uint32_t sequence)
{
    struct flow *flow = &fixture->flow;

    flow->first = flow->released = flow->reported = flow->highest = flow->next = sequence;
    for (unsigned way = 0; way < FLOW_WAYS; way++) {
        flow->loss.ways[way].forward = sequence;
    }
    flow->limit = sequence + CREDIT;
    flow->expected = flow->seen = sequence;
    flow->granted = flow->granted_sent = sequence + CREDIT;
    fixture->pushed = fixture->released = sequence % FLOW_WINDOW_FRAMES;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

#endif /* BEOWIRE_TESTS_FLOW_FIXTURE_H */
