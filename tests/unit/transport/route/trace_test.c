/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/trace.h"
#include "unit/test.h"

#include <stddef.h>

#define ROOM 4

static uint64_t clock_ticks;

static uint64_t ticks(void)
{
    return ++clock_ticks;
}

TEST(trace_here__keeps_the_latest_points)
{
    struct trace_point points[ROOM] = {{0}};
    uint64_t noted = 0;
    struct trace trace = {.points = points, .noted = &noted, .ticks = ticks, .mask = ROOM - 1};

    clock_ticks = 100;
    for (unsigned i = 0; i < ROOM + 1; i++) {
        trace_here(&trace, TRACE_OUT, i);
    }
    assert_int_equal(noted, ROOM + 1);
    assert_int_equal(points[0].ticks, 101 + ROOM);
    assert_int_equal(points[0].place, TRACE_OUT);
    assert_int_equal(points[0].detail, ROOM);
    assert_int_equal(points[1].ticks, 102);
    assert_int_equal(points[1].detail, 1);
}

TEST(trace_here__what_is_too_much_is_the_most)
{
    struct trace_point points[1] = {{0}};
    uint64_t noted = 0;
    struct trace trace = {.points = points, .noted = &noted, .ticks = ticks, .mask = 0};

    trace_here(&trace, TRACE_POSTED, UINT64_C(1) << 40);
    assert_int_equal(points[0].detail, UINT32_MAX);
}
