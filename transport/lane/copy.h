/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - copying memory where processors with fast string operations do not do it fast.
 *
 * Kernels, and memcpy() for some thousand bytes and more, copy with `rep movsb`, if the processor
 * says that this is fast. With AMD's Zen 3 (measured) and Zen 4 (glibc's bug 30994) it is, but not
 * if the destination is up to 31 bytes further in its page than the source is in its own: then they
 * seem to take the one for the other, and copy 64 KB in 21 us in place of 1.3
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

/** memcpy() uses string operations for no fewer bytes than this. */
#define COPY_STRING_BYTES_MIN 2048

/** What is further in its page than where it comes from, but less than this, is copied slowly. */
#define COPY_ALIAS_BYTES 32
#define COPY_PAGE_BYTES 4096

/** Both ends of a copy that begin with a line are nowhere so little apart. */
#define COPY_LINE_BYTES 64

/** Do string operations copy slowly from here to there? */
static inline bool copy_is_slow(const void *to, const void *from)
{
    uintptr_t ahead = ((uintptr_t)to - (uintptr_t)from) % COPY_PAGE_BYTES;

    return ahead > 0 && ahead < COPY_ALIAS_BYTES;
}

/** Is this a processor of the kind? Else a way around is only longer. */
bool copy_can_be_slow(void);

/** memcpy() without string operations. */
void copy_in_lines(void *restrict to, const void *restrict from, size_t bytes);

/** As memcpy(), at its usual speed wherever the two are. */
static inline void copy_bytes(void *restrict to, const void *restrict from, size_t bytes)
{
    if (bytes < COPY_STRING_BYTES_MIN || !copy_is_slow(to, from)) {
        memcpy(to, from, bytes);
    } else {
        copy_in_lines(to, from, bytes);
    }
}

#endif /* BEOWIRE_LANE_COPY_H */
