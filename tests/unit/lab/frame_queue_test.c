/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "frame_queue.h"
#include "unit/test.h"

enum { CAPACITY = 256, HEADER = 16 };

static struct frame_queue queue;

static int open_queue(void **state)
{
    return frame_queue_open(&queue, CAPACITY);
}

static int close_queue(void **state)
{
    frame_queue_close(&queue);
    return 0;
}

#define FIXTURE_TEST(name) TEST_AROUND(name, open_queue, close_queue)

/* Queues a frame whose bytes are all `mark`. */
static bool put(size_t length, uint8_t mark)
{
    uint8_t *room = frame_queue_reserve(&queue, length);
    if (room == NULL) {
        return false;
    }
    memset(room, mark, length);
    frame_queue_commit(&queue, length, 1000U + mark);
    return true;
}

/* Takes the oldest frame and checks that it is the one that put() made. */
static void expect(size_t length, uint8_t mark)
{
    struct queued_frame frame;
    uint64_t cursor = frame_queue_begin(&queue);
    assert_true(frame_queue_next(&queue, &cursor, &frame));
    assert_int_equal(frame.length_bytes, length);
    assert_int_equal(frame.release_ns, 1000U + mark);
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(frame.bytes[i], mark);
    }
    frame_queue_remove_until(&queue, cursor);
}

static void expect_empty(void)
{
    struct queued_frame frame;
    uint64_t cursor = frame_queue_begin(&queue);
    assert_false(frame_queue_next(&queue, &cursor, &frame));
}

TEST(frame_queue_open__refuses_odd_capacity)
{
    struct frame_queue other;
    assert_int_equal(frame_queue_open(&other, 0), -EINVAL);
    assert_int_equal(frame_queue_open(&other, 100), -EINVAL);
}

FIXTURE_TEST(frame_queue_next__first_in_first_out)
{
    expect_empty();
    assert_true(put(60, 1));
    assert_true(put(1, 2));
    assert_true(put(0, 3));
    expect(60, 1);
    expect(1, 2);
    expect(0, 3);
    expect_empty();
}

FIXTURE_TEST(frame_queue_next__looks_without_taking)
{
    struct queued_frame frame;
    assert_true(put(10, 1));
    assert_true(put(10, 2));
    uint64_t cursor = frame_queue_begin(&queue);
    assert_true(frame_queue_next(&queue, &cursor, &frame));
    assert_true(frame_queue_next(&queue, &cursor, &frame));
    assert_false(frame_queue_next(&queue, &cursor, &frame));
    expect(10, 1);
    expect(10, 2);
}

FIXTURE_TEST(frame_queue_reserve__is_not_a_frame_until_committed)
{
    assert_non_null(frame_queue_reserve(&queue, 50));
    expect_empty();
    assert_true(put(20, 1));
    expect(20, 1);
    expect_empty();
}

FIXTURE_TEST(frame_queue_reserve__refuses_when_full)
{
    assert_null(frame_queue_reserve(&queue, CAPACITY - HEADER + 1));
    assert_true(put(CAPACITY - HEADER, 1));
    assert_null(frame_queue_reserve(&queue, 0));
    expect(CAPACITY - HEADER, 1);
    assert_true(put(CAPACITY - HEADER, 2));
    expect(CAPACITY - HEADER, 2);
}

FIXTURE_TEST(frame_queue_reserve__keeps_a_frame_in_one_piece)
{
    assert_true(put(112, 1));
    assert_true(put(80, 2)); /* 32 bytes are left at the end */
    expect(112, 1);          /* and 128 at the start */
    assert_true(put(100, 3));
    assert_false(put(16, 4)); /* the 32 at the end are lost, and the start is taken */
    expect(80, 2);
    expect(100, 3);
    expect_empty();
}

FIXTURE_TEST(frame_queue__many_rounds_of_all_sizes)
{
    size_t sizes[8] = {0};
    unsigned int first = 0;
    unsigned int count = 0;
    for (unsigned int round = 0; round < 100000; round++) {
        const size_t size = round * 7U % 97U;
        while (count == 8 || !put(size, (uint8_t)((first + count) % 251U))) {
            assert_true(count > 0); /* an empty queue takes any of these */
            expect(sizes[first % 8U], (uint8_t)(first % 251U));
            first++;
            count--;
        }
        sizes[(first + count) % 8U] = size;
        count++;
    }
}
