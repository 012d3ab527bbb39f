/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_memory.h"

#include <stddef.h>

/** Devices require artificial addresses to have the same offset in their page as the real ones, in
 *  the longest page of Linux. */
#define PAGE_BYTES 65536u
#define PAGES (1u << 16) /* of addresses below 2^32 */

/** An entry for this many bytes. @return NULL: no room. */
static struct verbs_registration *find_room(struct verbs_memory *memory, uint64_t bytes)
{
    if (bytes == 0 || bytes > LANE_VERBS_REGISTERED_BYTES - memory->bytes) {
        return NULL;
    }
    for (unsigned i = 0; i < LANE_VERBS_REGISTRATIONS; i++) {
        if (memory->registrations[i].region == NULL) {
            return &memory->registrations[i];
        }
    }
    return NULL;
}

static void fill(struct verbs_memory *memory, struct verbs_registration *registration,
                 struct ibv_mr *region, struct ibv_pd *domain, uint64_t bytes)
{
    *registration = (struct verbs_registration){.region = region, .domain = domain, .bytes = bytes};
    memory->bytes += region != NULL ? bytes : 0;
}

uint64_t verbs_memory_lend(struct verbs_memory *memory, struct ibv_pd *domain, const void *at,
                           uint64_t bytes)
{
    struct verbs_registration *registration = find_room(memory, bytes);
    uint64_t within = (uintptr_t)at % PAGE_BYTES;
    uint64_t address = (uint64_t)memory->pages * PAGE_BYTES + within;

    if (registration == NULL) {
        return 0;
    }
    /* It is only read. */
    struct ibv_mr *region = memory->library->reg_mr_iova(domain, (void *)(uintptr_t)at, bytes,
                                                         address, IBV_ACCESS_REMOTE_READ);
    fill(memory, registration, region, domain, bytes);
    if (region == NULL) {
        return 0;
    }
    memory->pages += (uint32_t)((within + bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    memory->pages %= PAGES;
    registration->lent = (uint64_t)region->rkey << 32 | address;
    if (registration->lent == 0) {
        verbs_memory_end(memory, registration);
        return 0;
    }
    return registration->lent;
}

struct verbs_registration *verbs_memory_open(struct verbs_memory *memory, struct ibv_pd *domain,
                                             void *at, uint64_t bytes)
{
    struct verbs_registration *registration = find_room(memory, bytes);

    if (registration == NULL) {
        return NULL;
    }
    fill(memory, registration, memory->library->reg_mr(domain, at, bytes, IBV_ACCESS_LOCAL_WRITE),
         domain, bytes);
    return registration->region != NULL ? registration : NULL;
}

void verbs_memory_end(struct verbs_memory *memory, struct verbs_registration *registration)
{
    (void)memory->library->dereg_mr(registration->region);
    memory->bytes -= registration->bytes;
    *registration = (struct verbs_registration){.region = NULL};
}

void verbs_memory_take_back(struct verbs_memory *memory, uint64_t lent)
{
    for (unsigned i = 0; i < LANE_VERBS_REGISTRATIONS; i++) {
        if (memory->registrations[i].region != NULL && memory->registrations[i].lent == lent) {
            verbs_memory_end(memory, &memory->registrations[i]);
            return;
        }
    }
}

void verbs_memory_take_all_back(struct verbs_memory *memory, const struct ibv_pd *domain)
{
    for (unsigned i = 0; i < LANE_VERBS_REGISTRATIONS; i++) {
        struct verbs_registration *registration = &memory->registrations[i];
        if (registration->region != NULL && registration->domain == domain &&
            registration->lent != 0) {
            verbs_memory_end(memory, registration);
        }
    }
}
