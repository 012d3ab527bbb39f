/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_queue.h"

#include "../engine/testing.h"

TEST(add__as_many_as_there_is_room_for)
{
    struct verbs_queue queue = {0};
    for (int i = 0; i < VERBS_WINDOW; i++) {
        assert_true(verbs_queue_add(&queue, NULL, 1, i % 2 == 0));
    }
    assert_false(verbs_queue_add(&queue, NULL, 1, false));
    assert_int_equal(verbs_queue_length(&queue), VERBS_WINDOW);
}

TEST(at__each_kind_in_its_order)
{
    struct verbs_queue queue = {0};
    (void)verbs_queue_add(&queue, NULL, 1, true);
    (void)verbs_queue_add(&queue, NULL, 2, false);
    (void)verbs_queue_add(&queue, NULL, 3, true);
    assert_int_equal(verbs_queue_to_copy(&queue)->size, 2);
    assert_int_equal(verbs_queue_to_begin(&queue)->size, 1);
    assert_null(verbs_queue_to_end(&queue));
    verbs_queue_begin(&queue, NULL);
    assert_int_equal(verbs_queue_to_begin(&queue)->size, 3);
    assert_int_equal(verbs_queue_to_end(&queue)->size, 1);
    verbs_queue_copied(&queue);
    assert_null(verbs_queue_to_copy(&queue));
}

TEST(settle__not_before_what_was_posted_earlier)
{
    struct verbs_queue queue = {0};
    struct verbs_region *const region = (struct verbs_region *)&queue;
    (void)verbs_queue_add(&queue, NULL, 1, true);
    (void)verbs_queue_add(&queue, NULL, 2, false);
    (void)verbs_queue_to_copy(&queue);
    verbs_queue_copied(&queue);
    assert_int_equal(verbs_queue_settle(&queue), 0);
    (void)verbs_queue_to_begin(&queue);
    verbs_queue_begin(&queue, region);
    assert_non_null(verbs_queue_to_end(&queue));
    assert_ptr_equal(verbs_queue_end(&queue), region);
    assert_int_equal(verbs_queue_settle(&queue), 2);
    assert_int_equal(verbs_queue_length(&queue), 0);
}

/* What has left the queue is not taken for what has come to its place. */
TEST(at__a_cursor_that_stayed_behind)
{
    struct verbs_queue queue = {0};
    for (uint64_t i = 0; i < 3 * VERBS_WINDOW; i++) {
        (void)verbs_queue_add(&queue, NULL, i + 1, true);
        assert_int_equal(verbs_queue_to_begin(&queue)->size, i + 1);
        verbs_queue_begin(&queue, NULL);
        assert_int_equal(verbs_queue_to_end(&queue)->size, i + 1);
        (void)verbs_queue_end(&queue);
        assert_int_equal(verbs_queue_settle(&queue), 1);
    }
    (void)verbs_queue_add(&queue, NULL, 7, false);
    assert_int_equal(verbs_queue_to_copy(&queue)->size, 7);
    assert_null(verbs_queue_to_end(&queue));
}

TEST(drop__the_region_of_one_that_has_begun)
{
    struct verbs_queue queue = {0};
    struct verbs_region *const region = (struct verbs_region *)&queue;
    (void)verbs_queue_add(&queue, NULL, 1, true);
    (void)verbs_queue_add(&queue, NULL, 2, true);
    (void)verbs_queue_to_begin(&queue);
    verbs_queue_begin(&queue, region);
    assert_null(verbs_queue_drop(&queue));
    assert_ptr_equal(verbs_queue_drop(&queue), region);
    assert_int_equal(verbs_queue_length(&queue), 0);
    (void)verbs_queue_add(&queue, NULL, 3, true);
    assert_int_equal(verbs_queue_to_begin(&queue)->size, 3);
    assert_null(verbs_queue_to_end(&queue));
}
