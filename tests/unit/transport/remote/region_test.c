/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/region.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>

#define READ BEOWIRE_MEMORY_READ
#define WRITE BEOWIRE_MEMORY_WRITE

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct region_table));
    return *state == NULL;
}

static int teardown(void **state)
{
    region_table_close(*state);
    free(*state);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct region_table *table, name, setup, teardown)

static enum frame_status look(const struct region_table *table, uint64_t key, uint64_t address,
                              uint64_t bytes, unsigned access, uint8_t **at)
{
    const struct region_range range = {
        .key = key, .address = address, .bytes = bytes, .access = access};

    return region_find(table, &range, at);
}

FIXTURE_TEST(region_find__inside_and_outside)
{
    uint8_t memory[100];
    uint8_t *at = NULL;

    assert_int_equal(
        region_add(table,
                   &(struct region){.key = 7, .base = memory, .bytes = 100, .flags = READ | WRITE}),
        0);
    assert_int_equal(look(table, 7, 0, 100, READ, &at), FRAME_STATUS_OK);
    assert_ptr_equal(at, memory);
    assert_int_equal(look(table, 7, 99, 1, WRITE, &at), FRAME_STATUS_OK);
    assert_ptr_equal(at, memory + 99);
    assert_int_equal(look(table, 7, 100, 0, READ | WRITE, &at), FRAME_STATUS_OK);
    assert_int_equal(look(table, 7, 100, 1, READ, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 7, 0, 101, READ, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 7, 101, 0, READ, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 7, 50, UINT64_MAX - 40, READ, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 7, UINT64_MAX, 2, READ, &at), FRAME_STATUS_REFUSED);
}

FIXTURE_TEST(region_find__what_is_not_allowed)
{
    uint8_t memory[8];
    uint8_t *at = NULL;

    assert_int_equal(
        region_add(table, &(struct region){.key = 1, .base = memory, .bytes = 8, .flags = READ}),
        0);
    assert_int_equal(
        region_add(table, &(struct region){.key = 2, .base = memory, .bytes = 8, .flags = WRITE}),
        0);
    assert_int_equal(look(table, 1, 0, 8, WRITE, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 1, 0, 8, READ | WRITE, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 2, 0, 8, READ, &at), FRAME_STATUS_REFUSED);
    assert_int_equal(look(table, 2, 0, 8, WRITE, &at), FRAME_STATUS_OK);
    assert_int_equal(look(table, 3, 0, 0, 0, &at), FRAME_STATUS_REFUSED);
}

/** Also where the key looks like that of no region, and nothing is wanted. */
FIXTURE_TEST(region_find__where_nothing_is_registered)
{
    uint8_t *at = NULL;

    assert_int_equal(look(table, 0, 0, 0, 0, &at), FRAME_STATUS_REFUSED);
    assert_false(region_exists(table, 0));
    assert_false(region_is_known(table, 0));
}

/** Each number of keys takes other steps. */
FIXTURE_TEST(region_find__among_any_number_of_keys)
{
    static uint8_t memory[70];
    uint8_t *at = NULL;

    for (uint64_t count = 1; count <= 70; count++) {
        assert_int_equal(region_add(table, &(struct region){.key = 2 * count,
                                                            .base = memory + count - 1,
                                                            .bytes = 1,
                                                            .flags = READ}),
                         0);
        for (uint64_t key = 0; key <= 2 * count + 2; key++) {
            bool there = key % 2 == 0 && key > 0 && key <= 2 * count;
            assert_int_equal(region_exists(table, key), there);
            assert_int_equal(look(table, key, 0, 1, READ, &at),
                             there ? FRAME_STATUS_OK : FRAME_STATUS_REFUSED);
            assert_true(!there || at == memory + key / 2 - 1);
        }
        assert_false(region_exists(table, UINT64_MAX));
    }
}

FIXTURE_TEST(region_is_known__for_a_while_after_it_has_gone)
{
    uint8_t memory[1];

    for (uint64_t key = 1; key <= 2 * REGION_KEYS_GONE; key++) {
        assert_false(region_is_known(table, key));
        assert_int_equal(
            region_add(table, &(struct region){.key = key, .base = memory, .bytes = 1}), 0);
        assert_true(region_is_known(table, key));
        assert_int_equal(region_remove(table, key), 0);
        assert_true(region_is_known(table, key));
        assert_int_equal(region_is_known(table, 1), key <= REGION_KEYS_GONE);
    }
    assert_false(region_is_known(table, 0)); /* which none has had */
}

FIXTURE_TEST(region_add__in_any_order)
{
    static uint8_t memory[1000];
    uint8_t *at = NULL;

    for (uint64_t i = 0; i < 1000; i++) { /* 7 and 1000 have no common factor: all keys, mixed */
        uint64_t key = i * 7 % 1000;
        assert_int_equal(region_add(table, &(struct region){.key = key << 40,
                                                            .base = memory + key,
                                                            .bytes = 1,
                                                            .flags = READ}),
                         0);
    }
    for (uint64_t key = 0; key < 1000; key += 3) {
        assert_int_equal(region_remove(table, key << 40), 0);
    }
    for (uint64_t key = 0; key < 1000; key++) {
        assert_int_equal(region_exists(table, key << 40), key % 3 != 0);
        assert_int_equal(look(table, key << 40, 0, 1, READ, &at),
                         key % 3 != 0 ? FRAME_STATUS_OK : FRAME_STATUS_REFUSED);
        assert_true(key % 3 == 0 || at == memory + key);
    }
}

FIXTURE_TEST(region_add__what_cannot_be)
{
    uint8_t memory[8];
    const struct region region = {.key = 5, .base = memory, .bytes = 8, .flags = READ};
    struct region wraps = {.key = 6, .base = memory, .bytes = UINT64_MAX, .flags = READ};

    assert_int_equal(region_remove(table, 5), -ENOENT);
    assert_int_equal(region_add(table, &region), 0);
    assert_int_equal(region_add(table, &region), -EEXIST);
    assert_int_equal(region_add(table, &wraps), -EINVAL);
    assert_int_equal(region_remove(table, 6), -ENOENT);
    assert_int_equal(region_remove(table, 5), 0);
    assert_int_equal(region_remove(table, 5), -ENOENT);
    assert_int_equal(region_add(table, &region), 0);
}
