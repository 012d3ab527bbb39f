/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - memory through which messages walk, so large that a cache has lost a place when the
 * walk comes there again: twice the last-level cache, as the kernel describes it, but no more than
 * a share of the memory that is free. Which of the two it was can be told from `cache_bytes`.
 *
 * Messages shorter than a page are not put one after the other, for then the processor would fetch
 * the next before it is asked for: they go to and fro in a block. Longer ones do.
 */
#ifndef BEOWIRE_ENGINE_WALK_H
#define BEOWIRE_ENGINE_WALK_H

#include <stdint.h>

/** Share of the free memory that one walk may take: a run has an engine a driver and end. */
#define WALK_MEMORY_SHARE 64

struct walk {
    uint8_t *memory;      /**< owned; NULL before the first walk */
    uint64_t bytes;       /**< of it */
    uint64_t wanted;      /**< how large it is to be, set before the first walk; 0: as said above */
    uint64_t cache_bytes; /**< of the last-level cache; 0 where the kernel does not say */
    uint64_t slot_bytes;  /**< room of one message */
    uint64_t next;        /**< number of the next slot */
};

/** Gets ready for messages of `size` bytes, at the place where the walk before ended. The first
 *  one takes and fills the memory, which takes a while. 0 or -ENOMEM. */
int walk_begin(struct walk *walk, uint64_t size);

/** Room for the next message, filled with content. */
uint8_t *walk_next(struct walk *walk);

/** Gives the memory back. */
void walk_end(struct walk *walk);

/** The largest cache under a directory such as /sys/devices/system/cpu/cpu0/cache; 0: none. */
uint64_t walk_cache_bytes(const char *directory);

/** What a walk takes for a cache of this size, with so much memory free (0: not known). */
uint64_t walk_wanted_bytes(uint64_t cache_bytes, uint64_t free_bytes);

#endif
