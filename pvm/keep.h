/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep.h - memory of long messages, kept for the next one.
 *
 * free() returns blocks of that size to the kernel, and malloc() then gets new pages for the next
 * message, which takes as long as two copies of 4 MiB. So the blocks freed last are kept: a few, of
 * up to KEEP_BYTES_MAX in all.
 *
 * Blocks are malloc()'s, and may be freed by free() as well. One thread, as PVM.
 */
#ifndef BEOWIRE_PVM_KEEP_H
#define BEOWIRE_PVM_KEEP_H

#include <stddef.h>

#define KEEP_BLOCKS 8
#define KEEP_BYTES_MAX ((size_t)32 << 20)

/** Shorter blocks are not kept. */
#define KEEP_BYTES_MIN ((size_t)32 << 10)

/** All zeros: nothing is kept. */
struct keep {
    void *blocks[KEEP_BLOCKS]; /**< the newest last */
    size_t count;
    size_t bytes;
};

/** A block of at least that size. @return NULL: no memory, even after freeing all kept blocks */
void *keep_take(struct keep *keep, size_t bytes);

/** Keeps a block, or frees it. */
void keep_give(struct keep *keep, void *block);

/** Frees all that is kept. */
void keep_clear(struct keep *keep);

#endif
