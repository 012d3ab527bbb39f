/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/atomic.h"

#include "frame/frame.h"

#include <string.h>

/** The bits of an element, in the low bytes. */
typedef uint64_t element;

static const uint8_t type_bytes[] = {
    [BEOWIRE_INT8] = 1,  [BEOWIRE_UINT8] = 1,  [BEOWIRE_INT16] = 2, [BEOWIRE_UINT16] = 2,
    [BEOWIRE_INT32] = 4, [BEOWIRE_UINT32] = 4, [BEOWIRE_INT64] = 8, [BEOWIRE_UINT64] = 8,
    [BEOWIRE_FLOAT] = 4, [BEOWIRE_DOUBLE] = 8,
};

uint32_t atomic_type_bytes(unsigned type)
{
    return type < sizeof type_bytes ? type_bytes[type] : 0;
}

bool atomic_is_supported(unsigned operation, unsigned type)
{
    bool on_bits = operation == BEOWIRE_ATOMIC_BIT_OR || operation == BEOWIRE_ATOMIC_BIT_AND ||
                   operation == BEOWIRE_ATOMIC_BIT_XOR || operation == BEOWIRE_ATOMIC_SWAP_MASKED;

    return operation <= BEOWIRE_ATOMIC_SWAP_MASKED && type < sizeof type_bytes &&
           !(on_bits && type >= BEOWIRE_FLOAT);
}

/** Payload of the shortest ATOMIC possible on any connection: if one end has a lane that cuts,
 *  other frames may be shorter than DATA by its header (docs/PROTOCOL.md, Connection). */
#define PAYLOAD_BYTES                                                                              \
    (FRAME_BYTES_MIN + 1 - (uint32_t)sizeof(struct frame_data) -                                   \
     (uint32_t)sizeof(struct frame_header) - (uint32_t)sizeof(struct frame_atomic))

uint32_t atomic_count_max(unsigned operation, unsigned type)
{
    uint32_t arrays = atomic_has_compare(operation) ? 2 : 1;

    return atomic_is_supported(operation, type) ? PAYLOAD_BYTES / (arrays * atomic_type_bytes(type))
                                                : 0;
}

static element load(const uint8_t *from, uint32_t bytes)
{
    uint8_t one = 0;
    uint16_t two = 0;
    uint32_t four = 0;
    element eight = 0;

    switch (bytes) {
    case 1:
        memcpy(&one, from, sizeof one);
        return one;
    case 2:
        memcpy(&two, from, sizeof two);
        return two;
    case 4:
        memcpy(&four, from, sizeof four);
        return four;
    default:
        memcpy(&eight, from, sizeof eight);
        return eight;
    }
}

static void store(uint8_t *to, uint32_t bytes, element value)
{
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;

    switch (bytes) {
    case 1:
        memcpy(to, &one, sizeof one);
        break;
    case 2:
        memcpy(to, &two, sizeof two);
        break;
    case 4:
        memcpy(to, &four, sizeof four);
        break;
    default:
        memcpy(to, &value, sizeof value);
        break;
    }
}

static bool is_aligned(const uint8_t *at, uint32_t bytes)
{
    return ((uintptr_t)at & (bytes - 1)) == 0;
}

/** Reads an element at one moment, without writing, because the memory may be read-only. */
static element peek(const uint8_t *at, uint32_t bytes)
{
    if (!is_aligned(at, bytes)) {
        return load(at, bytes);
    }
    switch (bytes) {
    case 1:
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case 2:
        return __atomic_load_n((const uint16_t *)(const void *)at, __ATOMIC_SEQ_CST);
    case 4:
        return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_SEQ_CST);
    default:
        return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_SEQ_CST);
    }
}

/** Stores `value` if the element is `expected`. @return false: it is not, and is now in
 *  `expected`. */
static bool exchange(uint8_t *at, uint32_t bytes, element *expected, element value)
{
    uint8_t one = (uint8_t)*expected;
    uint16_t two = (uint16_t)*expected;
    uint32_t four = (uint32_t)*expected;
    bool done = false;

    if (!is_aligned(at, bytes)) { /* not every processor has unaligned atomic instructions */
        store(at, bytes, value);
        return true;
    }
    switch (bytes) {
    case 1:
        done = __atomic_compare_exchange_n(at, &one, (uint8_t)value, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
        *expected = one;
        break;
    case 2:
        done = __atomic_compare_exchange_n((uint16_t *)(void *)at, &two, (uint16_t)value, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = two;
        break;
    case 4:
        done = __atomic_compare_exchange_n((uint32_t *)(void *)at, &four, (uint32_t)value, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = four;
        break;
    default:
        done = __atomic_compare_exchange_n((uint64_t *)(void *)at, expected, value, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        break;
    }
    return done;
}

/** An integer extended to 64 bits. */
static int64_t widened(element value, unsigned type)
{
    switch (type) {
    case BEOWIRE_INT8:
        return (int8_t)value;
    case BEOWIRE_INT16:
        return (int16_t)value;
    case BEOWIRE_INT32:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

static double real(element value, unsigned type)
{
    uint32_t bits = (uint32_t)value;
    float narrow = 0;
    double wide = 0;

    if (type == BEOWIRE_FLOAT) {
        memcpy(&narrow, &bits, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&wide, &value, sizeof wide);
    return wide;
}

/** Sums and products of floats are as exact in doubles, rounded to floats, as in floats. */
static element real_bits(double value, unsigned type)
{
    float narrow = (float)value;
    uint32_t bits = 0;
    element wide = 0;

    if (type == BEOWIRE_FLOAT) {
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    memcpy(&wide, &value, sizeof wide);
    return wide;
}

/** How two values compare. All are false if one is not a number. */
struct order {
    bool less;
    bool equal;
    bool greater;
};

static struct order compare(unsigned type, element a, element b)
{
    if (type >= BEOWIRE_FLOAT) {
        double x = real(a, type);
        double y = real(b, type);
        return (struct order){.less = x < y, .equal = x <= y && x >= y, .greater = x > y};
    }
    if (type == BEOWIRE_UINT8 || type == BEOWIRE_UINT16 || type == BEOWIRE_UINT32 ||
        type == BEOWIRE_UINT64) {
        return (struct order){.less = a<b, .equal = a == b, .greater = a> b};
    }
    int64_t x = widened(a, type);
    int64_t y = widened(b, type);
    return (struct order){.less = x<y, .equal = x == y, .greater = x> y};
}

static bool is_true(unsigned type, element value)
{
    /* Both zeros of floating-point numbers are false; they differ in the sign bit. */
    if (type == BEOWIRE_FLOAT) {
        return (value & 0x7FFFFFFF) != 0;
    }
    return type == BEOWIRE_DOUBLE ? value << 1 != 0 : value != 0;
}

static element truth(unsigned type, bool value)
{
    return type >= BEOWIRE_FLOAT ? real_bits(value ? 1 : 0, type) : value;
}

static element sum(unsigned type, element a, element b)
{
    return type >= BEOWIRE_FLOAT ? real_bits(real(a, type) + real(b, type), type) : a + b;
}

static element product(unsigned type, element a, element b)
{
    return type >= BEOWIRE_FLOAT ? real_bits(real(a, type) * real(b, type), type) : a * b;
}

/** The new value of the element `target`. */
static element changed(unsigned operation, unsigned type, element target, element operand,
                       element compared)
{
    struct order order = compare(type, compared, target);

    switch ((enum beowire_atomic_operation)operation) {
    case BEOWIRE_ATOMIC_MIN:
        return compare(type, operand, target).less ? operand : target;
    case BEOWIRE_ATOMIC_MAX:
        return compare(type, operand, target).greater ? operand : target;
    case BEOWIRE_ATOMIC_SUM:
        return sum(type, target, operand);
    case BEOWIRE_ATOMIC_PRODUCT:
        return product(type, target, operand);
    case BEOWIRE_ATOMIC_LOGICAL_OR:
        return truth(type, is_true(type, target) || is_true(type, operand));
    case BEOWIRE_ATOMIC_LOGICAL_AND:
        return truth(type, is_true(type, target) && is_true(type, operand));
    case BEOWIRE_ATOMIC_LOGICAL_XOR:
        return truth(type, is_true(type, target) != is_true(type, operand));
    case BEOWIRE_ATOMIC_BIT_OR:
        return target | operand;
    case BEOWIRE_ATOMIC_BIT_AND:
        return target & operand;
    case BEOWIRE_ATOMIC_BIT_XOR:
        return target ^ operand;
    case BEOWIRE_ATOMIC_READ:
        return target;
    case BEOWIRE_ATOMIC_WRITE:
        return operand;
    case BEOWIRE_ATOMIC_SWAP_EQUAL:
        return order.equal ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_NOT_EQUAL:
        return !order.equal ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_LESS_EQUAL:
        return order.less || order.equal ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_LESS:
        return order.less ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_GREATER_EQUAL:
        return order.greater || order.equal ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_GREATER:
        return order.greater ? operand : target;
    case BEOWIRE_ATOMIC_SWAP_MASKED:
        return (operand & compared) | (target & ~compared);
    }
    return target;
}

void atomic_apply(unsigned operation, unsigned type, const struct atomic_arrays *arrays)
{
    uint32_t bytes = atomic_type_bytes(type);

    for (uint32_t i = 0; i < arrays->count; i++) {
        size_t at = (size_t)i * bytes;
        element operand = arrays->operand != NULL ? load(arrays->operand + at, bytes) : 0;
        element compared = arrays->compare != NULL ? load(arrays->compare + at, bytes) : 0;
        element target = peek(arrays->target + at, bytes);
        while (operation != BEOWIRE_ATOMIC_READ &&
               !exchange(arrays->target + at, bytes, &target,
                         changed(operation, type, target, operand, compared))) {
            /* another thread was faster */
        }
        if (arrays->old != NULL) {
            store(arrays->old + at, bytes, target);
        }
    }
}
