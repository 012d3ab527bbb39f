/* SPDX-License-Identifier: BSD-3-Clause */
#include "window_set.h"

#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words go over the wire as they are");

/** Rotates the ring so that the bit of sequence `by` comes first. */
static struct window_set turned(const struct window_set *set, uint32_t by)
{
    struct window_set result;
    uint32_t shift = by % 64;

    for (uint32_t i = 0; i < WINDOW_SET_WORDS; i++) {
        uint64_t low = set->words[(window_set_word(by) + i) % WINDOW_SET_WORDS];
        uint64_t high = set->words[(window_set_word(by) + i + 1) % WINDOW_SET_WORDS];
        result.words[i] = shift == 0 ? low : low >> shift | high << (64 - shift);
    }
    return result;
}

void window_set_to_wire(const struct window_set *set, uint32_t begin,
                        uint8_t wire[FLOW_WINDOW_FRAMES / 8])
{
    struct window_set first = turned(set, begin);

    memcpy(wire, first.words, sizeof first.words);
}

struct window_set window_set_from_wire(const uint8_t wire[FLOW_WINDOW_FRAMES / 8], uint32_t begin)
{
    struct window_set first;

    memcpy(first.words, wire, sizeof first.words);
    return turned(&first, 0u - begin);
}
