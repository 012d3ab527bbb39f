/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_regions.h - memory that the RDMA device knows. It reads and writes pages that it was told
 * of, and what is told stays with the pages, not with their addresses: memory that was given back
 * and mapped anew would be another, unnoticed.
 *
 * The two buffers of the options are registered once. Other memory is when it is first used, as it
 * is, so that the other end reaches nothing beside it; it is kept, as the engine gives no memory
 * back during a run, and forgotten before the next (verbs_regions_forget()). There are at most
 * VERBS_REGIONS; the one that was longest not used makes room.
 *
 * One thread.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_REGIONS_H
#define BEOWIRE_DRIVERS_VERBS_REGIONS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** More than can be in use at once: all that is posted either way. */
#define VERBS_REGIONS 160

struct verbs_region {
    uintptr_t start;
    uint64_t bytes;
    struct ibv_mr *registered; /**< NULL: this place is free */
    uint32_t uses;             /**< messages under way there */
    bool stays;                /**< to the session's end */
    uint64_t used_at;          /**< the larger, the later */
};

struct verbs_regions {
    struct ibv_pd *domain;
    unsigned access; /**< of enum ibv_access_flags */
    uint64_t now;
    struct verbs_region places[VERBS_REGIONS];
};

/** Makes a buffer known that stays. 0, or a negative errno. */
int verbs_regions_keep(struct verbs_regions *regions, void *data, uint64_t bytes);

/** Where this memory is known; it counts as used until verbs_regions_release(). NULL: it cannot
 *  be, and errno says why. */
struct verbs_region *verbs_regions_use(struct verbs_regions *regions, void *data, uint64_t bytes);

void verbs_regions_release(struct verbs_region *region);

/** Forgets what is not used and does not stay. */
void verbs_regions_forget(struct verbs_regions *regions);

/** Forgets all. */
void verbs_regions_close(struct verbs_regions *regions);

#endif
