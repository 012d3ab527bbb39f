/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h - atomic operations on arrays in registered memory: the arithmetic.
 *
 * An element that is aligned to its size is changed by an atomic instruction of its width, so that
 * endpoints and threads of the process may work on the same one. Others are changed by plain ones.
 * Reading writes nothing.
 *
 * Pure. Thread-safe.
 */
#ifndef BEOWIRE_REMOTE_ATOMIC_H
#define BEOWIRE_REMOTE_ATOMIC_H

#include "beowire.h"

/** Bytes of an element; 0: no such type. Takes any number, as it came. */
uint32_t atomic_type_bytes(unsigned type);

/** Is there such an operation on this type? Takes any numbers, as they came. */
bool atomic_is_supported(unsigned operation, unsigned type);

/** Most elements of one operation, on whatever connection; 0: there is no such operation on this
 *  type. Takes any numbers, as they came. */
uint32_t atomic_count_max(unsigned operation, unsigned type);

static inline bool atomic_has_operand(unsigned operation)
{
    return operation != BEOWIRE_ATOMIC_READ;
}

static inline bool atomic_has_compare(unsigned operation)
{
    return operation >= BEOWIRE_ATOMIC_SWAP_EQUAL && operation <= BEOWIRE_ATOMIC_SWAP_MASKED;
}

/** Arrays of one operation; none but `target` need be aligned. */
struct atomic_arrays {
    uint8_t *target;
    const uint8_t *operand;
    const uint8_t *compare;
    uint8_t *old; /**< gets what was there; may be NULL */
    uint32_t count;
};

/** Carries out a supported operation. */
void atomic_apply(unsigned operation, unsigned type, const struct atomic_arrays *arrays);

#endif /* BEOWIRE_REMOTE_ATOMIC_H */
