/* SPDX-License-Identifier: BSD-3-Clause */
#include "job/hex.h"
#include "unit/test.h"

#include <stdint.h>
#include <string.h>

TEST(hex_read__what_hex_write_wrote)
{
    uint8_t data[256];
    uint8_t read[256] = {0};
    char text[513];

    for (unsigned i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    hex_write(data, sizeof data, text);
    assert_int_equal(strlen(text), 512);
    assert_true(hex_read(text, read, sizeof read));
    assert_memory_equal(read, data, sizeof data);
}

TEST(hex_read__something_else)
{
    uint8_t read[2];

    assert_true(hex_read("00ff", read, 2));
    assert_false(hex_read("00f", read, 2));
    assert_false(hex_read("00fff", read, 2));
    assert_false(hex_read("", read, 2));
    assert_false(hex_read("00fg", read, 2));
    assert_false(hex_read("00FF", read, 2));
    assert_false(hex_read("0 ff", read, 2));
}
