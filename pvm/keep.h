/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep.h - memory of long messages, kept for the next one.
 *
 * malloc() gives memory of that size back to the kernel as soon as it is freed, and has it anew,
 * page by page, for the next message: for a message of 4 MiB that takes as long as two copies of
 * it. So what was freed last is kept: a few blocks, up to KEEP_BYTES_MAX together.
 *
 * Blocks are malloc()'s, and may be freed by free() as well. One thread, as PVM.
 */
#ifndef BEOWIRE_PVM_KEEP_H
#define BEOWIRE_PVM_KEEP_H

#include <stddef.h>

#define KEEP_BLOCKS 8
#define KEEP_BYTES_MAX ((size_t)32 << 20)

/** Shorter blocks are malloc()'s affair. */
#define KEEP_BYTES_MIN ((size_t)32 << 10)

/** All zeros: nothing is kept. */
struct keep {
    void *blocks[KEEP_BLOCKS]; /**< the newest last */
    size_t count;
    size_t bytes;
};

/** A block of at least so many bytes. @return NULL: no memory, though all that was kept is free */
void *keep_take(struct keep *keep, size_t bytes);

/** Keeps a block, or frees it. */
void keep_give(struct keep *keep, void *block);

/** Frees all that is kept. */
void keep_clear(struct keep *keep);

#endif
