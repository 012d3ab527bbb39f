/* SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"

#include <stdlib.h>

#include "testing.h"

TEST(index__exact_below_256)
{
    for (uint64_t value = 0; value < 256; value++) {
        assert_int_equal(histogram_index(value), value);
        assert_int_equal(histogram_lower(value), value);
    }
}

TEST(index__values_of_the_protocol)
{
    /* Worked out by hand from docs/ENGINE.md. */
    assert_int_equal(histogram_index(256), 256);
    assert_int_equal(histogram_index(257), 256);
    assert_int_equal(histogram_index(258), 257);
    assert_int_equal(histogram_index(511), 383);
    assert_int_equal(histogram_index(512), 384);
    assert_int_equal(histogram_index(1000), 506);
    assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

TEST(buckets__cover_all_values_without_gaps)
{
    for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        const uint64_t end = histogram_lower(i + 1);
        const uint64_t width = end - histogram_lower(i);
        assert_int_equal(histogram_index(histogram_lower(i)), i);
        assert_int_equal(histogram_index(end - 1), i);
        /* The promise: a relative width of at most 1/128. */
        assert_true(width == 1 || histogram_lower(i) / width >= 128);
    }
}

TEST(add__counts_and_extremes)
{
    struct histogram *histogram = malloc(sizeof *histogram);
    assert_non_null(histogram);
    histogram_clear(histogram);
    assert_int_equal(histogram->samples, 0);
    assert_true(histogram->min_ns > histogram->max_ns);
    histogram_add(histogram, 1000);
    histogram_add(histogram, 1001);
    histogram_add(histogram, 7);
    assert_int_equal(histogram->samples, 3);
    assert_int_equal(histogram->min_ns, 7);
    assert_int_equal(histogram->max_ns, 1001);
    assert_int_equal(histogram->counts[7], 1);
    assert_int_equal(histogram->counts[506], 2);
    histogram_clear(histogram);
    assert_int_equal(histogram->counts[506], 0);
    free(histogram);
}
