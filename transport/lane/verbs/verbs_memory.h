/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_memory.h - registers memory of the application with the RDMA device for the duration of a
 * message: memory that is lent to a peer, and memory that is read into.
 *
 * No registration outlives its message, because the application may free the memory then: the
 * device would continue to use the old pages. (To notice that, a cache must intercept all functions
 * that free memory, in every library of the process.) So nothing must be invalidated. The price is
 * two system calls per message, so only long ones are worth it. The table is bounded, in entries
 * and in bytes.
 *
 * Each peer has its own protection domain, in which the lent memory is registered for reading:
 * other peers' connections cannot use the key, and none can write. The address for the peer is
 * artificial, different each time, so that an old key is useless even if the device reuses its
 * number.
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
    uint64_t lent; /**< key and address (verbs_memory_lend()); 0: it is read into */
};

struct verbs_memory {
    const struct verbs_library *library;
    uint64_t bytes; /**< registered, in total */
    uint32_t pages; /**< of artificial addresses given so far, modulo 2^16 */
    struct verbs_registration registrations[LANE_VERBS_REGISTRATIONS];
};

/** What a peer needs to read: the device's key, and the address of the first byte, below 2^32. */
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

/** Registers memory to read into. @return NULL: the device refuses, or there is no room. */
struct verbs_registration *verbs_memory_open(struct verbs_memory *memory, struct ibv_pd *domain,
                                             void *at, uint64_t bytes);

/** Ends a registration. */
void verbs_memory_end(struct verbs_memory *memory, struct verbs_registration *registration);

/** Ends the loan with this name, unless it has ended. */
void verbs_memory_take_back(struct verbs_memory *memory, uint64_t lent);

/** Ends all loans in the domain. */
void verbs_memory_take_all_back(struct verbs_memory *memory, const struct ibv_pd *domain);

#endif /* BEOWIRE_LANE_VERBS_MEMORY_H */
