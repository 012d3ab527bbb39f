/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#define RTT_NS UINT64_C(80000)

/** The round trip is known, and sequence 1 is the next. */
static uint64_t begin(struct fixture *fixture)
{
    learn_rtt(fixture, NOW_NS, RTT_NS);
    return NOW_NS + 1000000;
}

static uint32_t lost(const struct fixture *fixture)
{
    return fixture->flow.lost_frames;
}

FIXTURE_TEST(loss_detect__three_behind_a_gap_prove_it)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 5, now_ns);
    assert_true(hear_sack(fixture, 1, 2, 3, 4, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 0);
    assert_true(hear_sack(fixture, 1, 2, 4, 5, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 1);
    assert_true(window_set_has(&fixture->flow.lost, 1));
    assert_int_equal(fixture->flow.loss.check_at_ns, 0);
}

FIXTURE_TEST(loss_detect__fewer_prove_it_a_quarter_later)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 3, now_ns);
    assert_true(hear_sack(fixture, 1, 3, 3, 4, 0, now_ns + RTT_NS));
    assert_int_equal(fixture->flow.loss.check_at_ns, now_ns + RTT_NS + RTT_NS / 4);
    assert_int_equal(loss_detect(&fixture->flow, now_ns + RTT_NS + RTT_NS / 4 - 1), 0);
    assert_int_equal(loss_detect(&fixture->flow, now_ns + RTT_NS + RTT_NS / 4), 2);
}

FIXTURE_TEST(loss_detect__nothing_that_was_sent_later_than_the_evidence)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 5, now_ns);
    push_and_send(fixture, 5, now_ns + 10);
    /* The probe says that up to 10 were sent; but only what came proves something. */
    assert_true(hear_sack(fixture, 1, 2, 4, 11, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 1);
    assert_int_equal(fixture->flow.loss.check_at_ns, 0);
    assert_int_equal(loss_detect(&fixture->flow, now_ns + 100 * RTT_NS), 0);
}

FIXTURE_TEST(loss_detect__order_decides_among_frames_of_one_time)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 10, now_ns);
    assert_true(hear_sack(fixture, 1, 4, 6, 11, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 3); /* 1, 2, 3; and not 7 to 10 */
    assert_false(window_set_has(&fixture->flow.lost, 7));
}

FIXTURE_TEST(loss_detect__a_lost_retransmission_is_found_without_a_timeout)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 5, now_ns);
    assert_true(hear_sack(fixture, 1, 2, 5, 6, 0, now_ns + RTT_NS));
    push_and_send(fixture, 3, now_ns + RTT_NS); /* 1 again, then 6, 7, 8 */
    assert_int_equal(fixture->sent[5], 1);
    assert_true(hear_sack(fixture, 1, 2, 5, 6, 0, now_ns + 2 * RTT_NS - 1));
    assert_int_equal(lost(fixture), 0);
    assert_true(hear_sack(fixture, 1, 2, 8, 9, 0, now_ns + 2 * RTT_NS));
    assert_int_equal(lost(fixture), 1);
    transmit(fixture, now_ns + 2 * RTT_NS);
    assert_int_equal(fixture->flow.retransmitted_frames, 2);
    assert_int_equal(fixture->flow.probes, 0);
}

FIXTURE_TEST(loss_detect__what_was_sent_again_is_evidence_too)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 6, now_ns);
    assert_true(hear_sack(fixture, 1, 4, 6, 7, 0, now_ns + RTT_NS)); /* 1, 2, 3 are lost */
    transmit(fixture, now_ns + RTT_NS);
    /* The second copies of 1 and 3 have come, that of 2 has not. */
    assert_true(hear_sack(fixture, 2, 3, 6, 7, 0, now_ns + 2 * RTT_NS));
    assert_int_equal(lost(fixture), 1);
    assert_true(window_set_has(&fixture->flow.lost, 2));
}

/** The frames of these sequences left on the other way. */
static void take_other_way(struct fixture *fixture, uint32_t first, uint32_t last)
{
    for (uint32_t sequence = first; sequence <= last; sequence++) {
        flow_ring_at(&fixture->flow, sequence)->way = FLOW_WAY_OTHER;
    }
}

FIXTURE_TEST(loss_probe_arrived__is_evidence_for_all_before_it)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 3, now_ns);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, NONE, 3, 0, probed_ns + RTT_NS)); /* not an answer to it */
    assert_int_equal(lost(fixture), 0);
    assert_true(hear_sack(fixture, 1, NONE, 4, 1, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 3);
}

/** It is lost as well, but not the question for refusals, which has an earlier number. */
FIXTURE_TEST(loss_probe_arrived__so_is_a_repeat)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 3, now_ns);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, 2, 2, 4, 0, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 2);
}

FIXTURE_TEST(loss_probe_arrived__not_a_repeat_that_overtakes)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 3, now_ns);
    take_other_way(fixture, 1, 3);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, NONE, 4, 0, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 0);
    assert_true(hear_sack(fixture, 1, NONE, 4, 1, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 3);
}

FIXTURE_TEST(loss_probe_arrived__not_for_what_followed_it)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 1, now_ns);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    push_and_send(fixture, 2, probed_ns); /* at the same time, but behind it */
    assert_true(hear_sack(fixture, 1, NONE, 4, 1, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 1);
    assert_true(window_set_has(&fixture->flow.lost, 1));
}

FIXTURE_TEST(loss_detect__what_overtook_on_another_way_proves_nothing)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 8, now_ns);
    take_other_way(fixture, 1, 3);
    assert_true(hear_sack(fixture, 1, 4, 8, 9, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 0);
    assert_false(fixture->flow.loss.reordering);
    /* 2 and 3 have come after all: of the same way, they prove that 1 is lost. */
    assert_true(hear_sack(fixture, 1, 2, 8, 9, 0, now_ns + 2 * RTT_NS));
    assert_int_equal(lost(fixture), 1);
}

FIXTURE_TEST(loss_detect__each_way_for_itself)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 8, now_ns);
    take_other_way(fixture, 2, 2);
    take_other_way(fixture, 7, 7);
    assert_true(hear_sack(fixture, 1, 4, 6, 9, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 2); /* 1 and 3; not 2 and 7, and not 8 */
    assert_true(window_set_has(&fixture->flow.lost, 1));
    assert_true(window_set_has(&fixture->flow.lost, 3));
}

FIXTURE_TEST(loss_probe_arrived__the_first_proves_for_its_way_the_next_for_all)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 4, now_ns);
    take_other_way(fixture, 1, 2);
    assert_int_equal(flow_probe_way(&fixture->flow), FLOW_WAY_OTHER);
    uint64_t probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, NONE, 5, 1, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 2);
    assert_true(window_set_has(&fixture->flow.lost, 2));
    fixture->flow.lost = (struct window_set){{0}};
    fixture->flow.lost_frames = 0;
    assert_int_equal(flow_probe_way(&fixture->flow), FLOW_WAY_USUAL);
    probed_ns = flow_deadline(&fixture->flow);
    probe(fixture, probed_ns);
    assert_true(hear_sack(fixture, 1, NONE, 5, 2, probed_ns + RTT_NS));
    assert_int_equal(lost(fixture), 4);
}

FIXTURE_TEST(flow_change_way__what_was_sent_before_is_apart)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 4, now_ns);
    flow_change_way(&fixture->flow);
    push_and_send(fixture, 4, now_ns + 1);
    assert_true(hear_sack(fixture, 1, 5, 8, 9, 0, now_ns + RTT_NS));
    assert_int_equal(lost(fixture), 0);
}

FIXTURE_TEST(loss_probe_arrived__an_earlier_probe_says_nothing_new)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 1, now_ns);
    probe(fixture, flow_deadline(&fixture->flow));
    uint64_t again_ns = flow_deadline(&fixture->flow);
    push_and_send(fixture, 1, again_ns - 1);
    probe(fixture, again_ns);
    assert_true(hear_sack(fixture, 1, NONE, 3, 1, again_ns + 100 * RTT_NS));
    assert_int_equal(lost(fixture), 0);
}

FIXTURE_TEST(loss_arrived__late_ones_show_reordering)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 10, now_ns);
    assert_true(hear_sack(fixture, 1, 3, 3, 4, 0, now_ns + RTT_NS));
    assert_true(hear_sack(fixture, 1, 2, 3, 4, 0, now_ns + RTT_NS + 1));
    assert_true(fixture->flow.loss.reordering);
    /* From now on three frames are no proof any more. */
    assert_true(hear_sack(fixture, 1, 2, 8, 9, 0, now_ns + RTT_NS + 2));
    assert_int_equal(lost(fixture), 0);
    assert_int_not_equal(fixture->flow.loss.check_at_ns, 0);
}

FIXTURE_TEST(loss_arrived__in_order_shows_none)
{
    uint64_t now_ns = begin(fixture);

    push_and_send(fixture, 10, now_ns);
    assert_true(hear_sack(fixture, 1, 2, 5, 6, 0, now_ns + RTT_NS));
    transmit(fixture, now_ns + RTT_NS);
    assert_true(hear_ack(fixture, 11, 11 + CREDIT, now_ns + 2 * RTT_NS));
    assert_false(fixture->flow.loss.reordering);
    assert_int_equal(fixture->flow.loss.spurious_frames, 0);
}

/** A frame is sent again for nothing: the first copy is acknowledged right afterwards. */
static void be_wrong(struct fixture *fixture, uint64_t now_ns)
{
    uint32_t late = fixture->flow.next;

    push_and_send(fixture, 5, now_ns);
    assert_true(hear_sack(fixture, late, late + 1, late + 4, late + 5, 0, now_ns + RTT_NS));
    transmit(fixture, now_ns + 3 * RTT_NS);
    assert_int_equal(fixture->flow.lost_frames, 0);
    assert_true(hear_ack(fixture, late + 5, late + 5 + CREDIT, now_ns + 3 * RTT_NS + 100));
    assert_true(flow_is_idle(&fixture->flow));
}

FIXTURE_TEST(loss_arrived__an_error_makes_it_more_patient)
{
    uint64_t now_ns = begin(fixture);

    be_wrong(fixture, now_ns);
    be_wrong(fixture, now_ns + 1000000);
    assert_int_equal(fixture->flow.loss.spurious_frames, 2);
    assert_true(fixture->flow.loss.reordering);
    now_ns += 3000000;
    uint32_t late = fixture->flow.next;
    push_and_send(fixture, 5, now_ns);
    assert_true(hear_sack(fixture, late, late + 1, late + 4, late + 5, 0, now_ns + RTT_NS));
    assert_int_equal(fixture->flow.loss.check_at_ns, now_ns + RTT_NS + 2 * RTT_NS / 4);
}

FIXTURE_TEST(loss_arrived__not_more_patient_than_a_round_trip)
{
    uint64_t now_ns = begin(fixture);

    for (unsigned i = 0; i < 300; i++, now_ns += 1000000) {
        be_wrong(fixture, now_ns);
    }
    uint32_t late = fixture->flow.next;
    push_and_send(fixture, 5, now_ns);
    assert_true(hear_sack(fixture, late, late + 1, late + 4, late + 5, 0, now_ns + RTT_NS));
    assert_int_equal(fixture->flow.loss.check_at_ns,
                     now_ns + RTT_NS + fixture->flow.rtt.smoothed_ns);
}

FIXTURE_TEST(loss_detect__forgets_errors_after_a_while)
{
    uint64_t now_ns = begin(fixture);

    for (unsigned i = 0; i < 5; i++, now_ns += 1000000) {
        be_wrong(fixture, now_ns);
    }
    assert_int_equal(fixture->flow.loss.quarters, 5);
    for (unsigned i = 0; i < 16; i++, now_ns += 1000000) {
        uint32_t late = fixture->flow.next;
        push_and_send(fixture, 5, now_ns);
        assert_true(hear_sack(fixture, late, late + 1, late + 4, late + 5, 0, now_ns + RTT_NS));
        transmit(fixture, now_ns + 3 * RTT_NS);
        assert_true(hear_ack(fixture, late + 5, late + 5 + CREDIT, now_ns + 5 * RTT_NS));
    }
    assert_int_equal(fixture->flow.loss.quarters, 1);
}
