/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <string.h>

void fill_content(uint8_t *data, uint64_t bytes)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (uint64_t at = 0; at < bytes; at += sizeof state) {
        state ^= state << 13; /* xorshift64 (Marsaglia 2003) */
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(data + at, &state, sizeof state);
    }
}
