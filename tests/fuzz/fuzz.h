/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h - what fuzz targets share: the entry, what has to hold, and an input that is read as a
 * script, of which each step takes as many bytes as it needs.
 */
#ifndef BEOWIRE_FUZZ_H
#define BEOWIRE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

struct script {
    const uint8_t *at;
    size_t left;
};

/** @return the next byte; behind the end, 0. */
static inline uint8_t script_take(struct script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->at++;
}

static inline uint32_t script_take_16(struct script *script)
{
    uint32_t high = script_take(script);

    return high << 8 | script_take(script);
}

static inline uint32_t script_take_32(struct script *script)
{
    uint32_t high = script_take_16(script);

    return high << 16 | script_take_16(script);
}

#endif /* BEOWIRE_FUZZ_H */
