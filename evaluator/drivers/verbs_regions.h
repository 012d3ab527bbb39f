/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_regions.h - memory registered with the RDMA device. A registration belongs to pages, not to
 * addresses: if memory is freed and mapped again, an old registration silently refers to other
 * pages.
 *
 * The two buffers of the options are registered once. Other memory is registered when it is first
 * used, exactly, so that the other end cannot reach anything beside it. It stays registered during
 * a run, in which the engine frees no memory, and is deregistered before the next
 * (verbs_regions_forget()). At most VERBS_REGIONS are registered; the least recently used makes
 * room.
 *
 * One thread.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_REGIONS_H
#define BEOWIRE_DRIVERS_VERBS_REGIONS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** More than can be in use at once by posted messages. */
#define VERBS_REGIONS 160

struct verbs_region {
    uintptr_t start;
    uint64_t bytes;
    struct ibv_mr *registered; /**< NULL: unused place */
    uint32_t uses;             /**< messages under way */
    bool stays;                /**< until the session ends */
    uint64_t used_at;          /**< time of the last use, in uses */
};

struct verbs_regions {
    struct ibv_pd *domain;
    unsigned access; /**< of enum ibv_access_flags */
    uint64_t now;
    struct verbs_region places[VERBS_REGIONS];
};

/** Registers a buffer until the session ends. 0, or a negative errno. */
int verbs_regions_keep(struct verbs_regions *regions, void *data, uint64_t bytes);

/** The region of this memory, in use until verbs_regions_release(). NULL: cannot register, and
 *  errno says why. */
struct verbs_region *verbs_regions_use(struct verbs_regions *regions, void *data, uint64_t bytes);

void verbs_regions_release(struct verbs_region *region);

/** Deregisters all that are neither in use nor permanent. */
void verbs_regions_forget(struct verbs_regions *regions);

/** Deregisters all. */
void verbs_regions_close(struct verbs_regions *regions);

#endif
