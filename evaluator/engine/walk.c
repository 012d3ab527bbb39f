/* SPDX-License-Identifier: BSD-3-Clause */
#include "walk.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "facts.h"
#include "fill.h"

#define LINE_BYTES UINT64_C(64)
#define PAGE_BYTES UINT64_C(4096)

/* Block in which short messages jump. */
#define BLOCK_BYTES (UINT64_C(1) << 20)

/* Slots from one message to the next in a block. Odd, so that each slot is used once: their number
 * is a power of two. More than half a block, so that the next one is far away. */
#define SLOT_STEP UINT64_C(10007)

/* If the kernel does not know the caches. */
#define CACHE_BYTES_UNKNOWN (UINT64_C(64) << 20)

#define CACHES_MAX 16

/* Parses the kernel's sizes of caches, such as "480K". */
static uint64_t parse_size(const char *text)
{
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 10);
    return *end == 'K'   ? value << 10
           : *end == 'M' ? value << 20
           : *end == 'G' ? value << 30
                         : value;
}

uint64_t walk_cache_bytes(const char *directory)
{
    uint64_t largest = 0;
    for (int i = 0; i < CACHES_MAX; i++) {
        char path[512];
        char text[64];
        (void)snprintf(path, sizeof path, "%s/index%d/size", directory, i);
        uint64_t bytes = facts_read(path, text, sizeof text) ? parse_size(text) : 0;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

uint64_t walk_wanted_bytes(uint64_t cache_bytes, uint64_t free_bytes)
{
    uint64_t wanted = 2 * (cache_bytes == 0 ? CACHE_BYTES_UNKNOWN : cache_bytes);
    uint64_t limit = free_bytes / WALK_MEMORY_SHARE;
    wanted = limit != 0 && limit < wanted ? limit : wanted;
    return (wanted + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static uint64_t free_memory_bytes(void)
{
    char text[64];
    return facts_find("/proc/meminfo", "MemAvailable", text, sizeof text)
               ? strtoull(text, NULL, 10) << 10
               : 0;
}

static uint64_t slot_of(uint64_t size)
{
    if (size >= PAGE_BYTES) {
        return (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
    uint64_t slot = LINE_BYTES;
    while (slot < size) {
        slot *= 2;
    }
    return slot;
}

int walk_begin(struct walk *walk, uint64_t size)
{
    const uint64_t slot = slot_of(size);
    if (walk->cache_bytes == 0) {
        walk->cache_bytes = walk_cache_bytes("/sys/devices/system/cpu/cpu0/cache");
    }
    if (walk->wanted == 0) {
        walk->wanted = walk_wanted_bytes(walk->cache_bytes, free_memory_bytes());
    }
    uint64_t wanted = walk->wanted;
    /* Outgoing and incoming messages must use different memory. */
    if (wanted < 2 * slot) {
        wanted = (2 * slot + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    }
    if (wanted > walk->bytes) {
        walk_end(walk);
        void *memory =
            mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return -ENOMEM;
        }
        walk->memory = memory;
        walk->bytes = wanted;
        fill_content(walk->memory, walk->bytes);
    }
    if (slot != walk->slot_bytes) {
        const uint64_t at = walk->next * walk->slot_bytes;
        walk->next = (at + slot - 1) / slot;
        walk->slot_bytes = slot;
    }
    return 0;
}

uint8_t *walk_next(struct walk *walk)
{
    if ((walk->next + 1) * walk->slot_bytes > walk->bytes) {
        walk->next = 0;
    }
    uint64_t slot = walk->next++;
    if (walk->slot_bytes < PAGE_BYTES) {
        const uint64_t in_block = BLOCK_BYTES / walk->slot_bytes;
        slot = slot / in_block * in_block + slot * SLOT_STEP % in_block;
    }
    return walk->memory + slot * walk->slot_bytes;
}

void walk_end(struct walk *walk)
{
    if (walk->memory != NULL) {
        munmap(walk->memory, walk->bytes);
    }
    walk->memory = NULL;
    walk->bytes = 0;
    walk->next = 0;
}
