/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes finds its place, or is kept apart; over a real link. */
#include "tso_pair.h"

static void tso_receive__expected_data_is_placed(void **state)
{
    const uint32_t bytes = 3 * TRAIN_BYTES + 2 * SEGMENT + 17;
    struct udp_pair pair = open_lanes();

    (void)state;
    expect(&pair, MESSAGE, 5, bytes);
    for (unsigned i = 0; i < 3; i++) {
        send_part(&pair, MESSAGE, 5 + i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
        assert_ptr_equal(take_train(&pair, MESSAGE, 5 + i * TRAIN_SEGMENTS),
                         target + (size_t)i * TRAIN_BYTES);
    }
    send_part(&pair, MESSAGE, 5 + 3 * TRAIN_SEGMENTS, SEGMENT, 2 * SEGMENT + 17);
    take_part(&pair, MESSAGE, 5 + 3 * TRAIN_SEGMENTS, SEGMENT, 2 * SEGMENT + 17);
    assert_ptr_equal(incoming[0].payload, target + (size_t)3 * TRAIN_BYTES);
    assert_int_equal(pair.b->placed_frames, 3 * TRAIN_SEGMENTS + 3);
    for (uint32_t i = 0; i < bytes; i++) {
        assert_int_equal(target[i], content_at(5 * SEGMENT + i));
    }
    assert_int_equal(target[bytes], 0);
    /* All has come: what follows is nobody's. */
    send_part(&pair, MESSAGE, 200, SEGMENT, TRAIN_BYTES);
    assert_ptr_not_equal(take_train(&pair, MESSAGE, 200), target + bytes);
    assert_int_equal(target[bytes], 0);
    close_pair(&pair);
}

/** What is expected after that is said between two calls, so none may go too far. */
static void tso_receive__stops_when_all_that_was_expected_has_come(void **state)
{
    struct udp_pair pair = open_lanes();

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 4; i++) {
            send_part(&pair, MESSAGE, i * TRAIN_SEGMENTS, SEGMENT, TRAIN_BYTES);
        }
        expect(&pair, MESSAGE, 0, 2 * TRAIN_BYTES);
        take_part(&pair, MESSAGE, 0, SEGMENT, 2 * TRAIN_BYTES);
        expect(&pair, MESSAGE, 2 * TRAIN_SEGMENTS, 2 * TRAIN_BYTES);
        take_part(&pair, MESSAGE, 2 * TRAIN_SEGMENTS, SEGMENT, 2 * TRAIN_BYTES);
        assert_int_equal(pair.b->placed_frames, (round + 1) * 4 * TRAIN_SEGMENTS);
    }
    close_pair(&pair);
}

/** Whatever of the expectation is not as it comes, or if it is less than comes at once: the data is
 *  right, and not at the target. */
static void tso_receive__expected_otherwise(void **state)
{
    const uint64_t lengths[] = {1, 1000, TRAIN_BYTES - 1, TRAIN_BYTES, sizeof target};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned wrong = 0; wrong < 6; wrong++) {
            struct udp_pair pair = open_lanes();
            struct lane_expectation expectation = {
                .target = target,
                .frames = 1,
                .head_bytes = HEAD_BYTES,
                .payload_bytes = wrong == 0 ? SEGMENT - 1 : SEGMENT,
                .bytes = lengths[i],
                .key = wrong == 4 ? KEY + 1 : KEY, /* another process there */
                .message = wrong == 1 ? MESSAGE + 1 : MESSAGE,
                .offset = wrong == 2 ? SEGMENT : 0,
                .from = wrong == 3 ? pair.at_b : pair.at_a,
            };
            pair.b->operations->expect(pair.b, &expectation);
            send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
            bool right = wrong == 5 && lengths[i] >= TRAIN_BYTES;
            assert_int_equal(is_at_target(take_train(&pair, MESSAGE, 0)), right);
            assert_int_equal(pair.b->placed_frames, right ? TRAIN_SEGMENTS : 0);
            close_pair(&pair);
        }
    }
}

/** Copying twice is avoided for a while, until something comes as expected. */
static void tso_receive__after_a_wrong_expectation(void **state)
{
    struct udp_pair pair = open_lanes();

    (void)state;
    expect(&pair, MESSAGE, 0, TRAIN_BYTES);
    send_part(&pair, MESSAGE + 1, 0, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE + 1, 0);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t segment = i * TRAIN_SEGMENTS;
        expect(&pair, MESSAGE, segment, TRAIN_BYTES);
        send_part(&pair, MESSAGE, segment, SEGMENT, TRAIN_BYTES);
        assert_int_equal(take_train(&pair, MESSAGE, segment) == target, i > 0);
    }
    /* Or until enough has come that is not. */
    for (unsigned i = 0; i < 9; i++) {
        expect(&pair, MESSAGE, 0, TRAIN_BYTES);
        send_part(&pair, MESSAGE + 1, i, SEGMENT, TRAIN_BYTES);
        take_train(&pair, MESSAGE + 1, i);
    }
    expect(&pair, MESSAGE, 0, TRAIN_BYTES);
    send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    assert_ptr_equal(take_train(&pair, MESSAGE, 0), target);
    close_pair(&pair);
}

/** Its place may be handed out in another frame, so nothing is put there until more is said. */
static void tso_receive__expects_nothing_after_something_else(void **state)
{
    struct udp_pair pair = open_lanes();

    (void)state;
    expect(&pair, MESSAGE, 0, sizeof target);
    send_part(&pair, MESSAGE, SEGMENT, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, SEGMENT);
    for (unsigned i = 0; i < 12; i++) {
        send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
        assert_false(is_at_target(take_train(&pair, MESSAGE, 0)));
    }
    assert_int_equal(pair.b->placed_frames, 0);
    close_pair(&pair);
}

static void tso_receive__expect_nothing_any_more(void **state)
{
    struct udp_pair pair = open_lanes();
    const struct lane_expectation nothing = {0};

    (void)state;
    expect(&pair, MESSAGE, 0, sizeof target);
    pair.b->operations->expect(pair.b, &nothing);
    send_part(&pair, MESSAGE, 0, SEGMENT, TRAIN_BYTES);
    take_train(&pair, MESSAGE, 0);
    assert_int_equal(pair.b->placed_frames, 0);
    assert_int_equal(target[0], 0);
    close_pair(&pair);
}

/* ---- who cuts and joins --------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tso_receive__expected_data_is_placed),
        cmocka_unit_test(tso_receive__stops_when_all_that_was_expected_has_come),
        cmocka_unit_test(tso_receive__expected_otherwise),
        cmocka_unit_test(tso_receive__after_a_wrong_expectation),
        cmocka_unit_test(tso_receive__expects_nothing_after_something_else),
        cmocka_unit_test(tso_receive__expect_nothing_any_more),
    };

    (void)argc;
    namespace_enter(argv);
    udp_pair_far();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
