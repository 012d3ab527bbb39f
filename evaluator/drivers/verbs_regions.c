/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_regions.h"

#include <errno.h>

static void forget(struct verbs_region *region)
{
    (void)ibv_dereg_mr(region->registered);
    *region = (struct verbs_region){0};
}

static bool is_idle(const struct verbs_region *region)
{
    return region->registered != NULL && region->uses == 0 && !region->stays;
}

/* An unused place; if there is none, that of the least recently used region. */
static struct verbs_region *new_place(struct verbs_regions *regions)
{
    struct verbs_region *oldest = NULL;
    for (size_t i = 0; i < VERBS_REGIONS; i++) {
        struct verbs_region *region = &regions->places[i];
        if (region->registered == NULL) {
            return region;
        }
        if (is_idle(region) && (oldest == NULL || region->used_at < oldest->used_at)) {
            oldest = region;
        }
    }
    if (oldest != NULL) {
        forget(oldest);
    }
    return oldest;
}

static struct verbs_region *make_known(struct verbs_regions *regions, void *data, uint64_t bytes)
{
    struct verbs_region *region = new_place(regions);
    if (region == NULL) {
        errno = ENOBUFS;
        return NULL;
    }
    struct ibv_mr *registered = ibv_reg_mr(regions->domain, data, bytes, regions->access);
    if (registered == NULL) {
        errno = errno == 0 ? EIO : errno;
        return NULL;
    }
    *region =
        (struct verbs_region){.start = (uintptr_t)data, .bytes = bytes, .registered = registered};
    return region;
}

int verbs_regions_keep(struct verbs_regions *regions, void *data, uint64_t bytes)
{
    struct verbs_region *region = make_known(regions, data, bytes);
    if (region == NULL) {
        return -errno;
    }
    region->stays = true;
    return 0;
}

struct verbs_region *verbs_regions_use(struct verbs_regions *regions, void *data, uint64_t bytes)
{
    struct verbs_region *found = NULL;
    for (size_t i = 0; i < VERBS_REGIONS && found == NULL; i++) {
        struct verbs_region *region = &regions->places[i];
        const uint64_t at = (uintptr_t)data - region->start;
        if (region->registered != NULL && at <= region->bytes && bytes <= region->bytes - at) {
            found = region;
        }
    }
    if (found == NULL) {
        found = make_known(regions, data, bytes);
    }
    if (found != NULL) {
        found->uses++;
        found->used_at = ++regions->now;
    }
    return found;
}

void verbs_regions_release(struct verbs_region *region)
{
    region->uses--;
}

void verbs_regions_forget(struct verbs_regions *regions)
{
    for (size_t i = 0; i < VERBS_REGIONS; i++) {
        if (is_idle(&regions->places[i])) {
            forget(&regions->places[i]);
        }
    }
}

void verbs_regions_close(struct verbs_regions *regions)
{
    for (size_t i = 0; i < VERBS_REGIONS; i++) {
        if (regions->places[i].registered != NULL) {
            forget(&regions->places[i]);
        }
    }
}
