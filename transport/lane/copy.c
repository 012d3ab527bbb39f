/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"

/** Copies a line by a few instructions, never by a string operation. */
static inline void copy_line(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, COPY_LINE_BYTES);
    /* Otherwise compilers replace the loop by memcpy(). */
    __asm__ volatile("" : "+r"(to), "+r"(from)::"memory");
}

bool copy_can_be_slow(void)
{
#ifdef __x86_64__
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

void copy_in_lines(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;

    for (; bytes >= COPY_LINE_BYTES; bytes -= COPY_LINE_BYTES) {
        copy_line(target, source);
        target += COPY_LINE_BYTES;
        source += COPY_LINE_BYTES;
    }
    memcpy(target, source, bytes);
}
