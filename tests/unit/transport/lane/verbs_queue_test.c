/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_ends.h"

#include "lanes.h"
#include "tuning.h"

FAKE_TEST(verbs_send__frames_arrive_as_they_were)
{
    struct verbs_ends ends = open_ends();
    static const uint32_t payloads[] = {0, 1, 48, 49, 500, 1024 - HEAD_BYTES};

    for (unsigned i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        assert_int_equal(send_some(ends.a, &ends.at_b, i, 3, (uint8_t)(7 + i), payloads[i]), 3);
        assert_int_equal(take_all(ends.b, &ends.at_a, i, (uint8_t)(7 + i), payloads[i]), 3);
    }
    assert_int_equal(ends.a->sent_frames, 18);
    assert_int_equal(ends.a->sent_calls, 6);
    assert_int_equal(ends.b->received_frames, 18);
    assert_int_equal(ends.b->received_bytes, ends.a->sent_bytes);
    close_ends(&ends);
}

/** Far more than there are slots, either way. */
FAKE_TEST(verbs_send__slots_are_used_again)
{
    struct verbs_ends ends = open_ends();

    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(send_some(ends.a, &ends.at_b, i, 100, (uint8_t)i, 60), 100);
        assert_int_equal(take_all(ends.b, &ends.at_a, i, (uint8_t)i, 60), 100);
    }
    assert_int_equal(ends.a->refused_frames, 0);
    close_ends(&ends);
}

FAKE_TEST(verbs_send__what_finds_no_slot_is_lost)
{
    struct verbs_ends ends = open_ends();

    for (unsigned i = 0; i < LANE_RING_FRAMES / 128 + 1; i++) {
        assert_int_equal(send_some(ends.a, &ends.at_b, i * 128, 128, 5, 60), 128);
    }
    assert_int_equal(take_all(ends.b, &ends.at_a, 0, 5, 60), LANE_RING_FRAMES);
    close_ends(&ends);
}

FAKE_TEST(verbs_send__the_queue_is_full)
{
    struct verbs_ends ends = open_ends();

    fake.holds = true;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, LANE_VERBS_SEND_FRAMES + 20, 7, 100),
                     LANE_VERBS_SEND_FRAMES);
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 7, 100), 0);
    assert_int_equal(ends.a->refused_frames, 21);
    struct ibv_qp *own = verbs_of(ends.a)->pair;
    ((struct fake_pair *)(void *)own)->unreported = 0;
    fake_complete(own->send_cq, (struct ibv_wc){.wr_id = LANE_VERBS_SEND_FRAMES / 2});
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, LANE_VERBS_SEND_FRAMES, 7, 100),
                     LANE_VERBS_SEND_FRAMES / 2);
    close_ends(&ends);
}

/** What it has taken is reported soon enough, whatever it takes at once. */
FAKE_TEST(verbs_send__the_device_takes_a_part)
{
    struct verbs_ends ends = open_ends();

    fake.takes = 10;
    for (unsigned i = 0; i < 2 * LANE_VERBS_SEND_FRAMES / 10; i++) {
        assert_int_equal(send_some(ends.a, &ends.at_b, i, 60, 3, 10), 10);
        assert_int_equal(take_all(ends.b, &ends.at_a, i, 3, 10), 10);
    }
    fake.takes = 0;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 60, 3, 10), 0);
    close_ends(&ends);
}

FAKE_TEST(verbs_receive__what_is_not_ours)
{
    struct verbs_ends ends = open_ends();
    struct lane_incoming incoming;

    fake.version = 6;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 1), 1);
    assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    fake.version = 4;
    fake.immediate = 1;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 1), 1);
    assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    fake.immediate = 0;
    static const struct ibv_wc wrong[] = {
        {.wr_id = 2, .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH, .byte_len = VERBS_GRH_BYTES},
        {.wr_id = 3, .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH, .byte_len = 1},
        {.wr_id = 4, .opcode = IBV_WC_RECV, .byte_len = 100},
        {.wr_id = 5, .opcode = IBV_WC_RECV_RDMA_WITH_IMM, .wc_flags = IBV_WC_GRH, .byte_len = 100},
    };
    struct fake_pair *pair = (struct fake_pair *)(void *)verbs_of(ends.b)->pair;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pair->ids[0], wrong[i].wr_id); /* the card has used it */
        pair->posted--;
        memmove(pair->slots, pair->slots + 1, pair->posted * sizeof *pair->slots);
        memmove(pair->ids, pair->ids + 1, pair->posted * sizeof *pair->ids);
        fake_complete(pair->qp.recv_cq, wrong[i]);
        assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    }
    assert_int_equal(ends.b->foreign_frames, 6);
    assert_int_equal(ends.b->received_frames, 0);
    ends.b->operations->release(ends.b);
    assert_int_equal(pair->posted, LANE_RING_FRAMES); /* no slot is lost by it */
    close_ends(&ends);
}

/** A datagram for another protocol's queue pairs does not get in, nor ours into theirs. */
FAKE_TEST(verbs_send__to_another_key)
{
    struct verbs_ends ends = open_ends();
    struct lane_incoming incoming;

    ((struct fake_pair *)(void *)verbs_of(ends.b)->pair)->qkey = 0x11111111;
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 1), 1);
    assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    close_ends(&ends);
}

FAKE_TEST(verbs_arm__a_frame_wakes)
{
    struct verbs_ends ends = open_ends();

    assert_int_equal(wait_for(ends.b, 0), 0);
    assert_true(ends.b->operations->arm(ends.b));
    assert_int_equal(wait_for(ends.b, 0), 0);
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 2, 1, 1), 2);
    assert_int_equal(wait_for(ends.b, 1000000000), 1);
    assert_int_equal(take_all(ends.b, &ends.at_a, 0, 1, 1), 2);
    assert_int_equal(wait_for(ends.b, 0), 0);
    assert_true(ends.b->operations->arm(ends.b)); /* again and again, without a frame */
    assert_true(ends.b->operations->arm(ends.b));
    assert_int_equal(wait_for(ends.b, 0), 0);
    close_ends(&ends);
}

/** What was there before makes no event, and is not forgotten for having been seen. */
FAKE_TEST(verbs_arm__frames_are_there_already)
{
    struct verbs_ends ends = open_ends();

    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 2, 1, 1), 2);
    assert_false(ends.b->operations->arm(ends.b));
    assert_false(ends.b->operations->arm(ends.b));
    assert_int_equal(send_some(ends.a, &ends.at_b, 2, 1, 1, 1), 1);
    assert_int_equal(take_all(ends.b, &ends.at_a, 0, 1, 1), 3);
    assert_true(ends.b->operations->arm(ends.b));
    close_ends(&ends);
}
