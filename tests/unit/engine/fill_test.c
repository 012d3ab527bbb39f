/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <string.h>

#include "testing.h"

static uint8_t data[4096];
static uint8_t again[4096 + 8];

TEST(fill__differs_from_place_to_place)
{
    fill_content(data, sizeof data);
    for (size_t at = 8; at < sizeof data; at += 8) {
        assert_memory_not_equal(data + at - 8, data + at, 8);
    }
    again[4096] = 0;
    fill_content(again, 4096);
    assert_memory_equal(data, again, sizeof data);
    assert_int_equal(again[4096], 0);
}
