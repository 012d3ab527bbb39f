/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h - the arithmetic of atomic operations on arrays in registered memory.
 *
 * An element aligned to its size is changed by an atomic instruction, so that endpoints and threads
 * of the process may use the same one. Others are changed by plain instructions. Reading writes
 * nothing.
 *
 * Pure. Thread-safe.
 */
#ifndef BEOWIRE_REMOTE_ATOMIC_H
#define BEOWIRE_REMOTE_ATOMIC_H

#include "beowire.h"

/** Bytes of an element; 0: no such type. Accepts any number from the wire. */
uint32_t atomic_type_bytes(unsigned type);

/** Does this operation exist for this type? Accepts any numbers from the wire. */
bool atomic_is_supported(unsigned operation, unsigned type);

/** The most elements of an operation on any connection; 0: the operation does not exist for this
 *  type. Accepts any numbers from the wire. */
uint32_t atomic_count_max(unsigned operation, unsigned type);

static inline bool atomic_has_operand(unsigned operation)
{
    return operation != BEOWIRE_ATOMIC_READ;
}

static inline bool atomic_has_compare(unsigned operation)
{
    return operation >= BEOWIRE_ATOMIC_SWAP_EQUAL && operation <= BEOWIRE_ATOMIC_SWAP_MASKED;
}

/** Arrays of an operation; only `target` need be aligned. */
struct atomic_arrays {
    uint8_t *target;
    const uint8_t *operand;
    const uint8_t *compare;
    uint8_t *old; /**< gets the old values; may be NULL */
    uint32_t count;
};

/** Performs a supported operation. */
void atomic_apply(unsigned operation, unsigned type, const struct atomic_arrays *arrays);

#endif /* BEOWIRE_REMOTE_ATOMIC_H */
