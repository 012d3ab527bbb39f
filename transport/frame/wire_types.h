/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_types.h - little-endian integers of the wire, as types of their own.
 *
 * They are byte arrays in structs, so they have no alignment, no padding, and no arithmetic: the
 * compiler refuses to mix them with host integers.
 */
#ifndef BEOWIRE_FRAME_WIRE_TYPES_H
#define BEOWIRE_FRAME_WIRE_TYPES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint8_t bytes[2];
} le16;

typedef struct {
    uint8_t bytes[4];
} le32;

typedef struct {
    uint8_t bytes[8];
} le64;

static inline le16 to_le16(uint16_t value)
{
    le16 wire;
    value = htole16(value);
    memcpy(&wire, &value, sizeof wire);
    return wire;
}

static inline le32 to_le32(uint32_t value)
{
    le32 wire;
    value = htole32(value);
    memcpy(&wire, &value, sizeof wire);
    return wire;
}

static inline le64 to_le64(uint64_t value)
{
    le64 wire;
    value = htole64(value);
    memcpy(&wire, &value, sizeof wire);
    return wire;
}

static inline uint16_t from_le16(le16 wire)
{
    uint16_t value;
    memcpy(&value, &wire, sizeof value);
    return le16toh(value);
}

static inline uint32_t from_le32(le32 wire)
{
    uint32_t value;
    memcpy(&value, &wire, sizeof value);
    return le32toh(value);
}

static inline uint64_t from_le64(le64 wire)
{
    uint64_t value;
    memcpy(&value, &wire, sizeof value);
    return le64toh(value);
}

#endif /* BEOWIRE_FRAME_WIRE_TYPES_H */
