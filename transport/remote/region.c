/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/region.h"

#include <errno.h>
#include <stdlib.h>

/** The number if `yes`, else 0, without a branch. */
static uint64_t number_if(uint64_t number, bool yes)
{
    return number & (0 - (uint64_t)yes);
}

/** The place of the key in the table. The number of steps depends only on the number of keys. */
static size_t position(const struct region_table *table, uint64_t key)
{
    size_t from = 0;

    for (size_t left = table->count, half = 0; left > 0; left -= half) {
        half = left - left / 2;
        from += number_if(half, table->regions[from + half - 1].key < key);
    }
    return from;
}

/** The region with this key; if there is none, another one. @return NULL: no regions. */
static const struct region *nearest(const struct region_table *table, uint64_t key)
{
    size_t at = position(table, key);

    return table->count > 0 ? &table->regions[at - (at == table->count)] : NULL;
}

static bool make_room(struct region_table *table)
{
    if (table->count < table->room) {
        return true;
    }
    size_t room = table->room > 0 ? 2 * table->room : 16;
    struct region *regions = realloc(table->regions, room * sizeof *regions);
    if (regions == NULL) {
        return false;
    }
    table->regions = regions;
    table->room = room;
    return true;
}

int region_add(struct region_table *table, const struct region *region)
{
    size_t at = position(table, region->key);

    if (region->bytes > UINT64_MAX - (uintptr_t)region->base) {
        return -EINVAL;
    }
    if (region_exists(table, region->key)) {
        return -EEXIST;
    }
    if (!make_room(table)) {
        return -ENOMEM;
    }
    memmove(&table->regions[at + 1], &table->regions[at],
            (table->count - at) * sizeof *table->regions);
    table->regions[at] = *region;
    table->count++;
    return 0;
}

int region_remove(struct region_table *table, uint64_t key)
{
    size_t at = position(table, key);

    if (!region_exists(table, key)) {
        return -ENOENT;
    }
    table->count--;
    memmove(&table->regions[at], &table->regions[at + 1],
            (table->count - at) * sizeof *table->regions);
    table->gone[table->removed++ % REGION_KEYS_GONE] = key;
    return 0;
}

bool region_exists(const struct region_table *table, uint64_t key)
{
    const struct region *region = nearest(table, key);

    return region != NULL && region->key == key;
}

bool region_is_known(const struct region_table *table, uint64_t key)
{
    uint64_t count = table->removed < REGION_KEYS_GONE ? table->removed : REGION_KEYS_GONE;
    unsigned found = region_exists(table, key);

    for (uint64_t i = 0; i < count; i++) {
        found |= table->gone[i] == key;
    }
    return found != 0;
}

enum frame_status region_find(const struct region_table *table, const struct region_range *range,
                              uint8_t **at)
{
    const struct region *region = nearest(table, range->key);

    if (region == NULL) {
        return FRAME_STATUS_REFUSED;
    }
    uint64_t begin =
        number_if((uintptr_t)region->base, (region->flags & BEOWIRE_MEMORY_VIRTUAL) != 0);
    uint64_t offset = range->address - begin;
    uint64_t wrong = region->key ^ range->key;
    wrong |= range->access & ~region->flags;
    wrong |= range->address < begin;
    wrong |= offset > region->bytes;
    wrong |= range->bytes > region->bytes - offset;
    if (wrong != 0) {
        return FRAME_STATUS_REFUSED;
    }
    /* For all of memory the base is NULL, to which C allows no offset. */
    *at = (uint8_t *)((uintptr_t)region->base + offset); /* NOLINT(performance-no-int-to-ptr) */
    return FRAME_STATUS_OK;
}

void region_table_close(struct region_table *table)
{
    free(table->regions);
    *table = (struct region_table){0};
}
