/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/copy.h"
#include "unit/test.h"

#include <stdlib.h>

#define BYTES_MAX (3 * COPY_PAGE_BYTES)
#define MARK 0xA5

struct fixture {
    uint8_t *source; /* both begin with a page, ... */
    uint8_t *target;
    size_t bytes; /* ... and have so many */
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    fixture->bytes = BYTES_MAX + (size_t)2 * COPY_PAGE_BYTES;
    fixture->source = aligned_alloc(COPY_PAGE_BYTES, fixture->bytes);
    fixture->target = aligned_alloc(COPY_PAGE_BYTES, fixture->bytes);
    assert_non_null(fixture->source);
    assert_non_null(fixture->target);
    for (size_t i = 0; i < fixture->bytes; i++) {
        fixture->source[i] = (uint8_t)(i * 7 + (i >> 8));
    }
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    free(fixture->source);
    free(fixture->target);
    free(fixture);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, setup, teardown)

/** Copies, and looks at each byte that is there afterwards. */
static void check(struct fixture *fixture, size_t to, size_t from, size_t bytes)
{
    memset(fixture->target, MARK, fixture->bytes);
    copy_bytes(fixture->target + to, fixture->source + from, bytes);
    assert_memory_equal(fixture->target + to, fixture->source + from, bytes);
    for (size_t i = 0; i < to; i++) {
        assert_int_equal(fixture->target[i], MARK);
    }
    for (size_t i = to + bytes; i < fixture->bytes; i++) {
        assert_int_equal(fixture->target[i], MARK);
    }
}

TEST_AROUND(copy_bytes__of_each_length, setup, teardown)
{
    static const size_t lengths[] = {
        0,    1,    15,   63,   64,   65,        1023, 1024, COPY_STRING_BYTES_MIN - 1,
        2048, 2049, 2111, 2112, 4096, BYTES_MAX,
    };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check(*state, 16, 0, lengths[i]); /* with care */
        check(*state, 0, 16, lengths[i]); /* as memcpy() does it */
    }
}

TEST_AROUND(copy_bytes__from_and_to_each_place, setup, teardown)
{
    for (size_t to = 0; to < 80; to += 3) {
        for (size_t from = 0; from < 80; from += 7) {
            check(*state, to, from, COPY_STRING_BYTES_MIN + 100);
        }
    }
}

FIXTURE_TEST(copy_is_slow__a_little_further_in_its_page)
{
    const uint8_t *page = fixture->source + COPY_PAGE_BYTES;

    assert_false(copy_is_slow(fixture->target, page));
    assert_true(copy_is_slow(fixture->target + 1, page));
    assert_true(copy_is_slow(fixture->target + 16, page));
    assert_true(copy_is_slow(fixture->target + 31, page));
    assert_false(copy_is_slow(fixture->target + 32, page));
    assert_false(copy_is_slow(fixture->target, page + 16));
    /* Also across the end of a page. */
    assert_true(copy_is_slow(fixture->target + COPY_PAGE_BYTES + 4, page - 4));
    assert_false(copy_is_slow(fixture->target + COPY_PAGE_BYTES - 4, page + 4));
}
