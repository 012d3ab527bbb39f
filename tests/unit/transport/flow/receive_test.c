/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

static enum flow_verdict check(struct fixture *fixture, uint32_t sequence, uint64_t now_ns)
{
    const struct frame frame = {.type = FRAME_EAGER, .sequence = sequence};

    return flow_check(&fixture->flow, &frame, now_ns);
}

static void accept_frames(struct fixture *fixture, unsigned count, uint16_t flags, uint64_t now_ns)
{
    static const struct frame_eager whole;
    const struct frame frame = {.type = FRAME_EAGER, .flags = flags, .eager = &whole};

    for (unsigned i = 0; i < count; i++) {
        flow_accept(&fixture->flow, &frame, now_ns);
    }
}

/** What leaves as SACK, decoded. */
static struct frame sack_of(struct fixture *fixture, uint64_t now_ns)
{
    static uint8_t wire[sizeof(struct frame_header) + sizeof(struct frame_sack)];
    struct frame frame;

    memset(wire, 0, sizeof wire);
    frame_encode(wire, &(struct frame_fields){.type = FRAME_SACK});
    flow_stamp_sack(&fixture->flow, wire,
                    (struct frame_sack *)(void *)(wire + sizeof(struct frame_header)), now_ns);
    assert_int_equal(frame_decode(wire, sizeof wire, &frame), FRAME_OK);
    return frame;
}

static void be_probed(struct fixture *fixture, uint32_t sequence, uint32_t number)
{
    const struct frame_probe probe = {.number = to_le32(number)};
    const struct frame frame = {.type = FRAME_PROBE, .sequence = sequence, .probe = &probe};

    flow_probed(&fixture->flow, &frame);
}

/** A frame with data leaves. */
static void stamp(struct fixture *fixture)
{
    uint8_t head[sizeof(struct frame_header)] = {0};

    flow_stamp(&fixture->flow, head, 0);
}

FIXTURE_TEST(flow_check__in_order)
{
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(check(fixture, i, NOW_NS), FLOW_NEXT);
        accept_frames(fixture, 1, 0, NOW_NS);
        assert_false(flow_has_gap(&fixture->flow));
    }
}

FIXTURE_TEST(flow_check__duplicate_is_acknowledged_at_once)
{
    accept_frames(fixture, 3, 0, NOW_NS);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_DUPLICATE);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_false(flow_has_gap(&fixture->flow));
    assert_int_equal(fixture->flow.duplicates, 1);
}

FIXTURE_TEST(flow_check__early_is_kept_and_told_at_once)
{
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_KEEP);
    assert_true(flow_has_gap(&fixture->flow));
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(sack.acknowledgement, 0);
    assert_int_equal(from_le32(sack.sack->upto), 3);
    assert_int_equal(sack.sack->received[0], 2); /* bit i: sequence 1 + i */
    assert_int_equal(flow_due(&fixture->flow, UINT64_MAX), FLOW_DUE_NOTHING);
    assert_int_equal(fixture->flow.gaps, 1);
}

FIXTURE_TEST(flow_check__more_of_a_row_is_told_like_any_frame)
{
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_KEEP);
    (void)sack_of(fixture, NOW_NS);
    for (uint32_t i = 0; i + 1 < FLOW_ACK_EVERY_FRAMES; i++) {
        assert_int_equal(check(fixture, 2 + i, NOW_NS), FLOW_KEEP);
        assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    }
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS), FLOW_DUE_ACK);
    assert_int_equal(check(fixture, 1 + FLOW_ACK_EVERY_FRAMES, NOW_NS), FLOW_KEEP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(flow_check__another_gap_is_told_at_once)
{
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_KEEP);
    (void)sack_of(fixture, NOW_NS);
    assert_int_equal(check(fixture, 3, NOW_NS), FLOW_KEEP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    (void)sack_of(fixture, NOW_NS);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_KEEP); /* part of the gap is filled */
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(sack_of(fixture, NOW_NS).sack->received[0], 7);
}

FIXTURE_TEST(flow_check__kept_already_is_a_duplicate)
{
    assert_int_equal(check(fixture, 5, NOW_NS), FLOW_KEEP);
    (void)sack_of(fixture, NOW_NS);
    assert_int_equal(check(fixture, 5, NOW_NS), FLOW_DUPLICATE);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(fixture->flow.kept_frames, 1);
}

FIXTURE_TEST(flow_check__last_of_the_credit_is_kept)
{
    assert_int_equal(check(fixture, CREDIT - 1, NOW_NS), FLOW_KEEP);
    assert_int_equal(check(fixture, CREDIT, NOW_NS), FLOW_OVERRUN);
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(from_le32(sack.sack->upto), CREDIT);
    assert_int_equal(sack.sack->received[31], 0x40); /* bit 254; there is none of what is missing */
}

FIXTURE_TEST(flow_check__beyond_credit)
{
    accept_frames(fixture, CREDIT, 0, NOW_NS);
    assert_int_equal(check(fixture, CREDIT, NOW_NS), FLOW_OVERRUN);
    flow_grant(&fixture->flow, CREDIT + 1);
    assert_int_equal(check(fixture, CREDIT, NOW_NS), FLOW_NEXT);
}

FIXTURE_TEST(flow_check__goes_on_across_the_wrap)
{
    start_at(fixture, 0xFFFFFFF0);
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_KEEP);
    assert_int_equal(check(fixture, 0xFFFFFFF1, NOW_NS), FLOW_KEEP);
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(from_le32(sack.sack->upto), 3);
    assert_int_equal(sack.sack->received[0], 1);
    assert_int_equal(sack.sack->received[2], 2); /* bit 17: sequence 2 */
    accept_frames(fixture, 19, 0, NOW_NS);
    assert_false(flow_has_gap(&fixture->flow));
    assert_int_equal(check(fixture, 0xFFFFFFF1, NOW_NS), FLOW_DUPLICATE);
    assert_int_equal(check(fixture, 3, NOW_NS), FLOW_NEXT);
}

FIXTURE_TEST(flow_accept__acknowledges_late)
{
    accept_frames(fixture, 2, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS - 1), FLOW_DUE_NOTHING);
    assert_int_equal(flow_deadline(&fixture->flow), NOW_NS + FLOW_ACK_DELAY_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(flow_accept__acknowledges_every_so_many)
{
    accept_frames(fixture, FLOW_ACK_EVERY_FRAMES - 1, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    accept_frames(fixture, 1, 0, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(flow_accept__acknowledges_at_once_when_asked)
{
    accept_frames(fixture, 1, FRAME_ACK_REQUEST, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_int_equal(flow_deadline(&fixture->flow), 0);
}

/** It asks for the acknowledgement of the last. */
FIXTURE_TEST(flow_accept__the_first_of_several_does_not_ask_now)
{
    const struct frame_eager eager = {.message_bytes = to_le32(2)};
    const struct frame frame = {
        .type = FRAME_EAGER, .flags = FRAME_ACK_REQUEST, .payload_bytes = 1, .eager = &eager};

    flow_accept(&fixture->flow, &frame, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
}

FIXTURE_TEST(flow_accept__a_filled_gap_is_told_at_once)
{
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_KEEP);
    assert_int_equal(check(fixture, 3, NOW_NS), FLOW_KEEP);
    (void)sack_of(fixture, NOW_NS);
    accept_frames(fixture, 2, 0, NOW_NS); /* the missing one, and what was kept behind it */
    assert_true(flow_has_gap(&fixture->flow));
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(sack.acknowledgement, 2);
    assert_int_equal(from_le32(sack.sack->upto), 4);
    assert_int_equal(sack.sack->received[0], 1);
    accept_frames(fixture, 2, 0, NOW_NS);
    assert_false(flow_has_gap(&fixture->flow));
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(flow_stamp__settles_what_is_owed)
{
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

FIXTURE_TEST(flow_stamp__on_data_does_not_settle_a_gap)
{
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_KEEP);
    push_and_send(fixture, 1, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    (void)sack_of(fixture, NOW_NS);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_ACK_DELAY_NS), FLOW_DUE_NOTHING);
}

FIXTURE_TEST(flow_probed__is_answered)
{
    be_probed(fixture, 0, 1);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    assert_false(flow_has_gap(&fixture->flow));
}

FIXTURE_TEST(flow_probed__shows_what_is_missing)
{
    be_probed(fixture, 3, 7);
    assert_true(flow_has_gap(&fixture->flow));
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(from_le32(sack.sack->upto), 3);
    assert_int_equal(from_le32(sack.sack->probe), 7);
    be_probed(fixture, 1, 6); /* overtaken */
    assert_int_equal(from_le32(sack_of(fixture, NOW_NS).sack->probe), 7);
    assert_int_equal(fixture->flow.seen, 3);
}

FIXTURE_TEST(flow_probed__claim_beyond_the_credit_is_ignored)
{
    be_probed(fixture, CREDIT + 1, 1);
    assert_false(flow_has_gap(&fixture->flow));
    be_probed(fixture, CREDIT, 2);
    assert_true(flow_has_gap(&fixture->flow));
}

FIXTURE_TEST(flow_grant__is_told_to_a_peer_that_has_none_left)
{
    accept_frames(fixture, CREDIT, 0, NOW_NS);
    stamp(fixture);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    flow_grant(&fixture->flow, CREDIT + 1);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(flow_grant__never_takes_back)
{
    flow_grant(&fixture->flow, CREDIT - 1);
    assert_int_equal(fixture->flow.granted, CREDIT);
}

FIXTURE_TEST(go_back_n__gap_is_reported_once)
{
    fixture->flow.go_back_n = true;
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
    const struct frame sack = sack_of(fixture, NOW_NS);
    assert_int_equal(from_le32(sack.sack->upto), 2);
    assert_int_equal(sack.sack->received[0], 0); /* it has been dropped */
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_NOTHING);
    assert_int_equal(check(fixture, 2, NOW_NS + FLOW_GAP_REPEAT_NS), FLOW_GAP);
    assert_int_equal(flow_due(&fixture->flow, NOW_NS + FLOW_GAP_REPEAT_NS), FLOW_DUE_ACK);
}

FIXTURE_TEST(go_back_n__another_gap_is_reported_at_once)
{
    fixture->flow.go_back_n = true;
    assert_int_equal(check(fixture, 1, NOW_NS), FLOW_GAP);
    (void)sack_of(fixture, NOW_NS);
    accept_frames(fixture, 1, 0, NOW_NS);
    assert_false(flow_has_gap(&fixture->flow)); /* or what fills it would be taken for another */
    assert_int_equal(check(fixture, 2, NOW_NS), FLOW_GAP);
    assert_true(flow_has_gap(&fixture->flow));
    assert_int_equal(flow_due(&fixture->flow, NOW_NS), FLOW_DUE_ACK);
}
