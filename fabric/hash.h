/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h - FNV-1a (Fowler, Noll, Vo), 64 bits, for uses without attackers.
 */
#ifndef BEOWIRE_FABRIC_HASH_H
#define BEOWIRE_FABRIC_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t hash_bytes(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif /* BEOWIRE_FABRIC_HASH_H */
