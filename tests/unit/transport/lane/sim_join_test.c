/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/sim/sim_join.h"
#include "unit/test.h"

#include <string.h>

#define SEGMENT_BYTES 100
#define KEY 3
#define MESSAGE 4

/** A segment with all bytes of its payload alike; valid until the next call with the same `value`
 *  modulo 8. */
static struct sim_segment segment(uint32_t number, uint32_t bytes, uint8_t value)
{
    static uint8_t frames[8][sizeof(struct frame_data) + SEGMENT_BYTES];
    uint8_t *frame = frames[value % 8];
    struct frame_data head = frame_encode_data(1, KEY, MESSAGE);

    frame_data_set_segment(&head, number);
    memcpy(frame, &head, sizeof head);
    memset(frame + sizeof head, value, bytes);
    return (struct sim_segment){
        .frame = frame,
        .bytes = (uint32_t)sizeof head + bytes,
        .segment_bytes = SEGMENT_BYTES,
        .from = {.bytes = {1}},
    };
}

static int setup(void **state)
{
    static struct sim_joiner joiner;

    *state = &joiner;
    return sim_join_open(&joiner);
}

static int teardown(void **state)
{
    sim_join_close(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct sim_joiner *joiner, name, setup, teardown)

static void begin(struct sim_joiner *joiner, uint32_t number, uint32_t bytes)
{
    const struct sim_segment first = segment(number, bytes, 1);

    assert_true(sim_join_begin(joiner, &first));
}

FIXTURE_TEST(sim_join_append__in_order)
{
    const struct sim_segment second = segment(8, SEGMENT_BYTES, 2);
    const struct sim_segment last = segment(9, 30, 3);
    const struct sim_segment after = segment(10, 30, 4);
    struct lane_incoming incoming;
    bool placed = true;

    begin(joiner, 7, SEGMENT_BYTES);
    assert_true(sim_join_append(joiner, &second));
    assert_true(sim_join_append(joiner, &last));
    assert_false(sim_join_append(joiner, &after)); /* what is short is the last */
    assert_int_equal(sim_join_end(joiner, &incoming, &placed), 3);
    assert_false(placed);
    assert_int_equal(incoming.bytes, sizeof(struct frame_data) + 230);
    assert_int_equal(incoming.payload[99], 1);
    assert_int_equal(incoming.payload[100], 2);
    assert_int_equal(incoming.payload[229], 3);
}

FIXTURE_TEST(sim_join_append__what_does_not_follow)
{
    struct sim_segment other;
    struct frame_data head;

    begin(joiner, 7, SEGMENT_BYTES);
    other = segment(9, SEGMENT_BYTES, 2);
    assert_false(sim_join_append(joiner, &other)); /* one is missing */
    other = segment(7, SEGMENT_BYTES, 2);
    assert_false(sim_join_append(joiner, &other)); /* the same again */
    other = segment(8, SEGMENT_BYTES, 2);
    other.from.bytes[0] = 9;
    assert_false(sim_join_append(joiner, &other));
    other = segment(8, SEGMENT_BYTES, 2);
    other.segment_bytes = 99;
    assert_false(sim_join_append(joiner, &other));
    other = segment(8, SEGMENT_BYTES, 2);
    head = frame_encode_data(1, KEY, MESSAGE + 1);
    frame_data_set_segment(&head, 8);
    memcpy((uint8_t *)(uintptr_t)other.frame, &head, sizeof head);
    assert_false(sim_join_append(joiner, &other));
    other = segment(8, SEGMENT_BYTES, 2);
    assert_true(sim_join_append(joiner, &other));
}

FIXTURE_TEST(sim_join_append__as_long_as_a_datagram)
{
    struct lane_incoming incoming;
    uint32_t segments = 1;
    bool placed;

    begin(joiner, 0, SEGMENT_BYTES);
    for (;;) {
        const struct sim_segment next = segment(segments, SEGMENT_BYTES, 2);
        if (!sim_join_append(joiner, &next)) {
            break;
        }
        segments++;
    }
    assert_int_equal(segments, SIM_JOIN_BYTES_MAX / SEGMENT_BYTES);
    assert_int_equal(sim_join_end(joiner, &incoming, &placed), segments);
}

FIXTURE_TEST(sim_join_begin__so_many_runs)
{
    const struct sim_segment more = segment(1, 1, 2);

    for (unsigned i = 0; i < SIM_JOIN_RUNS; i++) {
        begin(joiner, i, SEGMENT_BYTES);
    }
    assert_false(sim_join_begin(joiner, &more));
    sim_join_release(joiner);
    assert_true(sim_join_begin(joiner, &more));
}

FIXTURE_TEST(sim_join_end__the_next_is_expected_behind)
{
    struct lane_incoming incoming;
    uint8_t target[150] = {0};
    bool placed = false;

    joiner->expectation = (struct lane_expectation){
        .target = target,
        .frames = 2,
        .payload_bytes = SEGMENT_BYTES,
        .bytes = sizeof target,
        .key = KEY,
        .message = MESSAGE,
        .offset = 7 * SEGMENT_BYTES,
        .from = {.bytes = {1}},
    };
    begin(joiner, 7, SEGMENT_BYTES);
    (void)sim_join_end(joiner, &incoming, &placed);
    assert_true(placed);
    assert_ptr_equal(incoming.payload, target);
    begin(joiner, 8, 50);
    (void)sim_join_end(joiner, &incoming, &placed);
    assert_true(placed);
    assert_ptr_equal(incoming.payload, target + SEGMENT_BYTES);
    begin(joiner, 9, 50); /* nothing is expected any more */
    (void)sim_join_end(joiner, &incoming, &placed);
    assert_false(placed);
}

/** More than is expected would be written beyond the buffer. */
FIXTURE_TEST(sim_join_end__longer_than_expected)
{
    struct lane_incoming incoming;
    uint8_t target[60] = {0};
    bool placed = true;

    joiner->expectation = (struct lane_expectation){
        .target = target,
        .frames = 1,
        .payload_bytes = SEGMENT_BYTES,
        .bytes = 50,
        .key = KEY,
        .message = MESSAGE,
        .offset = 0,
        .from = {.bytes = {1}},
    };
    begin(joiner, 0, SEGMENT_BYTES);
    (void)sim_join_end(joiner, &incoming, &placed);
    assert_false(placed);
    assert_int_not_equal(target[49], 0);
    assert_int_equal(target[50], 0);
}
