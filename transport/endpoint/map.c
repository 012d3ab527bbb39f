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
