/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"

/** A copy of so many bytes is a handful of instructions, never a string operation. */
static inline void copy_line(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, COPY_LINE_BYTES);
    /* Compilers would make one memcpy() of the loop. */
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
