/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/flow.h"

#include "lane/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NOW_NS UINT64_C(1000000000)
#define CREDIT FLOW_WINDOW_FRAMES
#define SENT_MAX 4096

/** A flow whose wire notes what goes out. */
struct fixture {
    struct flow flow;
    struct flow_wire wire;
    struct flow_frame frames[FLOW_WINDOW_FRAMES];
    uint8_t heads[FLOW_WINDOW_FRAMES][LANE_HEADROOM + 64];
    uint32_t pushed;
    unsigned lane_takes; /* so many frames, then no more */
    uint32_t sent[SENT_MAX];
    uint16_t sent_flags[SENT_MAX];
    unsigned sent_count;
    unsigned released;
};

static unsigned note_send(void *context, struct flow_frame *const *frames, unsigned count)
{
    struct fixture *fixture = context;
    unsigned taken = count < fixture->lane_takes ? count : fixture->lane_takes;

    for (unsigned i = 0; i < taken; i++) {
        struct frame frame;
        assert_int_equal(frame_decode(frames[i]->head, frames[i]->head_bytes, &frame), FRAME_OK);
        assert_true(fixture->sent_count < SENT_MAX);
        fixture->sent_flags[fixture->sent_count] = frame.flags;
        fixture->sent[fixture->sent_count++] = frame.sequence;
    }
    fixture->lane_takes -= taken;
    return taken;
}

static void note_released(void *context, struct flow_frame *frame)
{
    struct fixture *fixture = context;

    /* In order, each once. */
    assert_ptr_equal(frame, &fixture->frames[fixture->released % FLOW_WINDOW_FRAMES]);
    fixture->released++;
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL) {
        return -1;
    }
    flow_start(&fixture->flow, CREDIT, CREDIT);
    fixture->wire =
        (struct flow_wire){.send = note_send, .released = note_released, .context = fixture};
    fixture->lane_takes = SENT_MAX;
    for (unsigned i = 0; i < FLOW_WINDOW_FRAMES; i++) {
        fixture->frames[i].head = fixture->heads[i] + LANE_HEADROOM;
        fixture->frames[i].head_bytes = sizeof(struct frame_header) + sizeof(struct frame_clear);
    }
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void push(struct fixture *fixture, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct flow_frame *frame = &fixture->frames[fixture->pushed++ % FLOW_WINDOW_FRAMES];
        assert_true(flow_has_room(&fixture->flow));
        frame_encode(frame->head,
                     &(struct frame_fields){.type = FRAME_CLEAR, .sequence = fixture->flow.next});
        flow_push(&fixture->flow, frame);
    }
}

static void push_and_send(struct fixture *fixture, unsigned count, uint64_t now_ns)
{
    push(fixture, count);
    flow_transmit(&fixture->flow, now_ns, &fixture->wire);
}

/** The peer says: I expect `acknowledgement`, and you may send up to `limit`. */
static bool hear(struct fixture *fixture, uint32_t acknowledgement, uint32_t limit, uint16_t flags,
                 uint64_t now_ns)
{
    const struct frame frame = {.type = FRAME_ACK,
                                .acknowledgement = acknowledgement,
                                .credit = (uint16_t)(limit & 0xFFFF),
                                .flags = flags};

    return flow_acknowledged(&fixture->flow, &frame, now_ns, &fixture->wire);
}

static enum flow_verdict check(struct fixture *fixture, uint32_t sequence, uint64_t now_ns)
{
    const struct frame frame = {.type = FRAME_CLEAR, .sequence = sequence};

    return flow_check(&fixture->flow, &frame, now_ns);
}

static void accept_frames(struct fixture *fixture, unsigned count, uint16_t flags, uint64_t now_ns)
{
    const struct frame frame = {.type = FRAME_CLEAR, .flags = flags};

    for (unsigned i = 0; i < count; i++) {
        flow_accept(&fixture->flow, &frame, now_ns);
    }
}

/** Moves all sequences, as if so many frames had gone both ways before. */
static void start_at(struct fixture *fixture, uint32_t sequence)
{
    struct flow *flow = &fixture->flow;

    flow->first = flow->cursor = flow->highest = flow->next = sequence;
    flow->limit = sequence + CREDIT;
    flow->expected = sequence;
    flow->granted = flow->granted_sent = sequence + CREDIT;
    fixture->pushed = fixture->released = sequence % FLOW_WINDOW_FRAMES;
}

/* ---- sending ------------------------------------------------------------------------------- */

static void flow_transmit__in_order_and_once(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 100, NOW_NS);
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 100);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(fixture->sent[i], i);
        assert_int_equal(fixture->sent_flags[i], 0);
    }
    assert_int_equal(fixture->flow.sent_frames, 100);
    assert_int_equal(fixture->flow.retransmitted_frames, 0);
}

static void flow_transmit__stops_at_the_limit(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.limit = 5;
    push_and_send(fixture, 10, NOW_NS);
    assert_int_equal(fixture->sent_count, 5);
    assert_true(hear(fixture, 0, 7, 0, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 7);
}

static void flow_transmit__lane_takes_some(void **state)
{
    struct fixture *fixture = *state;

    fixture->lane_takes = 40;
    push_and_send(fixture, 64, NOW_NS);
    assert_int_equal(fixture->sent_count, 40);
    assert_int_equal(fixture->flow.highest, 40);
    fixture->lane_takes = SENT_MAX;
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 64);
    assert_int_equal(fixture->sent[40], 40);
    assert_int_equal(fixture->flow.retransmitted_frames, 0);
}

static void flow_transmit__lane_takes_nothing(void **state)
{
    struct fixture *fixture = *state;

    fixture->lane_takes = 0;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(fixture->flow.highest, 0);
    /* Even so the peer's silence is timed: nothing else would bring it to an end. */
    assert_int_not_equal(flow_deadline(&fixture->flow), UINT64_MAX);
}

static void flow_has_room__until_the_ring_is_full(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, FLOW_WINDOW_FRAMES, NOW_NS);
    assert_false(flow_has_room(&fixture->flow));
    assert_true(hear(fixture, 1, CREDIT, 0, NOW_NS));
    assert_true(flow_has_room(&fixture->flow));
}

static void flow__goes_on_across_the_wrap(void **state)
{
    struct fixture *fixture = *state;

    start_at(fixture, 0xFFFFFFF0);
    push_and_send(fixture, 100, NOW_NS);
    assert_int_equal(fixture->sent_count, 100);
    assert_int_equal(fixture->sent[16], 0);
    assert_true(hear(fixture, 0x10, 0x10 + CREDIT, FRAME_GAP, NOW_NS));
    assert_int_equal(fixture->flow.first, 0x10);
    assert_int_equal(fixture->flow.limit, 0x10 + CREDIT);
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent[100], 0x10);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(check(fixture, 0xFFFFFFF0 + i, NOW_NS), FLOW_NEXT);
        accept_frames(fixture, 1, 0, NOW_NS);
    }
    assert_int_equal(check(fixture, 0xFFFFFFFF, NOW_NS), FLOW_DUPLICATE);
    assert_int_equal(check(fixture, 0x11, NOW_NS), FLOW_GAP);
}

/* ---- acknowledgement ----------------------------------------------------------------------- */

static void flow_acknowledged__releases_in_order(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, 0, NOW_NS));
    assert_int_equal(fixture->released, 4);
    assert_true(hear(fixture, 10, CREDIT, 0, NOW_NS));
    assert_int_equal(fixture->released, 10);
    assert_true(flow_is_idle(&fixture->flow));
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
}

static void flow_acknowledged__of_what_was_never_sent(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.limit = 3;
    push_and_send(fixture, 10, NOW_NS);
    assert_false(hear(fixture, 4, 200, 0, NOW_NS));
    assert_int_equal(fixture->released, 0);
    assert_int_equal(fixture->flow.limit, 3);
}

static void flow_acknowledged__overtaken_changes_nothing(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 8, CREDIT, 0, NOW_NS));
    assert_true(hear(fixture, 5, 20, FRAME_GAP, NOW_NS));
    assert_int_equal(fixture->flow.first, 8);
    assert_int_equal(fixture->flow.cursor, 10);
    assert_int_equal(fixture->flow.limit, CREDIT);
}

static void flow_acknowledged__credit_is_never_taken_back(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.limit = 50;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 5, 40, 0, NOW_NS));
    assert_int_equal(fixture->flow.limit, 50);
}

static void flow_acknowledged__absurd_credit_is_ignored(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 5, 5 + 0x9000, 0, NOW_NS));
    assert_int_equal(fixture->flow.limit, CREDIT);
}

static void flow_acknowledged__measures_the_round_trip(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 1, NOW_NS);
    assert_true(hear(fixture, 1, CREDIT, 0, NOW_NS + 80000));
    assert_int_equal(fixture->flow.srtt_ns, 80000);
    assert_int_equal(fixture->flow.rttvar_ns, 40000);
    push_and_send(fixture, 1, NOW_NS);
    assert_true(hear(fixture, 2, CREDIT, 0, NOW_NS + 160000));
    assert_int_equal(fixture->flow.srtt_ns, (7 * 80000 + 160000) / 8);
    assert_int_equal(fixture->flow.rttvar_ns, (3 * 40000 + 80000) / 4);
}

static void flow_acknowledged__what_was_sent_twice_is_not_timed(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 2, NOW_NS);
    assert_true(hear(fixture, 0, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_true(hear(fixture, 2, CREDIT, 0, NOW_NS + 5));
    assert_int_equal(fixture->flow.srtt_ns, 0);
}

/* ---- loss ---------------------------------------------------------------------------------- */

static void flow_acknowledged__gap_goes_back(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 16);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(fixture->sent[10 + i], 4 + i);
        assert_int_equal(fixture->sent_flags[10 + i], FRAME_RETRANSMITTED);
    }
    assert_int_equal(fixture->flow.retransmitted_frames, 6);
}

static void flow_acknowledged__same_gap_again_at_once(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS + i));
        flow_transmit(&fixture->flow, NOW_NS + i, &fixture->wire);
    }
    assert_int_equal(fixture->sent_count, 16);
}

static void flow_acknowledged__same_gap_again_later(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS + FLOW_GAP_REPEAT_NS));
    flow_transmit(&fixture->flow, NOW_NS + FLOW_GAP_REPEAT_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 22);
}

static void flow_acknowledged__next_gap_at_once(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_true(hear(fixture, 6, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 20);
}

static void flow_acknowledged__gap_that_goes_unanswered_is_probed(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_RTO_MIN_NS), FLOW_DUE_PROBE);
}

static void flow_acknowledged__more_than_was_sent_again(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear(fixture, 4, CREDIT, FRAME_GAP, NOW_NS));
    fixture->lane_takes = 0;
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_true(hear(fixture, 7, CREDIT, 0, NOW_NS));
    fixture->lane_takes = SENT_MAX;
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 13);
    assert_int_equal(fixture->sent[10], 7); /* what is acknowledged is not ours any more */
}

static void flow_acknowledged__gap_with_nothing_missing(void **state)
{
    struct fixture *fixture = *state;

    push_and_send(fixture, 3, NOW_NS);
    assert_true(hear(fixture, 3, CREDIT, FRAME_GAP, NOW_NS));
    flow_transmit(&fixture->flow, NOW_NS, &fixture->wire);
    assert_int_equal(fixture->sent_count, 3);
}

static void flow_timeout__doubles_up_to_a_bound(void **state)
{
    struct fixture *fixture = *state;
    uint64_t now_ns = NOW_NS;
    uint64_t timeout_ns = FLOW_RTO_MIN_NS;

    push_and_send(fixture, 1, now_ns);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(flow_due(&fixture->flow, now_ns + timeout_ns - 1), FLOW_DUE_NOTHING);
        now_ns += timeout_ns;
        assert_int_equal(flow_due(&fixture->flow, now_ns), FLOW_DUE_PROBE);
        flow_timeout(&fixture->flow, now_ns);
        timeout_ns = 2 * timeout_ns < FLOW_BACKOFF_MAX_NS ? 2 * timeout_ns : FLOW_BACKOFF_MAX_NS;
    }
    assert_int_equal(fixture->flow.waiting_since_ns, NOW_NS);
    assert_true(hear(fixture, 1, CREDIT, 0, now_ns));
    assert_int_equal(fixture->flow.backoff, 0);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
}

static void flow_timeout__follows_the_round_trip(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.srtt_ns = 10000000;
    fixture->flow.rttvar_ns = 1000000;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 14000000);
    flow_start(&fixture->flow, CREDIT, CREDIT);
    fixture->flow.srtt_ns = UINT64_C(60000000000);
    fixture->pushed = 0;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MAX_NS);
}

static void flow_timeout__without_credit_the_peer_is_probed(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.limit = 0;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(fixture->sent_count, 0);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_RTO_MIN_NS), FLOW_DUE_PROBE);
}

static void flow_watch__probes_a_peer_that_owes_nothing(void **state)
{
    struct fixture *fixture = *state;

    flow_watch(&fixture->flow, true, NOW_NS);
    flow_watch(&fixture->flow, true, NOW_NS + 5);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    flow_timeout(&fixture->flow, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.waiting_since_ns, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.backoff, 0);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 2 * (uint64_t)FLOW_WATCH_NS);
    assert_true(hear(fixture, 0, CREDIT, 0, NOW_NS + FLOW_WATCH_NS));
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
}

static void flow_watch__ends_without_a_trace(void **state)
{
    struct fixture *fixture = *state;

    flow_watch(&fixture->flow, true, NOW_NS);
    flow_timeout(&fixture->flow, NOW_NS + FLOW_WATCH_NS);
    flow_watch(&fixture->flow, false, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
}

static void flow_watch__gives_way_to_the_retransmission_timeout(void **state)
{
    struct fixture *fixture = *state;

    flow_watch(&fixture->flow, true, NOW_NS);
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
    flow_watch(&fixture->flow, false, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static void flow_check__in_order(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(check(fixture, i, NOW_NS), FLOW_NEXT);
        accept_frames(fixture, 1, 0, NOW_NS);
    }
}

static void flow_check__duplicate_is_acknowledged_at_once(void **state)
{
    struct fixture *fixture = *state;

    accept_frames(fixture, 3, 0, NOW_NS);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_DUPLICATE);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), 0);
    assert_int_equal(fixture->flow.duplicates, 1);
}

static void flow_check__gap_is_reported_once(void **state)
{
    struct fixture *fixture = *state;
    uint8_t head[28] = {0};

    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), FRAME_GAP);
    flow_stamp(&fixture->flow, head, FRAME_GAP);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    assert_int_equal(check(fixture, 2, NOW_NS + FLOW_GAP_REPEAT_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_GAP_REPEAT_NS), FLOW_DUE_ACK);
}

static void flow_check__another_gap_is_reported_at_once(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), FRAME_GAP);
    accept_frames(fixture, 1, 0, NOW_NS);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), FRAME_GAP);
    assert_int_equal(fixture->flow.gaps, 2);
}

static void flow_check__beyond_credit(void **state)
{
    struct fixture *fixture = *state;

    accept_frames(fixture, CREDIT, 0, NOW_NS);
    assert_int_equal(check(fixture, CREDIT, NOW_NS), FLOW_OVERRUN);
    flow_grant(&fixture->flow, CREDIT + 1);
    assert_int_equal(check(fixture, CREDIT, NOW_NS), FLOW_NEXT);
}

static void flow_accept__acknowledges_late(void **state)
{
    struct fixture *fixture = *state;

    accept_frames(fixture, 2, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS - 1), FLOW_DUE_NOTHING);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_ACK_DELAY_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS), FLOW_DUE_ACK);
}

static void flow_accept__acknowledges_every_so_many(void **state)
{
    struct fixture *fixture = *state;

    accept_frames(fixture, FLOW_ACK_EVERY_FRAMES - 1, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    accept_frames(fixture, 1, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

static void flow_accept__acknowledges_at_once_when_asked(void **state)
{
    struct fixture *fixture = *state;

    accept_frames(fixture, 1, FRAME_ACK_REQUEST, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_deadline(&fixture->flow), 0);
}

static void flow_stamp__settles_what_is_owed(void **state)
{
    struct fixture *fixture = *state;
    uint8_t head[28];
    struct frame frame;

    accept_frames(fixture, FLOW_ACK_EVERY_FRAMES, 0, NOW_NS);
    flow_grant(&fixture->flow, CREDIT + 3);
    frame_encode(head, &(struct frame_fields){.type = FRAME_ACK});
    flow_stamp(&fixture->flow, head, 0);
    assert_int_equal(frame_decode(head, sizeof head, &frame), FRAME_OK);
    assert_int_equal(frame.acknowledgement, FLOW_ACK_EVERY_FRAMES);
    assert_int_equal(frame.credit, CREDIT + 3);
    assert_int_equal(flow_due(&fixture->flow, UINT64_MAX), FLOW_DUE_NOTHING);
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
}

static void flow_stamp__on_data_does_not_settle_a_gap(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_GAP);
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), FRAME_GAP);
}

static void flow_probed__is_answered_with_the_gap(void **state)
{
    struct fixture *fixture = *state;
    struct frame probe = {.type = FRAME_PROBE, .sequence = 0};

    flow_probed(&fixture->flow, &probe);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), 0);
    probe.sequence = 1;
    flow_probed(&fixture->flow, &probe);
    assert_int_equal(flow_ack_flags(&fixture->flow, NOW_NS), FRAME_GAP);
}

static void flow_grant__is_told_to_a_peer_that_has_none_left(void **state)
{
    struct fixture *fixture = *state;
    uint8_t head[28] = {0};

    accept_frames(fixture, CREDIT, 0, NOW_NS);
    flow_stamp(&fixture->flow, head, 0);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    flow_grant(&fixture->flow, CREDIT + 1);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

static void flow_grant__never_takes_back(void **state)
{
    struct fixture *fixture = *state;

    flow_grant(&fixture->flow, CREDIT - 1);
    assert_int_equal(fixture->flow.granted, CREDIT);
}

static void flow_abandon__releases_everything(void **state)
{
    struct fixture *fixture = *state;

    fixture->flow.limit = 3;
    push_and_send(fixture, 10, NOW_NS);
    flow_abandon(&fixture->flow, &fixture->wire);
    assert_int_equal(fixture->released, 10);
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
    assert_true(flow_is_idle(&fixture->flow));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(flow_transmit__in_order_and_once),
        TEST(flow_transmit__stops_at_the_limit),
        TEST(flow_transmit__lane_takes_some),
        TEST(flow_transmit__lane_takes_nothing),
        TEST(flow_has_room__until_the_ring_is_full),
        TEST(flow__goes_on_across_the_wrap),
        TEST(flow_acknowledged__releases_in_order),
        TEST(flow_acknowledged__of_what_was_never_sent),
        TEST(flow_acknowledged__overtaken_changes_nothing),
        TEST(flow_acknowledged__credit_is_never_taken_back),
        TEST(flow_acknowledged__absurd_credit_is_ignored),
        TEST(flow_acknowledged__measures_the_round_trip),
        TEST(flow_acknowledged__what_was_sent_twice_is_not_timed),
        TEST(flow_acknowledged__gap_goes_back),
        TEST(flow_acknowledged__same_gap_again_at_once),
        TEST(flow_acknowledged__same_gap_again_later),
        TEST(flow_acknowledged__next_gap_at_once),
        TEST(flow_acknowledged__gap_that_goes_unanswered_is_probed),
        TEST(flow_acknowledged__more_than_was_sent_again),
        TEST(flow_acknowledged__gap_with_nothing_missing),
        TEST(flow_timeout__doubles_up_to_a_bound),
        TEST(flow_timeout__follows_the_round_trip),
        TEST(flow_timeout__without_credit_the_peer_is_probed),
        TEST(flow_watch__probes_a_peer_that_owes_nothing),
        TEST(flow_watch__ends_without_a_trace),
        TEST(flow_watch__gives_way_to_the_retransmission_timeout),
        TEST(flow_check__in_order),
        TEST(flow_check__duplicate_is_acknowledged_at_once),
        TEST(flow_check__gap_is_reported_once),
        TEST(flow_check__another_gap_is_reported_at_once),
        TEST(flow_check__beyond_credit),
        TEST(flow_accept__acknowledges_late),
        TEST(flow_accept__acknowledges_every_so_many),
        TEST(flow_accept__acknowledges_at_once_when_asked),
        TEST(flow_stamp__settles_what_is_owed),
        TEST(flow_stamp__on_data_does_not_settle_a_gap),
        TEST(flow_probed__is_answered_with_the_gap),
        TEST(flow_grant__is_told_to_a_peer_that_has_none_left),
        TEST(flow_grant__never_takes_back),
        TEST(flow_abandon__releases_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
