/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/region.h"

#include <errno.h>
#include <stdlib.h>

/** Where the key is, or belongs. */
static size_t position(const struct region_table *table, uint64_t key)
{
    size_t from = 0;
    size_t end = table->count;

    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (table->regions[middle].key < key) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

static const struct region *find(const struct region_table *table, uint64_t key)
{
    size_t at = position(table, key);

    return at < table->count && table->regions[at].key == key ? &table->regions[at] : NULL;
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
    return 0;
}

bool region_exists(const struct region_table *table, uint64_t key)
{
    return find(table, key) != NULL;
}

enum frame_status region_find(const struct region_table *table, const struct region_range *range,
                              uint8_t **at)
{
    const struct region *region = find(table, range->key);

    if (region == NULL || (region->flags & range->access) != range->access) {
        return FRAME_STATUS_KEY;
    }
    uint64_t begin =
        (region->flags & BEOWIRE_MEMORY_VIRTUAL) != 0 ? (uint64_t)(uintptr_t)region->base : 0;
    uint64_t offset = range->address - begin;
    if (range->address < begin || offset > region->bytes || range->bytes > region->bytes - offset) {
        return FRAME_STATUS_RANGE;
    }
    /* Of all memory the base is NULL, which has no place behind it. */
    *at = (uint8_t *)((uintptr_t)region->base + offset); /* NOLINT(performance-no-int-to-ptr) */
    return FRAME_STATUS_OK;
}

void region_table_close(struct region_table *table)
{
    free(table->regions);
    *table = (struct region_table){0};
}
