/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/frame_pool.h"

#include "lane/lane.h"
#include "unit/test.h"

#define SLIM 3
#define FULL 2
#define FRAME_BYTES 1500

static int setup(void **state)
{
    static struct frame_pool pool;

    *state = &pool;
    return frame_pool_open(&pool, SLIM, FULL, FRAME_BYTES);
}

static int teardown(void **state)
{
    frame_pool_close(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct frame_pool *pool, name, setup, teardown)

FIXTURE_TEST(frame_pool_take__until_none_is_left)
{
    struct flow_frame *last = NULL;

    for (unsigned i = 0; i < SLIM; i++) {
        last = frame_pool_take(pool, FRAME_POOL_SLIM_BYTES);
        assert_non_null(last);
    }
    assert_null(frame_pool_take(pool, 1));
    for (unsigned i = 0; i < FULL; i++) {
        assert_non_null(frame_pool_take(pool, FRAME_POOL_SLIM_BYTES + 1));
    }
    assert_null(frame_pool_take(pool, FRAME_BYTES));
    assert_non_null(last);
    frame_pool_give(pool, last);
    assert_null(frame_pool_take(pool, FRAME_BYTES));
    assert_ptr_equal(frame_pool_take(pool, 1), last);
}

TEST_AROUND(frame_pool_take__longer_than_a_frame, setup, teardown)
{
    assert_non_null(frame_pool_take(*state, FRAME_BYTES));
    assert_null(frame_pool_take(*state, FRAME_BYTES + 1));
}

FIXTURE_TEST(frame_pool_take__whole_heads_and_headrooms_are_apart)
{
    struct flow_frame *frames[SLIM + FULL];

    for (unsigned i = 0; i < SLIM + FULL; i++) {
        size_t bytes = i < SLIM ? FRAME_POOL_SLIM_BYTES : FRAME_BYTES;
        frames[i] = frame_pool_take(pool, bytes);
        memset(frames[i]->head - LANE_HEADROOM, (int)i + 1, LANE_HEADROOM + bytes);
    }
    for (unsigned i = 0; i < SLIM + FULL; i++) {
        size_t bytes = i < SLIM ? FRAME_POOL_SLIM_BYTES : FRAME_BYTES;
        assert_int_equal(frames[i]->head[-LANE_HEADROOM], i + 1);
        assert_int_equal(frames[i]->head[bytes - 1], i + 1);
        assert_true(frames[i]->head + bytes <= pool->memory + pool->memory_bytes);
    }
}

FIXTURE_TEST(frame_pool_take__nothing_of_the_last_use_is_left)
{
    struct flow_frame *frame = frame_pool_take(pool, 1);

    frame->owner = pool;
    frame->payload = pool->memory;
    frame->payload_bytes = 9;
    frame_pool_give(pool, frame);
    assert_ptr_equal(frame_pool_take(pool, 1), frame);
    assert_null(frame->owner);
    assert_null(frame->payload);
    assert_int_equal(frame->payload_bytes, 0);
}

FIXTURE_TEST(frame_pool_has__full_ones_and_a_slim_one)
{
    for (uint32_t left = FULL; left > 0; left--) {
        assert_true(frame_pool_has(pool, left));
        assert_false(frame_pool_has(pool, left + 1));
        assert_non_null(frame_pool_take(pool, FRAME_BYTES));
    }
    assert_false(frame_pool_has(pool, 1));
}

FIXTURE_TEST(frame_pool_has__no_slim_one)
{
    while (frame_pool_take(pool, 1) != NULL) {
        assert_true(frame_pool_has(pool, 1) || pool->slim == NULL);
    }
    assert_false(frame_pool_has(pool, 1));
}
