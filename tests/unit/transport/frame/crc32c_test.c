/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/crc32c.h"
#include "unit/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** Longer than three streams are (crc32c.c). */
#define BYTES 20000

static uint8_t data[BYTES + 8];

static int fill(void **state)
{
    uint32_t number = 1;

    for (size_t i = 0; i < sizeof data; i++) {
        number = number * UINT32_C(1664525) + UINT32_C(1013904223);
        data[i] = (uint8_t)(number >> 24);
    }
    return 0;
}

/** RFC 3720, B.4: the bytes there are those of the wire, the lowest first. */
TEST(crc32c_add__has_the_values_of_the_standard)
{
    static const uint8_t read_command[48] = {
        0x01, 0xC0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    uint8_t rising[32];
    uint8_t falling[32];

    memset(ones, 0xFF, sizeof ones);
    for (unsigned i = 0; i < 32; i++) {
        rising[i] = (uint8_t)i;
        falling[i] = (uint8_t)(31 - i);
    }
    const struct {
        const uint8_t *bytes;
        size_t count;
        uint32_t crc;
    } vectors[] = {
        {zeros, 32, 0x8A9136AA},        {ones, 32, 0x62A8AB43},
        {rising, 32, 0x46DD794E},       {falling, 32, 0x113FDB5C},
        {read_command, 48, 0xD9963A56}, {(const uint8_t *)"123456789", 9, 0xE3069283},
    };
    for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        assert_int_equal(~crc32c_add(CRC32C_BEGIN, vectors[i].bytes, vectors[i].count),
                         vectors[i].crc);
        assert_int_equal(~crc32c_add_by_table(CRC32C_BEGIN, vectors[i].bytes, vectors[i].count),
                         vectors[i].crc);
    }
}

TEST(crc32c_add__as_by_table_whatever_the_length_and_place)
{
    assert_non_null(crc32c_means());
    for (size_t bytes = 0; bytes < BYTES; bytes += bytes < 400 ? 1 : 97) {
        for (size_t at = 0; at < 8; at += bytes < 400 ? 1 : 5) {
            uint32_t state_before = (uint32_t)(bytes * 2654435761u);
            uint32_t expected = crc32c_add_by_table(state_before, data + at, bytes);
            assert_int_equal(crc32c_add(state_before, data + at, bytes), expected);
            assert_int_equal(crc32c_add_by_streams(state_before, data + at, bytes), expected);
        }
    }
}

TEST(crc32c_add__piece_by_piece)
{
    uint32_t whole = crc32c_add(CRC32C_BEGIN, data, 3000);

    for (size_t first = 0; first <= 3000; first += 7) {
        assert_int_equal(
            crc32c_add(crc32c_add(CRC32C_BEGIN, data, first), data + first, 3000 - first), whole);
    }
}

/** Any byte that is another one, and so any flipped bit. */
TEST(crc32c_add__no_altered_byte_is_overlooked)
{
    uint32_t whole = crc32c_add(CRC32C_BEGIN, data, 1500);

    for (size_t at = 0; at < 1500; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            data[at] ^= (uint8_t)(1u << bit);
            assert_int_not_equal(crc32c_add(CRC32C_BEGIN, data, 1500), whole);
            data[at] ^= (uint8_t)(1u << bit);
        }
    }
}

int main(void)
{
    return run_listed_tests(fill, NULL);
}
