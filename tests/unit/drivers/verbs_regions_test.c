/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_regions.h"

#include <errno.h>

#include "../engine/testing.h"

/* The device: what is registered, and forgotten. */
static struct ibv_mr known[2 * VERBS_REGIONS];
static size_t registered;
static size_t forgotten;
static int refuses; /* errno of the next registration */

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    assert_int_equal(iova, (uintptr_t)addr);
    if (refuses != 0) {
        errno = refuses;
        return NULL;
    }
    known[registered] = (struct ibv_mr){.pd = pd, .addr = addr, .length = length};
    return &known[registered++];
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    assert_non_null(mr);
    forgotten++;
    return 0;
}

static uint8_t memory[VERBS_REGIONS + 10][64];

static int set_up(void **state)
{
    static struct verbs_regions regions;
    regions = (struct verbs_regions){0};
    registered = 0;
    forgotten = 0;
    refuses = 0;
    *state = &regions;
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct verbs_regions *regions, name, set_up, NULL)

FIXTURE_TEST(use__part_of_what_is_kept_is_known)
{
    assert_int_equal(verbs_regions_keep(regions, memory, sizeof memory[0]), 0);
    struct verbs_region *region = verbs_regions_use(regions, memory[0] + 8, 56);
    assert_non_null(region);
    assert_int_equal(registered, 1);
    verbs_regions_release(region);
    verbs_regions_forget(regions);
    assert_int_equal(forgotten, 0);
    verbs_regions_close(regions);
    assert_int_equal(forgotten, 1);
}

FIXTURE_TEST(use__what_reaches_beyond_is_registered_as_it_is)
{
    assert_int_equal(verbs_regions_keep(regions, memory, 32), 0);
    assert_non_null(verbs_regions_use(regions, memory[0] + 8, 25));
    assert_int_equal(registered, 2);
    assert_ptr_equal(known[1].addr, memory[0] + 8);
    assert_int_equal(known[1].length, 25);
    assert_non_null(verbs_regions_use(regions, memory[0] + 8, 25));
    assert_int_equal(registered, 2);
}

FIXTURE_TEST(forget__not_what_is_in_use)
{
    struct verbs_region *used = verbs_regions_use(regions, memory[0], 64);
    struct verbs_region *idle = verbs_regions_use(regions, memory[1], 64);
    verbs_regions_release(idle);
    verbs_regions_forget(regions);
    assert_int_equal(forgotten, 1);
    assert_null(idle->registered);
    verbs_regions_release(used);
    verbs_regions_forget(regions);
    assert_int_equal(forgotten, 2);
}

FIXTURE_TEST(use__the_one_that_was_longest_not_used_makes_room)
{
    for (size_t i = 0; i < VERBS_REGIONS; i++) {
        verbs_regions_release(verbs_regions_use(regions, memory[i], 64));
    }
    verbs_regions_release(verbs_regions_use(regions, memory[0], 64));
    assert_int_equal(forgotten, 0);
    assert_non_null(verbs_regions_use(regions, memory[VERBS_REGIONS], 64));
    assert_int_equal(forgotten, 1);
    const size_t before = registered;
    assert_non_null(verbs_regions_use(regions, memory[0], 64));
    assert_int_equal(registered, before); /* the second oldest went */
    assert_non_null(verbs_regions_use(regions, memory[1], 64));
    assert_int_equal(registered, before + 1);
}

FIXTURE_TEST(use__all_in_use)
{
    for (size_t i = 0; i < VERBS_REGIONS; i++) {
        assert_non_null(verbs_regions_use(regions, memory[i], 64));
    }
    errno = 0;
    assert_null(verbs_regions_use(regions, memory[VERBS_REGIONS], 64));
    assert_int_equal(errno, ENOBUFS);
}

FIXTURE_TEST(keep__a_device_that_refuses)
{
    refuses = ENOMEM;
    assert_int_equal(verbs_regions_keep(regions, memory, 64), -ENOMEM);
    assert_null(verbs_regions_use(regions, memory, 64));
    assert_int_equal(errno, ENOMEM);
    verbs_regions_close(regions);
    assert_int_equal(forgotten, 0);
}
