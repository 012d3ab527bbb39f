/* SPDX-License-Identifier: BSD-3-Clause */
#include "copies.h"

#include "../engine/testing.h"

#define AREA_BYTES 300
#define MARK 0xA5

typedef void copy_function(uint8_t *target, const uint8_t *source, uint64_t bytes);

/* Every length and alignment up to some vectors: what is asked for is copied, and nothing else. */
static void copies_exactly(copy_function *copy)
{
    uint8_t source[AREA_BYTES];
    uint8_t target[AREA_BYTES];
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t start = 0; start < 20; start++) {
        for (size_t from = 0; from < 3; from++) {
            for (size_t bytes = 0; bytes < 100; bytes++) {
                memset(target, MARK, sizeof target);
                copy(target + start, source + from, bytes);
                assert_memory_equal(target + start, source + from, bytes);
                for (size_t i = 0; i < sizeof target; i++) {
                    if (i < start || i >= start + bytes) {
                        assert_int_equal(target[i], MARK);
                    }
                }
            }
        }
    }
}

static void bytes__every_length_and_alignment(void **state)
{
    copies_exactly(copy_bytes);
}

#if COPIES_ON_X86
static void movsb__every_length_and_alignment(void **state)
{
    copies_exactly(copy_movsb);
}

static void nontemporal__every_length_and_alignment(void **state)
{
    copies_exactly(copy_nontemporal);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes__every_length_and_alignment),
#if COPIES_ON_X86
        cmocka_unit_test(movsb__every_length_and_alignment),
        cmocka_unit_test(nontemporal__every_length_and_alignment),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
