/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"

/** A copy of so many bytes is a handful of instructions, never a string operation. */
#define LINE_BYTES 64

void copy_in_lines(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;

    for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES) {
        memcpy(target, source, LINE_BYTES);
        target += LINE_BYTES;
        source += LINE_BYTES;
    }
    memcpy(target, source, bytes);
}
