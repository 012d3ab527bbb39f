/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.h - memory that peers may use: its keys and permissions.
 *
 * A peer names memory by a key and an address. It gets a pointer only for bytes within registered
 * memory, for permitted access. Every use looks the key up again, so no reference to unregistered
 * memory remains.
 *
 * A wrong guess reveals only that it is wrong. All conditions of a request are evaluated without
 * branches, and the answer is the same whichever fails. The key is compared in one instruction,
 * after a number of search steps that depends only on the number of keys, so the time does not
 * depend on how many bits are right. The cache lines used do depend on the key, but tell only
 * whether keys nearby are in use, and less than the noise of a network.
 *
 * Registering may allocate; looking up does not. One thread.
 */
#ifndef BEOWIRE_REMOTE_REGION_H
#define BEOWIRE_REMOTE_REGION_H

#include "beowire.h"
#include "frame/frame.h"

struct region {
    uint64_t key;
    uint8_t *base;
    uint64_t bytes;
    unsigned flags; /**< enum beowire_memory_flag */
};

/** Remembered keys of unregistered memory: their late use is not a guess. */
#define REGION_KEYS_GONE 256

/** All regions of an endpoint, sorted by key. All zero: empty. */
struct region_table {
    struct region *regions;
    size_t count;
    size_t room;
    uint64_t removed; /**< regions removed so far */
    uint64_t
        gone[REGION_KEYS_GONE]; /**< their latest keys; the next is at `removed` modulo the size */
};

/** Bytes that a peer wants to use. */
struct region_range {
    uint64_t key;
    uint64_t address;
    uint64_t bytes;
    unsigned access; /**< required permissions: BEOWIRE_MEMORY_READ, BEOWIRE_MEMORY_WRITE */
};

/** @return 0; -EINVAL: it wraps around; -EEXIST: the key is in use; -ENOMEM. */
int region_add(struct region_table *table, const struct region *region);

/** @return 0; -ENOENT: no such key. */
int region_remove(struct region_table *table, uint64_t key);

/** Is there memory with this key? */
bool region_exists(const struct region_table *table, uint64_t key);

/** Does it exist, or did lately? Then naming it is no guess. */
bool region_is_known(const struct region_table *table, uint64_t key);

/** Finds the first byte of a range in our memory. @return FRAME_STATUS_OK or _REFUSED. */
enum frame_status region_find(const struct region_table *table, const struct region_range *range,
                              uint8_t **at);

void region_table_close(struct region_table *table);

#endif /* BEOWIRE_REMOTE_REGION_H */
