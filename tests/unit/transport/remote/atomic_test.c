/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/atomic.h"
#include "unit/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OPERATIONS (BEOWIRE_ATOMIC_SWAP_MASKED + 1)

/** What becomes of one 64-bit number, and that the old one is told. */
static uint64_t changed(unsigned operation, unsigned type, uint64_t target, uint64_t operand,
                        uint64_t compare)
{
    uint64_t now = target;
    uint64_t old = 0;

    atomic_apply(operation, type,
                 &(struct atomic_arrays){.target = (uint8_t *)&now,
                                         .operand = (const uint8_t *)&operand,
                                         .compare = (const uint8_t *)&compare,
                                         .old = (uint8_t *)&old,
                                         .count = 1});
    uint32_t bytes = atomic_type_bytes(type);
    assert_memory_equal(&old, &target, bytes);
    assert_memory_equal((uint8_t *)&now + bytes, (uint8_t *)&target + bytes, 8 - bytes);
    memset((uint8_t *)&now + bytes, 0, 8 - bytes);
    return now;
}

static double changed_double(unsigned operation, double target, double operand, double compare)
{
    uint64_t bits[3];
    double now = 0;

    memcpy(&bits[0], &target, 8);
    memcpy(&bits[1], &operand, 8);
    memcpy(&bits[2], &compare, 8);
    uint64_t result = changed(operation, BEOWIRE_DOUBLE, bits[0], bits[1], bits[2]);
    memcpy(&now, &result, 8);
    return now;
}

static float changed_float(unsigned operation, float target, float operand, float compare)
{
    uint32_t bits[3];
    float now = 0;

    memcpy(&bits[0], &target, 4);
    memcpy(&bits[1], &operand, 4);
    memcpy(&bits[2], &compare, 4);
    uint32_t result = (uint32_t)changed(operation, BEOWIRE_FLOAT, bits[0], bits[1], bits[2]);
    memcpy(&now, &result, 4);
    return now;
}

TEST(atomic_apply__unsigned)
{
    static const struct {
        unsigned operation;
        uint64_t target, operand, compare, becomes;
    } rows[] = {
        {BEOWIRE_ATOMIC_MIN, 200, 3, 0, 3},
        {BEOWIRE_ATOMIC_MIN, 3, 200, 0, 3},
        {BEOWIRE_ATOMIC_MAX, 200, 3, 0, 200},
        {BEOWIRE_ATOMIC_MAX, 3, 200, 0, 200},
        {BEOWIRE_ATOMIC_SUM, 200, 100, 0, 44},
        {BEOWIRE_ATOMIC_PRODUCT, 20, 20, 0, 144},
        {BEOWIRE_ATOMIC_LOGICAL_OR, 0, 0, 0, 0},
        {BEOWIRE_ATOMIC_LOGICAL_OR, 0, 5, 0, 1},
        {BEOWIRE_ATOMIC_LOGICAL_AND, 4, 2, 0, 1},
        {BEOWIRE_ATOMIC_LOGICAL_AND, 4, 0, 0, 0},
        {BEOWIRE_ATOMIC_LOGICAL_XOR, 4, 2, 0, 0},
        {BEOWIRE_ATOMIC_LOGICAL_XOR, 4, 0, 0, 1},
        {BEOWIRE_ATOMIC_BIT_OR, 12, 10, 0, 14},
        {BEOWIRE_ATOMIC_BIT_AND, 12, 10, 0, 8},
        {BEOWIRE_ATOMIC_BIT_XOR, 12, 10, 0, 6},
        {BEOWIRE_ATOMIC_READ, 12, 10, 0, 12},
        {BEOWIRE_ATOMIC_WRITE, 12, 10, 0, 10},
        {BEOWIRE_ATOMIC_SWAP_EQUAL, 12, 10, 12, 10},
        {BEOWIRE_ATOMIC_SWAP_EQUAL, 12, 10, 13, 12},
        {BEOWIRE_ATOMIC_SWAP_NOT_EQUAL, 12, 10, 12, 12},
        {BEOWIRE_ATOMIC_SWAP_NOT_EQUAL, 12, 10, 13, 10},
        {BEOWIRE_ATOMIC_SWAP_LESS_EQUAL, 12, 10, 12, 10},
        {BEOWIRE_ATOMIC_SWAP_LESS_EQUAL, 12, 10, 13, 12},
        {BEOWIRE_ATOMIC_SWAP_LESS, 12, 10, 12, 12},
        {BEOWIRE_ATOMIC_SWAP_LESS, 12, 10, 11, 10},
        {BEOWIRE_ATOMIC_SWAP_GREATER_EQUAL, 12, 10, 12, 10},
        {BEOWIRE_ATOMIC_SWAP_GREATER_EQUAL, 12, 10, 11, 12},
        {BEOWIRE_ATOMIC_SWAP_GREATER, 12, 10, 12, 12},
        {BEOWIRE_ATOMIC_SWAP_GREATER, 12, 10, 255, 10},
        {BEOWIRE_ATOMIC_SWAP_MASKED, 0xF0, 0x3C, 0x0F, 0xFC},
    };
    bool covered[OPERATIONS] = {false};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        covered[rows[i].operation] = true;
        assert_int_equal(changed(rows[i].operation, BEOWIRE_UINT8, rows[i].target, rows[i].operand,
                                 rows[i].compare),
                         rows[i].becomes);
    }
    for (unsigned i = 0; i < OPERATIONS; i++) {
        assert_true(covered[i]);
    }
}

TEST(atomic_apply__width_and_sign)
{
    static const unsigned types[] = {BEOWIRE_INT8, BEOWIRE_INT16, BEOWIRE_INT32, BEOWIRE_INT64};

    for (unsigned i = 0; i < 4; i++) {
        unsigned bits = 8u << i;
        uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        uint64_t minus = mask - 4; /* -5 */
        unsigned with_sign = types[i];
        unsigned without = with_sign + 1;
        assert_int_equal(atomic_type_bytes(with_sign), bits / 8);
        assert_int_equal(atomic_type_bytes(without), bits / 8);
        assert_int_equal(changed(BEOWIRE_ATOMIC_MIN, with_sign, 3, minus, 0), minus);
        assert_int_equal(changed(BEOWIRE_ATOMIC_MIN, without, 3, minus, 0), 3);
        assert_int_equal(changed(BEOWIRE_ATOMIC_MAX, with_sign, 3, minus, 0), 3);
        assert_int_equal(changed(BEOWIRE_ATOMIC_MAX, without, 3, minus, 0), minus);
        assert_int_equal(changed(BEOWIRE_ATOMIC_SUM, with_sign, 3, minus, 0), mask - 1);
        assert_int_equal(changed(BEOWIRE_ATOMIC_PRODUCT, with_sign, 3, minus, 0), mask - 14);
        assert_int_equal(changed(BEOWIRE_ATOMIC_SUM, with_sign, mask >> 1, 1, 0), (mask >> 1) + 1);
        assert_int_equal(changed(BEOWIRE_ATOMIC_SWAP_LESS, with_sign, 3, 9, minus), 9);
        assert_int_equal(changed(BEOWIRE_ATOMIC_SWAP_LESS, without, 3, 9, minus), 3);
    }
}

TEST(atomic_apply__floating_point)
{
    assert_true(changed_double(BEOWIRE_ATOMIC_SUM, 0.5, 0.25, 0) == 0.75);
    assert_true(changed_double(BEOWIRE_ATOMIC_PRODUCT, 0.5, -3, 0) == -1.5);
    assert_true(changed_double(BEOWIRE_ATOMIC_MIN, 0.5, -3, 0) == -3);
    assert_true(changed_double(BEOWIRE_ATOMIC_MAX, 0.5, -3, 0) == 0.5);
    assert_true(changed_double(BEOWIRE_ATOMIC_LOGICAL_OR, -0.0, 0, 0) == 0);
    assert_true(changed_double(BEOWIRE_ATOMIC_LOGICAL_AND, 0.1, -7, 0) == 1);
    assert_true(changed_double(BEOWIRE_ATOMIC_LOGICAL_XOR, 0.1, -0.0, 0) == 1);
    assert_true(changed_double(BEOWIRE_ATOMIC_SWAP_EQUAL, 0.0, 7, -0.0) == 7);
    assert_true(changed_double(BEOWIRE_ATOMIC_SWAP_EQUAL, __builtin_inf(), 7, __builtin_inf()) ==
                7);
    assert_true(changed_double(BEOWIRE_ATOMIC_SWAP_NOT_EQUAL, 3, 7, __builtin_nan("")) == 7);
    assert_true(changed_double(BEOWIRE_ATOMIC_SWAP_GREATER, 3, 7, 3.5) == 7);
    assert_true(changed_float(BEOWIRE_ATOMIC_SUM, 0.5F, 0.25F, 0) == 0.75F);
    assert_true(changed_float(BEOWIRE_ATOMIC_SUM, 16777216.0F, 1.0F, 0) == 16777216.0F);
    assert_true(changed_float(BEOWIRE_ATOMIC_PRODUCT, 0.1F, 0.1F, 0) == 0.1F * 0.1F);
    assert_true(changed_float(BEOWIRE_ATOMIC_WRITE, 1, 2, 0) == 2);
    assert_true(changed_float(BEOWIRE_ATOMIC_LOGICAL_OR, -0.0F, 0.0F, 0) == 0);
    assert_true(changed_float(BEOWIRE_ATOMIC_LOGICAL_OR, -0.0F, 2.0F, 0) == 1);
}

TEST(atomic_apply__arrays_at_any_alignment)
{
    for (unsigned at = 0; at < 8; at++) {
        _Alignas(8) uint8_t room[3][64] = {{0}};
        uint32_t values[4] = {1, 2, 3, 4};
        uint32_t adds[4] = {10, 20, 30, 40};
        uint32_t sums[4] = {11, 22, 33, 44};
        memcpy(room[0] + at, values, sizeof values);
        memcpy(room[1] + at, adds, sizeof adds);
        atomic_apply(
            BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT32,
            &(struct atomic_arrays){
                .target = room[0] + at, .operand = room[1] + at, .old = room[2] + at, .count = 4});
        assert_memory_equal(room[0] + at, sums, sizeof sums);
        assert_memory_equal(room[2] + at, values, sizeof values);
        assert_int_equal(room[0][at + 16], 0);
    }
}

TEST(atomic_apply__reads_memory_that_cannot_be_written)
{
    static const unsigned types[] = {BEOWIRE_UINT8, BEOWIRE_UINT16, BEOWIRE_UINT32, BEOWIRE_UINT64};
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    for (unsigned i = 0; i < 32; i++) {
        page[i] = (uint8_t)(i + 1);
    }
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    for (unsigned i = 0; i < 8; i++) {
        uint8_t old[16] = {0};
        unsigned at = i / 4; /* aligned, and not */
        atomic_apply(BEOWIRE_ATOMIC_READ, types[i % 4],
                     &(struct atomic_arrays){.target = page + at, .old = old, .count = 2});
        assert_memory_equal(old, page + at, 2 * (size_t)atomic_type_bytes(types[i % 4]));
    }
    assert_int_equal(munmap(page, 4096), 0);
}

#define ROUNDS 20000

static void *add_many(void *counters)
{
    static const uint64_t ones[2] = {1, 1};

    for (unsigned i = 0; i < ROUNDS; i++) {
        atomic_apply(BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT64,
                     &(struct atomic_arrays){
                         .target = counters, .operand = (const uint8_t *)ones, .count = 2});
    }
    return NULL;
}

TEST(atomic_apply__two_threads_on_the_same)
{
    uint64_t counters[2] = {0, 0};
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, add_many, counters), 0);
    (void)add_many(counters);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(counters[0], 2 * ROUNDS);
    assert_int_equal(counters[1], 2 * ROUNDS);
}

TEST(atomic_is_supported__bits_of_integers_only)
{
    for (unsigned type = 0; type < 256; type++) {
        for (unsigned operation = 0; operation < 256; operation++) {
            bool bits = operation == BEOWIRE_ATOMIC_BIT_OR || operation == BEOWIRE_ATOMIC_BIT_AND ||
                        operation == BEOWIRE_ATOMIC_BIT_XOR ||
                        operation == BEOWIRE_ATOMIC_SWAP_MASKED;
            bool real = type == BEOWIRE_FLOAT || type == BEOWIRE_DOUBLE;
            assert_int_equal(atomic_is_supported(operation, type),
                             operation < OPERATIONS && type <= BEOWIRE_DOUBLE && !(bits && real));
        }
        assert_int_equal(atomic_type_bytes(type) == 0, type > BEOWIRE_DOUBLE);
    }
}

TEST(atomic_count_max__of_all_arrays)
{
    assert_int_equal(atomic_count_max(BEOWIRE_ATOMIC_SUM, BEOWIRE_UINT64), 23);
    assert_int_equal(atomic_count_max(BEOWIRE_ATOMIC_READ, BEOWIRE_UINT8), 185);
    assert_int_equal(atomic_count_max(BEOWIRE_ATOMIC_SWAP_EQUAL, BEOWIRE_UINT64), 11);
    assert_int_equal(atomic_count_max(BEOWIRE_ATOMIC_BIT_OR, BEOWIRE_DOUBLE), 0);
    assert_int_equal(atomic_count_max(OPERATIONS, BEOWIRE_UINT8), 0);
}
