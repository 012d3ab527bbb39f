/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_ends.h"

#include "tuning.h"

FAKE_TEST(verbs_lane_open__no_room)
{
    static const char *const functions[] = {"reg_mr", "create_comp_channel", "create_cq",
                                            "create_qp", "modify_qp"};

    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        fake.fails = functions[i];
        assert_int_equal(try_open(NULL, NULL), -ENOBUFS);
    }
    fake.fails = NULL;
    fake.inline_most = 0; /* that is no reason */
    assert_int_equal(try_open(NULL, NULL), 0);
}

/** It begins anew, with all its slots. */
FAKE_TEST(verbs_send__a_completion_in_error)
{
    struct verbs_ends ends = open_ends();

    fake.says = IBV_WC_LOC_PROT_ERR;
    for (unsigned i = 0; i < LANE_VERBS_SEND_FRAMES; i++) {
        (void)send_some(ends.a, &ends.at_b, i, 1, 1, 1);
    }
    assert_true(ends.a->refused_frames > 0);
    (void)take_all(ends.b, &ends.at_a, 0, 1, 1);
    fake.says = IBV_WC_SUCCESS;
    fake.fails = "modify_qp";
    assert_int_equal(ends.a->operations->status(ends.a), -ENETDOWN);
    fake.fails = NULL;
    assert_int_equal(ends.a->operations->status(ends.a), 0);
    assert_int_equal(send_some(ends.a, &ends.at_b, 9, 100, 2, 2), 100);
    assert_int_equal(take_all(ends.b, &ends.at_a, 9, 2, 2), 100);
    assert_int_equal(send_some(ends.b, &ends.at_a, 9, 100, 2, 2), 100);
    assert_int_equal(take_all(ends.a, &ends.at_b, 9, 2, 2), 100);
    close_ends(&ends);
}

FAKE_TEST(verbs_receive__a_completion_in_error)
{
    struct verbs_ends ends = open_ends();
    struct lane_incoming incoming;

    fake_complete(verbs_of(ends.b)->received,
                  (struct ibv_wc){.wr_id = 3, .status = IBV_WC_WR_FLUSH_ERR});
    assert_int_equal(ends.b->operations->receive(ends.b, &incoming, 1), 0);
    assert_int_equal(send_some(ends.b, &ends.at_a, 0, 1, 1, 1), 0);
    assert_int_equal(ends.b->operations->status(ends.b), 0);
    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 1), 1);
    assert_int_equal(take_all(ends.b, &ends.at_a, 0, 1, 1), 1);
    close_ends(&ends);
}

/** Slots that are in somebody's hands are not the card's before they are given back. */
FAKE_TEST(verbs_status__begins_anew_between_receives)
{
    struct verbs_ends ends = open_ends();
    struct lane_incoming incoming[2];

    assert_int_equal(send_some(ends.a, &ends.at_b, 0, 1, 1, 1), 1);
    assert_int_equal(ends.b->operations->receive(ends.b, incoming, 1), 1);
    verbs_of(ends.b)->broken = true;
    assert_int_equal(ends.b->operations->status(ends.b), -ENETDOWN);
    ends.b->operations->release(ends.b);
    assert_int_equal(ends.b->operations->status(ends.b), 0);
    close_ends(&ends);
}
