/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.h - memory that peers may use: which keys there are, and what each allows.
 *
 * A peer names memory by a key and an address; it gets a pointer only for bytes that are all inside
 * what was registered, and only for what is allowed. Each look-up is a fresh one, so nothing refers
 * to memory that is not registered any more.
 *
 * Who guesses learns nothing but that it was wrong. All that can be wrong with a request is looked
 * at, whatever of it is, and added up without a branch; the answer is the same. The key is compared
 * in one instruction, after as many steps through the sorted keys as their number asks for, hit or
 * miss: no time depends on how many bits are right. Which cache lines these steps touch does, which
 * tells no more than whether others use a key nearby, and drowns in the noise of a network.
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

/** Keys that are remembered after their memory has gone: whoever still uses one was told it once.
 */
#define REGION_KEYS_GONE 256

/** All regions of an endpoint, in the order of their keys. Zeroed: empty. */
struct region_table {
    struct region *regions;
    size_t count;
    size_t room;
    uint64_t removed;                /**< ever; the latest of their keys are ... */
    uint64_t gone[REGION_KEYS_GONE]; /**< ... here, the next one goes to `removed` mod so many */
};

/** Bytes that a peer wants to use. */
struct region_range {
    uint64_t key;
    uint64_t address;
    uint64_t bytes;
    unsigned access; /**< BEOWIRE_MEMORY_READ, BEOWIRE_MEMORY_WRITE: all that is needed */
};

/** @return 0; -EINVAL: it wraps around; -EEXIST: the key is there; -ENOMEM. */
int region_add(struct region_table *table, const struct region *region);

/** @return 0; -ENOENT: no such key. */
int region_remove(struct region_table *table, uint64_t key);

/** Is there memory with this key? */
bool region_exists(const struct region_table *table, uint64_t key);

/** Is there, or was there lately? Then whoever names it need not have guessed. */
bool region_is_known(const struct region_table *table, uint64_t key);

/** Finds the first byte of a range in our memory. @return FRAME_STATUS_OK or _REFUSED. */
enum frame_status region_find(const struct region_table *table, const struct region_range *range,
                              uint8_t **at);

void region_table_close(struct region_table *table);

#endif /* BEOWIRE_REMOTE_REGION_H */
