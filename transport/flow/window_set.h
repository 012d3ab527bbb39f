/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window_set.h - a set of sequence numbers out of one window: one bit each.
 *
 * Sequence s is bit s % FLOW_WINDOW_FRAMES, so the owner has to know the window, and to remove the
 * sequences that leave it. On the wire a set is 32 bytes that begin with a sequence: bit i (byte i
 * / 8, value 1 << i % 8) is sequence begin + i.
 *
 * Pure.
 */
#ifndef BEOWIRE_FLOW_WINDOW_SET_H
#define BEOWIRE_FLOW_WINDOW_SET_H

#include "tuning.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define WINDOW_SET_WORDS (FLOW_WINDOW_FRAMES / 64)

static_assert((FLOW_WINDOW_FRAMES & (FLOW_WINDOW_FRAMES - 1)) == 0 && FLOW_WINDOW_FRAMES >= 64,
              "whole words, and sequences wrap with them");

struct window_set {
    uint64_t words[WINDOW_SET_WORDS];
};

static inline uint32_t window_set_word(uint32_t sequence)
{
    return sequence / 64 % WINDOW_SET_WORDS;
}

static inline void window_set_add(struct window_set *set, uint32_t sequence)
{
    set->words[window_set_word(sequence)] |= UINT64_C(1) << sequence % 64;
}

static inline void window_set_remove(struct window_set *set, uint32_t sequence)
{
    set->words[window_set_word(sequence)] &= ~(UINT64_C(1) << sequence % 64);
}

static inline bool window_set_has(const struct window_set *set, uint32_t sequence)
{
    return (set->words[window_set_word(sequence)] >> sequence % 64 & 1) != 0;
}

/** The first member from `from` on and before `end` (at most a window later); `end`: none. */
static inline uint32_t window_set_next(const struct window_set *set, uint32_t from, uint32_t end)
{
    while (from != end) {
        uint64_t rest = set->words[window_set_word(from)] >> from % 64;
        uint32_t in_word = 64 - from % 64;
        uint32_t left = end - from;
        uint32_t skip = rest != 0 ? (uint32_t)__builtin_ctzll(rest) : in_word;
        if (skip >= left) {
            return end;
        }
        from += skip;
        if (rest != 0) {
            return from;
        }
    }
    return end;
}

/** Writes the window that begins with `begin` in the format of the wire. */
void window_set_to_wire(const struct window_set *set, uint32_t begin,
                        uint8_t wire[FLOW_WINDOW_FRAMES / 8]);

/** Reads it. */
struct window_set window_set_from_wire(const uint8_t wire[FLOW_WINDOW_FRAMES / 8], uint32_t begin);

#endif /* BEOWIRE_FLOW_WINDOW_SET_H */
