/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - memory that messages use in turn, so large that a place is no longer cached when the
 * walk returns to it: twice the last-level cache (as the kernel describes it), but at most a share
 * of the free memory. Compare `bytes` with `cache_bytes` to see which limit applied.
 *
 * Messages shorter than a page do not use adjacent places, because the processor would prefetch the
 * next one. They jump within a block. Longer ones use adjacent places.
 */
#ifndef BEOWIRE_ENGINE_WALK_H
#define BEOWIRE_ENGINE_WALK_H

#include <stdint.h>

/** One walk takes at most 1/64 of the free memory: a run has one engine per driver and end. */
#define WALK_MEMORY_SHARE 64

struct walk {
    uint8_t *memory;      /**< owned; NULL before the first walk */
    uint64_t bytes;       /**< of `memory` */
    uint64_t wanted;      /**< requested size, set before the first walk; 0: as above */
    uint64_t cache_bytes; /**< of the last-level cache; 0: unknown */
    uint64_t slot_bytes;  /**< memory of one message */
    uint64_t next;        /**< number of the next slot */
};

/** Prepares for messages of `size` bytes, from where the last walk ended. The first call allocates
 *  and fills the memory, which takes long. 0 or -ENOMEM. */
int walk_begin(struct walk *walk, uint64_t size);

/** Memory for the next message, filled with contents. */
uint8_t *walk_next(struct walk *walk);

/** Frees the memory. */
void walk_end(struct walk *walk);

/** The largest cache under a directory such as /sys/devices/system/cpu/cpu0/cache; 0: none. */
uint64_t walk_cache_bytes(const char *directory);

/** Memory of a walk for a cache of this size, with so much free memory (0: unknown). */
uint64_t walk_wanted_bytes(uint64_t cache_bytes, uint64_t free_bytes);

#endif
