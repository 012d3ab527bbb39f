/* SPDX-License-Identifier: BSD-3-Clause */
#include "map.h"

#include <errno.h>
#include <stdlib.h>

int map_open(struct map *map, uint32_t entries)
{
    uint32_t slots = 4;

    while (slots < 2 * entries) {
        slots *= 2;
    }
    map->slots = calloc(slots, sizeof *map->slots);
    map->mask = slots - 1;
    return map->slots != NULL ? 0 : -ENOMEM;
}

void map_close(struct map *map)
{
    free(map->slots);
    map->slots = NULL;
}

void map_add(struct map *map, uint64_t number, uint32_t value)
{
    uint32_t i = (uint32_t)number & map->mask;

    while (map->slots[i].number != 0) {
        i = (i + 1) & map->mask;
    }
    map->slots[i] = (struct map_slot){.number = number, .value = value};
}

/** @return the place of the entry, or the number of slots. */
static uint32_t place_of(const struct map *map, uint64_t number, uint32_t value)
{
    uint32_t i = (uint32_t)number & map->mask;

    while (map->slots[i].number != 0) {
        if (map->slots[i].number == number && map->slots[i].value == value) {
            return i;
        }
        i = (i + 1) & map->mask;
    }
    return map->mask + 1;
}

void map_remove(struct map *map, uint64_t number, uint32_t value)
{
    uint32_t hole = place_of(map, number, value);

    if (hole > map->mask) {
        return;
    }
    /* Moves up the entries behind the hole that would not be found any more. */
    for (uint32_t i = (hole + 1) & map->mask; map->slots[i].number != 0; i = (i + 1) & map->mask) {
        uint32_t home = (uint32_t)map->slots[i].number & map->mask;
        if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct map_slot){0};
}

void map_change(struct map *map, uint64_t number, uint32_t from, uint32_t to)
{
    uint32_t i = place_of(map, number, from);

    if (i <= map->mask) {
        map->slots[i].value = to;
    }
}
