/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/window_set.h"
#include "unit/test.h"

#include <stddef.h>

static const uint32_t begins[] = {0, 1, 63, 64, 65, 200, 255, 256, 0xFFFFFF80, 0xFFFFFFFF};

#define BEGINS (sizeof begins / sizeof *begins)

TEST(window_set_add__and_remove_each)
{
    for (uint32_t i = 0; i < FLOW_WINDOW_FRAMES; i++) {
        struct window_set set = {{0}};
        window_set_add(&set, 1000 + i);
        for (uint32_t j = 0; j < FLOW_WINDOW_FRAMES; j++) {
            assert_int_equal(window_set_has(&set, 1000 + j), i == j);
        }
        window_set_remove(&set, 1000 + i);
        assert_false(window_set_has(&set, 1000 + i));
    }
}

TEST(window_set_next__finds_the_members_in_order)
{
    for (size_t i = 0; i < BEGINS; i++) {
        for (uint32_t step = 1; step < FLOW_WINDOW_FRAMES; step++) {
            struct window_set set = {{0}};
            uint32_t end = begins[i] + FLOW_WINDOW_FRAMES;
            for (uint32_t at = 0; at < FLOW_WINDOW_FRAMES; at += step) {
                window_set_add(&set, begins[i] + at);
            }
            uint32_t found = begins[i];
            for (uint32_t at = 0; at < FLOW_WINDOW_FRAMES; at += step) {
                found = window_set_next(&set, found, end);
                assert_int_equal(found, begins[i] + at);
                found++;
            }
            assert_int_equal(window_set_next(&set, found, end), end);
        }
    }
}

TEST(window_set_next__not_beyond_the_end)
{
    struct window_set set = {{0}};

    window_set_add(&set, 70);
    assert_int_equal(window_set_next(&set, 10, 70), 70);
    assert_int_equal(window_set_next(&set, 10, 71), 70);
    assert_int_equal(window_set_next(&set, 70, 70), 70);
    assert_int_equal(window_set_next(&set, 10, 60), 60);
    assert_int_equal(window_set_next(&set, 71, 200), 200);
}

TEST(window_set_to_wire__bit_i_is_begin_and_i)
{
    for (size_t i = 0; i < BEGINS; i++) {
        for (uint32_t bit = 0; bit < FLOW_WINDOW_FRAMES; bit++) {
            struct window_set set = {{0}};
            uint8_t wire[FLOW_WINDOW_FRAMES / 8];
            window_set_add(&set, begins[i] + bit);
            window_set_to_wire(&set, begins[i], wire);
            for (uint32_t at = 0; at < sizeof wire; at++) {
                assert_int_equal(wire[at], at == bit / 8 ? 1u << bit % 8 : 0);
            }
            struct window_set back = window_set_from_wire(wire, begins[i]);
            assert_memory_equal(&back, &set, sizeof set);
        }
    }
}
