/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_fake.h"

static uint8_t bytes[1 << 20];
static struct ibv_pd domains[2];

static struct verbs_memory *open_memory(void)
{
    static struct verbs_memory memory;

    memory = (struct verbs_memory){.library = &fake_library};
    return &memory;
}

/** Each time by another address, as far in its page as the true one. */
FAKE_TEST(verbs_memory_lend__by_addresses_that_are_made_up)
{
    struct verbs_memory *memory = open_memory();
    uint64_t before = 0;

    for (unsigned i = 0; i < 40; i++) {
        uint64_t lent = verbs_memory_lend(memory, &domains[0], bytes + i, sizeof bytes - i);
        assert_true(lent != 0 && lent != before);
        assert_int_equal(verbs_lent_address(lent) % 65536, (uintptr_t)(bytes + i) % 65536);
        assert_int_equal(verbs_lent_key(lent), fake.regions[1].region.rkey);
        assert_int_equal(fake.regions[1].address, verbs_lent_address(lent));
        assert_int_equal(memory->bytes, sizeof bytes - i);
        verbs_memory_take_back(memory, lent);
        verbs_memory_take_back(memory, lent); /* it is not, any more */
        before = lent;
    }
    assert_int_equal(memory->bytes, 0);
}

FAKE_TEST(verbs_memory_lend__so_many)
{
    struct verbs_memory *memory = open_memory();
    uint64_t lent[LANE_VERBS_REGISTRATIONS];

    for (unsigned i = 0; i < LANE_VERBS_REGISTRATIONS; i++) {
        lent[i] = verbs_memory_lend(memory, &domains[i % 2], bytes, 100);
        assert_true(lent[i] != 0);
    }
    assert_int_equal(verbs_memory_lend(memory, &domains[0], bytes, 100), 0);
    assert_null(verbs_memory_open(memory, &domains[0], bytes, 100));
    verbs_memory_take_back(memory, lent[7]);
    struct verbs_registration *one = verbs_memory_open(memory, &domains[0], bytes, 100);
    assert_non_null(one);
    verbs_memory_take_all_back(memory, &domains[0]);
    assert_int_equal(memory->bytes, 100 * (LANE_VERBS_REGISTRATIONS / 2 - 1 + 1));
    verbs_memory_take_all_back(memory, &domains[1]);
    assert_int_equal(memory->bytes, 100); /* what is read into is not lent */
    verbs_memory_end(memory, one);
    assert_int_equal(memory->bytes, 0);
}

FAKE_TEST(verbs_memory_lend__so_much)
{
    struct verbs_memory *memory = open_memory();
    uint64_t most = verbs_memory_lend(memory, &domains[0], bytes, LANE_VERBS_REGISTERED_BYTES - 1);

    assert_true(most != 0);
    assert_int_equal(verbs_memory_lend(memory, &domains[0], bytes, 2), 0);
    assert_int_equal(verbs_memory_lend(memory, &domains[0], bytes, 0), 0);
    uint64_t last = verbs_memory_lend(memory, &domains[0], bytes, 1);
    assert_true(last != 0);
    verbs_memory_take_all_back(memory, &domains[0]);
    assert_int_equal(verbs_memory_lend(memory, &domains[0], bytes, LANE_VERBS_REGISTERED_BYTES + 1),
                     0);
}

FAKE_TEST(verbs_memory_lend__the_device_refuses)
{
    struct verbs_memory *memory = open_memory();

    fake.fails = "reg_mr_iova";
    assert_int_equal(verbs_memory_lend(memory, &domains[0], bytes, 100), 0);
    fake.fails = "reg_mr";
    assert_null(verbs_memory_open(memory, &domains[0], bytes, 100));
    assert_int_equal(memory->bytes, 0);
}
