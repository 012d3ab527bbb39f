/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - finds a peer by a random number of it (its key, its incarnation).
 *
 * Open addressing with linear probing. The numbers are random, so they are their own hash. 0 is no
 * valid number. Several entries may have the same one, with different values. Not thread-safe.
 */
#ifndef BEOWIRE_CORE_MAP_H
#define BEOWIRE_CORE_MAP_H

#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
    uint64_t number; /**< 0: free */
    uint32_t value;
};

struct map {
    struct map_slot *slots;
    uint32_t mask; /**< slots - 1 */
};

/** Makes a map for at most `entries` entries. @return 0, or -ENOMEM. */
int map_open(struct map *map, uint32_t entries);

void map_close(struct map *map);

/** Adds an entry. The map must not have this number with this value yet. */
void map_add(struct map *map, uint64_t number, uint32_t value);

/** Takes an entry out, if it is there (Knuth, The Art of Computer Programming, 6.4, algorithm R).
 */
void map_remove(struct map *map, uint64_t number, uint32_t value);

/** Gives an entry another value, if it is there. */
void map_change(struct map *map, uint64_t number, uint32_t from, uint32_t to);

/** Where to look for the first entry with this number (map_next()). */
static inline uint32_t map_first(const struct map *map, uint64_t number)
{
    return (uint32_t)number & map->mask;
}

/** The entries with this number, one after the other, in any order.
 *  @param at from map_first() for this number; only map_next() changes it
 *  @return the value of one, or MAP_NONE: there are no more */
static inline uint32_t map_next(const struct map *map, uint64_t number, uint32_t *at)
{
    while (map->slots[*at].number != 0) {
        const struct map_slot *slot = &map->slots[*at];
        *at = (*at + 1) & map->mask;
        if (slot->number == number) {
            return slot->value;
        }
    }
    return MAP_NONE;
}

/** @return the value (of one of them), or MAP_NONE. */
static inline uint32_t map_find(const struct map *map, uint64_t number)
{
    for (uint32_t i = (uint32_t)number & map->mask; map->slots[i].number != 0;
         i = (i + 1) & map->mask) {
        if (map->slots[i].number == number) {
            return map->slots[i].value;
        }
    }
    return MAP_NONE;
}

#endif /* BEOWIRE_CORE_MAP_H */
