/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/keep.h"
#include "unit/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define LONG ((size_t)1 << 20)
#define BEYOND ((size_t)1 << 62) /* no machine has so much */

/* AddressSanitizer asks for this, and else takes it for a fault where malloc() is asked for that.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

TEST(keep_take__the_newest_that_fits)
{
    struct keep keep = {0};
    void *one = keep_take(&keep, LONG);
    void *other = keep_take(&keep, LONG);

    assert_non_null(one);
    assert_non_null(other);
    keep_give(&keep, one);
    keep_give(&keep, other);
    assert_int_equal(keep.count, 2);
    assert_ptr_equal(keep_take(&keep, LONG - 100), other);
    assert_ptr_equal(keep_take(&keep, LONG), one);
    assert_int_equal(keep.count, 0);
    assert_int_equal(keep.bytes, 0);
    memset(one, 1, LONG);
    memset(other, 2, LONG);
    free(one);
    free(other);
}

TEST(keep_take__none_that_is_too_short_or_far_too_long)
{
    struct keep keep = {0};

    keep_give(&keep, malloc(LONG));
    void *longer = keep_take(&keep, 2 * LONG);
    void *shorter = keep_take(&keep, LONG / 4);
    assert_true(malloc_usable_size(longer) >= 2 * LONG);
    assert_non_null(shorter);
    assert_int_equal(keep.count, 1);
    free(longer);
    free(shorter);
    keep_clear(&keep);
    assert_int_equal(keep.count, 0);
}

TEST(keep_give__the_oldest_make_room)
{
    struct keep keep = {0};
    void *last = NULL;

    for (size_t i = 0; i < KEEP_BLOCKS + 3; i++) {
        last = malloc(KEEP_BYTES_MIN);
        keep_give(&keep, last);
        assert_int_equal(keep.count, i < KEEP_BLOCKS ? i + 1 : KEEP_BLOCKS);
    }
    for (size_t i = 0; i < 4; i++) {
        keep_give(&keep, malloc(KEEP_BYTES_MAX / 3));
        assert_true(keep.bytes <= KEEP_BYTES_MAX);
    }
    keep_clear(&keep);
    assert_int_equal(keep.bytes, 0);
}

TEST(keep_give__short_and_very_long_ones_are_freed)
{
    struct keep keep = {0};

    keep_give(&keep, NULL);
    keep_give(&keep, malloc(100));
    keep_give(&keep, malloc(KEEP_BYTES_MAX + 1));
    assert_int_equal(keep.count, 0);
    void *block = keep_take(&keep, 100);
    assert_non_null(block);
    free(block);
}

TEST(keep_take__no_memory__what_is_kept_is_freed)
{
    struct keep keep = {0};

    keep_give(&keep, malloc(LONG));
    assert_null(keep_take(&keep, BEYOND));
    assert_int_equal(keep.count, 0);
}
