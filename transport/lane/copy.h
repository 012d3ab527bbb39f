/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - copies memory without slow string operations.
 *
 * Kernels, and memcpy() for some thousand bytes and more, copy with `rep movsb` if the processor
 * reports that it is fast. On AMD's Zen 3 (measured) and Zen 4 (glibc's bug 30994) it is, unless
 * the destination is up to 31 bytes further in its page than the source is in its own. Then the
 * processor seems to confuse them, and copies 64 KB in 21 us instead of 1.3 us
 * (docs/PERFORMANCE.md).
 *
 * Pure. Any thread.
 */
#ifndef BEOWIRE_LANE_COPY_H
#define BEOWIRE_LANE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** memcpy() uses string operations for at least this many bytes. */
#define COPY_STRING_BYTES_MIN 2048

/** If the destination is further in its page than the source by less than this, copying is slow. */
#define COPY_ALIAS_BYTES 32
#define COPY_PAGE_BYTES 4096

/** Copies between addresses aligned to this are never slow. */
#define COPY_LINE_BYTES 64

/** Do string operations copy slowly between these addresses? */
static inline bool copy_is_slow(const void *to, const void *from)
{
    uintptr_t ahead = ((uintptr_t)to - (uintptr_t)from) % COPY_PAGE_BYTES;

    return ahead > 0 && ahead < COPY_ALIAS_BYTES;
}

/** Is this such a processor? On others the detour only costs time. */
bool copy_can_be_slow(void);

/** memcpy() without string operations. */
void copy_in_lines(void *restrict to, const void *restrict from, size_t bytes);

/** memcpy(), at its usual speed for all addresses. */
static inline void copy_bytes(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < COPY_STRING_BYTES_MIN || !copy_is_slow(to, from)) {
        memcpy(to, from, bytes);
    } else {
        copy_in_lines(to, from, bytes);
    }
}

#endif /* BEOWIRE_LANE_COPY_H */
