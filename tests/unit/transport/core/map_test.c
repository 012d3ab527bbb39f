/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/map.h"
#include "unit/test.h"

#include <stddef.h>
#include <string.h>

TEST(map_find__numbers_that_collide)
{
    struct map map;

    assert_int_equal(map_open(&map, 64), 0);
    for (uint32_t i = 1; i <= 64; i++) {
        map_add(&map, (uint64_t)i << 32 | 0xFFFF, i); /* from the last slot round to the first */
    }
    for (uint32_t i = 1; i <= 64; i++) {
        assert_int_equal(map_find(&map, (uint64_t)i << 32 | 0xFFFF), i);
    }
    assert_int_equal(map_find(&map, 0xFFFF), MAP_NONE);
    map_close(&map);
}

/** @return a bit for each value */
static uint32_t values_of(const struct map *map, uint64_t number)
{
    uint32_t at = map_first(map, number);
    uint32_t value = 0;
    uint32_t values = 0;

    while ((value = map_next(map, number, &at)) != MAP_NONE) {
        assert_int_equal(values & 1u << value, 0);
        values |= 1u << value;
    }
    return values;
}

TEST(map_next__all_with_this_number)
{
    struct map map;

    assert_int_equal(map_open(&map, 4), 0);
    assert_int_equal(values_of(&map, 7), 0);
    map_add(&map, 7, 1);
    map_add(&map, 7 + 8, 2); /* between them */
    map_add(&map, 7, 3);
    map_add(&map, 7, 4);
    assert_int_equal(values_of(&map, 7), 1u << 1 | 1u << 3 | 1u << 4);
    assert_int_equal(values_of(&map, 7 + 8), 1u << 2);
    assert_int_equal(values_of(&map, 7 + 16), 0);
    map_change(&map, 7, 3, 5);
    map_remove(&map, 7, 1);
    assert_int_equal(values_of(&map, 7), 1u << 4 | 1u << 5);
    map_remove(&map, 0, 0); /* nobody's number */
    map_close(&map);
}

/** Against a plain array: any order of adding, changing and removing, numbers that collide. */
TEST(map_remove__leaves_the_others)
{
    enum { NUMBERS = 64 };
    uint32_t values[NUMBERS];
    struct map map;
    uint32_t random = 1;

    assert_int_equal(map_open(&map, NUMBERS), 0);
    memset(values, 0xFF, sizeof values);
    for (uint32_t step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        uint32_t i = random >> 26;
        uint64_t number = (uint64_t)(i + 1) << 32 | (0xF0 + i % 5);
        if (values[i] == MAP_NONE) {
            map_add(&map, number, step);
            values[i] = step;
        } else if ((random & 0x10000) != 0) {
            map_change(&map, number, values[i], step);
            values[i] = step;
        } else {
            map_remove(&map, number, values[i] + 1); /* another entry's value: nothing */
            map_remove(&map, number, values[i]);
            values[i] = MAP_NONE;
        }
        for (uint32_t j = 0; j < NUMBERS; j++) {
            assert_int_equal(map_find(&map, (uint64_t)(j + 1) << 32 | (0xF0 + j % 5)), values[j]);
        }
    }
    map_close(&map);
}
