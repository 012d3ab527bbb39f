/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void map_find__what_was_added(void **state)
{
    struct map map;

    (void)state;
    assert_int_equal(map_open(&map, 1000), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        map_add(&map, i * UINT64_C(0x9E3779B97F4A7C15) + 1, i);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(map_find(&map, i * UINT64_C(0x9E3779B97F4A7C15) + 1), i);
    }
    map_close(&map);
}

static void map_find__what_was_not_added(void **state)
{
    struct map map;

    (void)state;
    assert_int_equal(map_open(&map, 4), 0);
    assert_int_equal(map_find(&map, 5), MAP_NONE);
    map_add(&map, 5, 50);
    assert_int_equal(map_find(&map, 6), MAP_NONE);
    assert_int_equal(map_find(&map, 0), MAP_NONE);
    map_close(&map);
}

static void map_find__numbers_that_collide(void **state)
{
    struct map map;

    (void)state;
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

static void map_open__for_one_entry(void **state)
{
    struct map map;

    (void)state;
    assert_int_equal(map_open(&map, 1), 0);
    map_add(&map, 9, 1);
    assert_int_equal(map_find(&map, 9), 1);
    assert_int_equal(map_find(&map, 13), MAP_NONE);
    map_close(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_find__what_was_added),
        cmocka_unit_test(map_find__what_was_not_added),
        cmocka_unit_test(map_find__numbers_that_collide),
        cmocka_unit_test(map_open__for_one_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
