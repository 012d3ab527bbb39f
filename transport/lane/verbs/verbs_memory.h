/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_memory.h - registrations of the application's memory with the RDMA device, for as long as a
 * message takes: what is lent to a peer, and what is read into.
 *
 * None outlives its message, since the application may give its memory back as soon as that has
 * ended: the device would go on with the old pages, and what is there then is nobody's message. (To
 * notice that, a cache has to intercept what gives memory back, in every library of the process.)
 * So there is nothing to invalidate; the price is two system calls a message, and why only long
 * ones are worth it. The table is bounded, in entries and in bytes.
 *
 * Each peer has a protection domain of its own, and what is lent is registered in that, for
 * reading: no other peer's connection can use the key, and none can write. The address by which a
 * peer reads is made up, another one each time, so that a key of yesterday, should the device use
 * its number again, names nothing.
 *
 * One thread.
 */
#ifndef BEOWIRE_LANE_VERBS_MEMORY_H
#define BEOWIRE_LANE_VERBS_MEMORY_H

#include "lane/verbs/verbs_library.h"
#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct verbs_registration {
    struct ibv_mr *region; /**< NULL: free */
    struct ibv_pd *domain;
    uint64_t bytes;
    uint64_t lent; /**< key and address (verbs_memory_lend()), or 0: it is read into */
};

struct verbs_memory {
    const struct verbs_library *library;
    uint64_t bytes; /**< registered, in all */
    uint32_t pages; /**< of made-up addresses that were given, modulo 2^16 */
    struct verbs_registration registrations[LANE_VERBS_REGISTRATIONS];
};

/** What a peer needs to read: the device's key, and the address of the first byte below 2^32. */
static inline uint32_t verbs_lent_key(uint64_t lent)
{
    return (uint32_t)(lent >> 32);
}

static inline uint64_t verbs_lent_address(uint64_t lent)
{
    return lent & UINT32_MAX;
}

/** Registers memory that peers of the domain may read. @return key << 32 | address; 0: the device
 *  refuses, or there is no room. */
uint64_t verbs_memory_lend(struct verbs_memory *memory, struct ibv_pd *domain, const void *at,
                           uint64_t bytes);

/** Registers memory that we read into. @return NULL: the device refuses, or there is no room. */
struct verbs_registration *verbs_memory_open(struct verbs_memory *memory, struct ibv_pd *domain,
                                             void *at, uint64_t bytes);

/** Ends a registration. */
void verbs_memory_end(struct verbs_memory *memory, struct verbs_registration *registration);

/** Ends what was lent by this name, if it still is. */
void verbs_memory_take_back(struct verbs_memory *memory, uint64_t lent);

/** Ends all that was lent in the domain. */
void verbs_memory_take_all_back(struct verbs_memory *memory, const struct ibv_pd *domain);

#endif /* BEOWIRE_LANE_VERBS_MEMORY_H */
