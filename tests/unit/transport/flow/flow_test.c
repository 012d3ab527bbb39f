/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

/* ---- sending ------------------------------------------------------------------------------- */

FIXTURE_TEST(flow_transmit__in_order_and_once)
{
    push_and_send(fixture, 100, NOW_NS);
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 100);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(fixture->sent[i], i);
        assert_int_equal(fixture->sent_flags[i], 0);
    }
    assert_int_equal(fixture->flow.sent_frames, 100);
    assert_int_equal(fixture->flow.retransmitted_frames, 0);
}

FIXTURE_TEST(flow_transmit__stops_at_the_limit)
{
    fixture->flow.limit = 5;
    push_and_send(fixture, 10, NOW_NS);
    assert_int_equal(fixture->sent_count, 5);
    assert_false(flow_waits_for_lane(&fixture->flow));
    assert_true(hear_ack(fixture, 0, 7, NOW_NS));
    assert_true(flow_waits_for_lane(&fixture->flow));
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 7);
}

FIXTURE_TEST(flow_transmit__lane_takes_some)
{
    fixture->lane_takes = 40;
    push_and_send(fixture, 64, NOW_NS);
    assert_int_equal(fixture->sent_count, 40);
    assert_int_equal(fixture->flow.highest, 40);
    assert_true(flow_waits_for_lane(&fixture->flow));
    fixture->lane_takes = SENT_MAX;
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 64);
    assert_int_equal(fixture->sent[40], 40);
    assert_int_equal(fixture->flow.retransmitted_frames, 0);
    assert_false(flow_waits_for_lane(&fixture->flow));
}

FIXTURE_TEST(flow_transmit__the_end_goes_in_two_equal_batches)
{
    const unsigned expected[] = {FLOW_BATCH_FRAMES, 51, 50, FLOW_BATCH_FRAMES};

    push_and_send(fixture, 2 * FLOW_BATCH_FRAMES + 37, NOW_NS);
    push_and_send(fixture, FLOW_BATCH_FRAMES, NOW_NS);
    assert_int_equal(fixture->batch_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fixture->batches[i], expected[i]);
    }
}

FIXTURE_TEST(flow_transmit__lane_takes_nothing)
{
    fixture->lane_takes = 0;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(fixture->flow.highest, 0);
    /* Even so the peer's silence is timed: nothing else would bring it to an end. */
    assert_int_not_equal(flow_deadline(&fixture->flow), UINT64_MAX);
}

FIXTURE_TEST(flow_transmit__lost_before_new)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_sack(fixture, 2, 5, 9, 10, 0, NOW_NS + 1000));
    push_and_send(fixture, 2, NOW_NS + 1000);
    const uint32_t expected[] = {2, 3, 4, 10, 11};
    assert_int_equal(fixture->sent_count, 15);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(fixture->sent[10 + i], expected[i]);
        assert_int_equal(fixture->sent_flags[10 + i], i < 3 ? FRAME_RETRANSMITTED : 0);
    }
    assert_int_equal(fixture->flow.retransmitted_frames, 3);
    assert_int_equal(fixture->flow.lost_frames, 0);
}

FIXTURE_TEST(flow_transmit__lane_takes_some_of_the_lost)
{
    push_and_send(fixture, 100, NOW_NS);
    assert_true(hear_sack(fixture, 0, 80, 99, 100, 0, NOW_NS + 1000));
    fixture->lane_takes = 40;
    push_and_send(fixture, 1, NOW_NS + 1000);
    assert_int_equal(fixture->sent_count, 140);
    assert_int_equal(fixture->sent[139], 39);
    assert_int_equal(fixture->flow.lost_frames, 40);
    assert_true(flow_waits_for_lane(&fixture->flow));
    fixture->lane_takes = SENT_MAX;
    transmit(fixture, NOW_NS + 1000);
    assert_int_equal(fixture->sent_count, 181);
    assert_int_equal(fixture->sent[140], 40);
    assert_int_equal(fixture->sent[180], 100);
}

FIXTURE_TEST(flow_transmit__congestion_window_while_losses_come_from_a_queue)
{
    uint64_t now_ns = NOW_NS;

    learn_rtt(fixture, now_ns, 20000);
    congestion_lost(&fixture->flow.congestion, now_ns, &fixture->flow.rtt);
    for (unsigned i = 0; i < 20; i++) {
        now_ns += 2000000;
        learn_rtt(fixture, now_ns, 1000000);
    }
    push_and_send(fixture, FLOW_WINDOW_FRAMES, now_ns + 1000000);
    assert_int_equal(fixture->sent_count, FLOW_WINDOW_FLOOR_FRAMES);
    assert_false(flow_waits_for_lane(&fixture->flow)); /* it would be no use to it */
    assert_true(hear_ack(fixture, 31, 31 + CREDIT, now_ns + 1020000));
    transmit(fixture, now_ns + 1020000);
    assert_int_equal(fixture->sent_count, FLOW_WINDOW_FLOOR_FRAMES + 10);
}

FIXTURE_TEST(flow_has_room__until_the_ring_is_full)
{
    push_and_send(fixture, FLOW_WINDOW_FRAMES, NOW_NS);
    assert_false(flow_has_room(&fixture->flow));
    assert_true(hear_ack(fixture, 1, CREDIT, NOW_NS));
    assert_true(flow_has_room(&fixture->flow));
}

FIXTURE_TEST(flow__goes_on_across_the_wrap)
{
    start_at(fixture, 0xFFFFFFF0);
    push_and_send(fixture, 100, NOW_NS);
    assert_int_equal(fixture->sent_count, 100);
    assert_int_equal(fixture->sent[16], 0);
    assert_true(hear_sack(fixture, 0xFFFFFFFE, 2, 9, 10, 0, NOW_NS + 1000));
    assert_int_equal(fixture->flow.first, 0xFFFFFFFE);
    assert_int_equal(fixture->flow.limit, 0xFFFFFFFE + CREDIT);
    transmit(fixture, NOW_NS + 1000);
    assert_int_equal(fixture->sent_count, 104);
    assert_int_equal(fixture->sent[100], 0xFFFFFFFE);
    assert_int_equal(fixture->sent[103], 1);
    assert_true(hear_ack(fixture, 0x10, 0x10 + CREDIT, NOW_NS + 2000));
    assert_int_equal(fixture->flow.first, 0x10);
    assert_int_equal(fixture->flow.delivered_frames, 0);
    assert_int_equal(fixture->flow.reported, 0x10);
}

/* ---- acknowledgement ----------------------------------------------------------------------- */

FIXTURE_TEST(flow_acknowledged__releases_in_order)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_ack(fixture, 4, CREDIT, NOW_NS));
    assert_int_equal(fixture->released, 4);
    assert_true(hear_ack(fixture, 10, CREDIT, NOW_NS));
    assert_int_equal(fixture->released, 10);
    assert_true(flow_is_idle(&fixture->flow));
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
}

FIXTURE_TEST(flow_acknowledged__of_what_was_never_sent)
{
    fixture->flow.limit = 3;
    push_and_send(fixture, 10, NOW_NS);
    assert_false(hear_ack(fixture, 4, 200, NOW_NS));
    assert_false(hear_sack(fixture, 2, 3, 3, 4, 0, NOW_NS));
    assert_false(hear_sack(fixture, 2, NONE, 4, 0, NOW_NS));
    assert_int_equal(fixture->released, 0);
    assert_int_equal(fixture->flow.limit, 3);
    assert_int_equal(fixture->flow.delivered_frames, 0);
}

FIXTURE_TEST(flow_acknowledged__overtaken_changes_nothing)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_ack(fixture, 8, CREDIT, NOW_NS));
    assert_true(hear_sack(fixture, 5, 7, 7, 10, 0, NOW_NS + 5000000));
    assert_int_equal(fixture->flow.first, 8);
    assert_int_equal(fixture->flow.lost_frames, 0);
    assert_int_equal(fixture->flow.delivered_frames, 0);
    assert_int_equal(fixture->flow.limit, CREDIT);
}

FIXTURE_TEST(flow_acknowledged__credit_is_never_taken_back)
{
    fixture->flow.limit = 50;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_ack(fixture, 5, 40, NOW_NS));
    assert_int_equal(fixture->flow.limit, 50);
}

FIXTURE_TEST(flow_acknowledged__absurd_credit_is_ignored)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_ack(fixture, 5, 5 + 0x9000, NOW_NS));
    assert_int_equal(fixture->flow.limit, CREDIT);
}

FIXTURE_TEST(flow_acknowledged__measures_the_round_trip)
{
    push_and_send(fixture, 1, NOW_NS);
    assert_true(hear_ack(fixture, 1, CREDIT, NOW_NS + 80000));
    assert_int_equal(fixture->flow.rtt.smoothed_ns, 80000);
    push_and_send(fixture, 1, NOW_NS);
    push_and_send(fixture, 1, NOW_NS + 40000); /* the last of those acknowledged counts */
    assert_true(hear_ack(fixture, 3, CREDIT, NOW_NS + 200000));
    assert_int_equal(fixture->flow.rtt.smoothed_ns, (7 * 80000 + 160000) / 8);
    assert_int_equal(fixture->flow.rtt.minimum_ns, 80000);
}

FIXTURE_TEST(flow_acknowledged__what_came_behind_a_gap_is_timed)
{
    push_and_send(fixture, 5, NOW_NS);
    assert_true(hear_sack(fixture, 0, 1, 4, 5, 0, NOW_NS + 30000));
    assert_int_equal(fixture->flow.rtt.smoothed_ns, 30000);
}

FIXTURE_TEST(flow_acknowledged__what_was_sent_twice_is_not_timed)
{
    push_and_send(fixture, 5, NOW_NS);
    assert_true(hear_sack(fixture, 0, 1, 4, 5, 0, NOW_NS + 30000));
    transmit(fixture, NOW_NS + 30000);
    assert_int_equal(fixture->flow.retransmitted_frames, 1);
    assert_true(hear_ack(fixture, 5, CREDIT, NOW_NS + 500000));
    assert_int_equal(fixture->flow.rtt.smoothed_ns, 30000);
}

FIXTURE_TEST(flow_acknowledged__sack_releases_nothing_behind_the_gap)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_sack(fixture, 2, 4, 9, 10, 0, NOW_NS));
    assert_int_equal(fixture->released, 2);
    assert_int_equal(fixture->flow.delivered_frames, 6);
    assert_true(hear_sack(fixture, 2, 4, 9, 10, 0, NOW_NS)); /* again: nothing new */
    assert_int_equal(fixture->flow.delivered_frames, 6);
    assert_true(hear_ack(fixture, 10, CREDIT, NOW_NS));
    assert_int_equal(fixture->released, 10);
    assert_int_equal(fixture->flow.delivered_frames, 0);
}

FIXTURE_TEST(flow_acknowledged__lost_ones_that_come_after_all_are_not_sent)
{
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_sack(fixture, 0, 5, 9, 10, 0, NOW_NS + 1000));
    assert_int_equal(fixture->flow.lost_frames, 5);
    assert_true(hear_sack(fixture, 2, 4, 9, 10, 0, NOW_NS + 2000));
    assert_int_equal(fixture->flow.lost_frames, 2);
    transmit(fixture, NOW_NS + 2000);
    assert_int_equal(fixture->sent_count, 12);
    assert_int_equal(fixture->sent[10], 2);
    assert_int_equal(fixture->sent[11], 3);
}

/* ---- time ---------------------------------------------------------------------------------- */

FIXTURE_TEST(flow_heard__is_an_answer_and_no_progress)
{
    push_and_send(fixture, 2, 1000);
    probe(fixture, fixture->flow.timeout_at_ns);
    uint64_t next_ns = fixture->flow.timeout_at_ns;
    flow_heard(&fixture->flow);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    assert_int_equal(fixture->flow.unanswered, 0);
    assert_int_equal(fixture->flow.timeout_at_ns, next_ns); /* two frames are still to be told of */
    assert_int_equal(fixture->flow.first, 0);
}

FIXTURE_TEST(flow_heard__puts_off_the_watch)
{
    flow_watch(&fixture->flow, true, 1000);
    assert_int_equal(fixture->flow.timeout_at_ns, 1000 + FLOW_WATCH_NS);
    flow_heard(&fixture->flow);
    flow_watch(&fixture->flow, true, 2000);
    assert_int_equal(fixture->flow.timeout_at_ns, 2000 + FLOW_WATCH_NS);
}

FIXTURE_TEST(flow_timeout__follows_the_round_trip)
{
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
    assert_true(hear_ack(fixture, 1, CREDIT, NOW_NS + 1000000));
    push_and_send(fixture, 1, NOW_NS); /* the acknowledgement of one may be delayed */
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 2000000 + FLOW_ACK_DELAY_NS);
    assert_true(hear_ack(fixture, 2, CREDIT, NOW_NS + 1000000));
    push_and_send(fixture, FLOW_ACK_EVERY_FRAMES, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 2000000);
}

FIXTURE_TEST(flow_timeout__has_bounds)
{
    learn_rtt(fixture, NOW_NS, 1000);
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_PROBE_MIN_NS);
    for (uint32_t i = 2; i < 10; i++) {
        assert_true(hear_ack(fixture, i, CREDIT, NOW_NS + UINT64_C(60000000000)));
        push_and_send(fixture, 1, NOW_NS);
    }
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MAX_NS);
}

FIXTURE_TEST(flow_timeout__doubles_up_to_a_bound)
{
    uint64_t now_ns = NOW_NS;
    uint64_t timeout_ns = FLOW_PROBE_MIN_NS;

    learn_rtt(fixture, now_ns, 1000);
    push_and_send(fixture, 1, now_ns);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(flow_due(&fixture->flow, now_ns + timeout_ns - 1), FLOW_DUE_NOTHING);
        now_ns += timeout_ns;
        probe(fixture, now_ns);
        timeout_ns = i == 0 ? FLOW_RTO_MIN_NS : 2 * timeout_ns;
        timeout_ns = timeout_ns < FLOW_BACKOFF_MAX_NS ? timeout_ns : FLOW_BACKOFF_MAX_NS;
    }
    assert_int_equal(fixture->flow.waiting_since_ns, NOW_NS);
    assert_true(hear_ack(fixture, 2, CREDIT, now_ns));
    assert_int_equal(fixture->flow.backoff, 0);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
}

FIXTURE_TEST(flow_timeout__answer_to_the_probe_finds_a_lost_tail)
{
    learn_rtt(fixture, NOW_NS, 50000);
    push_and_send(fixture, 3, NOW_NS);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, NONE, 4, 1, probed_ns + 50000));
    transmit(fixture, probed_ns + 50000);
    assert_int_equal(fixture->sent_count, 6);
    assert_int_equal(fixture->sent[3], 1);
    assert_int_equal(fixture->flow.retransmitted_frames, 3);
}

FIXTURE_TEST(flow_stuck_since__the_first_was_sent_again)
{
    uint64_t now_ns = NOW_NS;

    push_and_send(fixture, 3, now_ns);
    for (unsigned i = 1; i < FLOW_STUCK_TRANSMISSIONS; i++) {
        assert_int_equal(flow_stuck_since(&fixture->flow), 0);
        now_ns = flow_deadline(&fixture->flow);
        probe(fixture, now_ns);
        assert_true(hear_sack(fixture, 0, NONE, 3, i, now_ns + 1000));
        transmit(fixture, now_ns + 1000 * i);
    }
    uint64_t since_ns = flow_stuck_since(&fixture->flow);
    assert_true(since_ns > NOW_NS && since_ns < now_ns);
    assert_true(hear_ack(fixture, 1, CREDIT, now_ns + 10000)); /* the next one may be younger */
    assert_int_equal(flow_stuck_since(&fixture->flow), 0);
    flow_abandon(&fixture->flow);
    assert_int_equal(flow_stuck_since(&fixture->flow), 0);
}

FIXTURE_TEST(flow_timeout__without_credit_the_peer_is_probed)
{
    fixture->flow.limit = 0;
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(fixture->sent_count, 0);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_RTO_MIN_NS), FLOW_DUE_PROBE);
}

/** Who has nothing under way has asked nothing, until it probes: the next probe may be later than a
 *  peer is waited for. */
FIXTURE_TEST(flow_starve__only_a_probe_is_a_question)
{
    uint64_t asked_ns = NOW_NS + FLOW_RTO_MIN_NS;

    fixture->flow.limit = 0;
    flow_starve(&fixture->flow, true);
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    probe(fixture, asked_ns);
    assert_int_equal(fixture->flow.waiting_since_ns, asked_ns);
    assert_true(hear_ack(fixture, 0, 0, asked_ns + 5));
    transmit(fixture, asked_ns + 5);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    assert_int_equal(fixture->flow.backoff, 1);
}

FIXTURE_TEST(flow_starve__credit_is_progress)
{
    uint64_t now_ns = NOW_NS;

    fixture->flow.limit = 0;
    flow_starve(&fixture->flow, true);
    transmit(fixture, NOW_NS);
    for (unsigned i = 0; i < 8; i++) {
        now_ns = flow_deadline(&fixture->flow);
        probe(fixture, now_ns);
    }
    assert_true(flow_deadline(&fixture->flow) > now_ns + 10 * (uint64_t)FLOW_RTO_MIN_NS);
    assert_true(hear_ack(fixture, 0, 1, now_ns));
    assert_int_equal(flow_deadline(&fixture->flow), now_ns + FLOW_RTO_MIN_NS);
}

FIXTURE_TEST(flow_deadline__of_a_frame_that_may_only_be_late)
{
    learn_rtt(fixture, NOW_NS, 80000);
    push_and_send(fixture, 2, NOW_NS);
    assert_true(hear_sack(fixture, 1, 2, 2, 3, 0, NOW_NS + 80000));
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 100000);
    transmit(fixture, NOW_NS + 99999);
    assert_int_equal(fixture->sent_count, 2);
    transmit(fixture, NOW_NS + 100000);
    assert_int_equal(fixture->sent_count, 3);
    assert_int_equal(fixture->sent[2], 1);
}

FIXTURE_TEST(flow_watch__probes_a_peer_that_owes_nothing)
{
    flow_watch(&fixture->flow, true, NOW_NS);
    flow_watch(&fixture->flow, true, NOW_NS + 5);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    flow_timeout(&fixture->flow, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.waiting_since_ns, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.backoff, 0);
    assert_int_equal(fixture->flow.unanswered, 1);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + 2 * (uint64_t)FLOW_WATCH_NS);
    flow_timeout(&fixture->flow, NOW_NS + 2 * (uint64_t)FLOW_WATCH_NS);
    assert_int_equal(fixture->flow.unanswered, 2);
    assert_true(hear_ack(fixture, 0, CREDIT, NOW_NS + 2 * (uint64_t)FLOW_WATCH_NS));
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
    assert_int_equal(fixture->flow.unanswered, 0);
}

FIXTURE_TEST(flow_watch__ends_without_a_trace)
{
    flow_watch(&fixture->flow, true, NOW_NS);
    flow_timeout(&fixture->flow, NOW_NS + FLOW_WATCH_NS);
    flow_watch(&fixture->flow, false, NOW_NS + FLOW_WATCH_NS);
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
    assert_int_equal(fixture->flow.waiting_since_ns, 0);
}

FIXTURE_TEST(flow_watch__gives_way_to_the_tail_probe)
{
    flow_watch(&fixture->flow, true, NOW_NS);
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
    flow_watch(&fixture->flow, false, NOW_NS);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
}

/** What is pushed while nothing may be sent has the peer asked, and its silence timed. */
FIXTURE_TEST(flow_hold_back__after_a_watch_that_ended)
{
    const uint64_t later_ns = NOW_NS + 2 * (uint64_t)FLOW_WATCH_NS;

    flow_watch(&fixture->flow, true, NOW_NS);
    flow_timeout(&fixture->flow, NOW_NS + FLOW_WATCH_NS);
    flow_watch(&fixture->flow, false, NOW_NS + FLOW_WATCH_NS);
    push(fixture, 1);
    flow_hold_back(&fixture->flow, later_ns);
    assert_int_equal(fixture->sent_count, 0);
    assert_int_equal(fixture->flow.waiting_since_ns, later_ns);
    assert_int_not_equal(flow_deadline(&fixture->flow), UINT64_MAX);
    transmit(fixture, later_ns);
    assert_int_equal(fixture->sent_count, 1);
}

FIXTURE_TEST(flow_watch__after_a_starving_that_ended)
{
    uint64_t now_ns = NOW_NS;

    fixture->flow.limit = 0;
    flow_starve(&fixture->flow, true);
    transmit(fixture, NOW_NS);
    for (unsigned i = 0; i < 12; i++) {
        now_ns = flow_deadline(&fixture->flow);
        probe(fixture, now_ns);
    }
    flow_starve(&fixture->flow, false);
    flow_watch(&fixture->flow, true, now_ns);
    assert_int_equal(flow_deadline(&fixture->flow), now_ns + FLOW_WATCH_NS);
}

FIXTURE_TEST(flow_abandon__releases_everything)
{
    fixture->flow.limit = 6;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_sack(fixture, 0, 3, 5, 6, 0, NOW_NS + 1000));
    flow_abandon(&fixture->flow);
    take_released(fixture);
    assert_int_equal(fixture->released, 10);
    assert_int_equal(flow_deadline(&fixture->flow), UINT64_MAX);
    assert_true(flow_is_idle(&fixture->flow));
    assert_int_equal(fixture->flow.lost_frames, 0);
    assert_int_equal(fixture->flow.delivered_frames, 0);
}

/* ---- go-back-N ----------------------------------------------------------------------------- */

/** A gap at `acknowledgement` is reported. */
static bool hear_gap(struct fixture *fixture, uint32_t acknowledgement, uint64_t now_ns)
{
    return hear_sack(fixture, acknowledgement, NONE, fixture->flow.highest, 0, now_ns);
}

FIXTURE_TEST(go_back_n__everything_from_the_gap_on)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_gap(fixture, 4, NOW_NS));
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 16);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(fixture->sent[10 + i], 4 + i);
        assert_int_equal(fixture->sent_flags[10 + i], FRAME_RETRANSMITTED);
    }
    assert_int_equal(fixture->flow.retransmitted_frames, 6);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_RTO_MIN_NS);
}

FIXTURE_TEST(go_back_n__same_gap_again_at_once)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(hear_gap(fixture, 4, NOW_NS + i));
        transmit(fixture, NOW_NS + i);
    }
    assert_int_equal(fixture->sent_count, 16);
}

FIXTURE_TEST(go_back_n__same_gap_again_later)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_gap(fixture, 4, NOW_NS));
    transmit(fixture, NOW_NS);
    assert_true(hear_gap(fixture, 4, NOW_NS + FLOW_GAP_REPEAT_NS));
    transmit(fixture, NOW_NS + FLOW_GAP_REPEAT_NS);
    assert_int_equal(fixture->sent_count, 22);
}

FIXTURE_TEST(go_back_n__next_gap_at_once)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_gap(fixture, 4, NOW_NS));
    transmit(fixture, NOW_NS);
    assert_true(hear_gap(fixture, 6, NOW_NS));
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 20);
}

FIXTURE_TEST(go_back_n__more_than_was_sent_again)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_gap(fixture, 4, NOW_NS));
    fixture->lane_takes = 0;
    transmit(fixture, NOW_NS);
    assert_true(hear_ack(fixture, 7, CREDIT, NOW_NS));
    fixture->lane_takes = SENT_MAX;
    transmit(fixture, NOW_NS);
    assert_int_equal(fixture->sent_count, 13);
    assert_int_equal(fixture->sent[10], 7); /* what is acknowledged is not ours any more */
}

FIXTURE_TEST(go_back_n__claims_of_what_is_here_mean_nothing)
{
    fixture->flow.go_back_n = true;
    push_and_send(fixture, 10, NOW_NS);
    assert_true(hear_sack(fixture, 4, 6, 9, 10, 0, NOW_NS));
    assert_int_equal(fixture->flow.delivered_frames, 0);
    assert_int_equal(fixture->flow.lost_frames, 6);
}
