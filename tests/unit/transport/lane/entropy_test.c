/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/entropy.h"

#include "refused.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define BYTES 1000

/** Two that are as good as never the same. */
static bool are_random(void)
{
    static uint8_t rooms[2][BYTES];

    return entropy_fill(rooms[0], BYTES) == 0 && entropy_fill(rooms[1], BYTES) == 0 &&
           memcmp(rooms[0], rooms[1], BYTES) != 0 &&
           memcmp(rooms[0] + BYTES - 16, rooms[1] + BYTES - 16, 16) != 0;
}

static bool is_said(void)
{
    uint8_t room[16];

    return entropy_fill(room, sizeof room) == -EACCES;
}

TEST(entropy_fill__all_of_it)
{
    assert_true(are_random());
}

TEST(entropy_fill__without_getrandom)
{
    const struct refused old = {SYS_getrandom, ENOSYS, 0, 0};
    const struct refused sandbox = {SYS_getrandom, EPERM, 0, 0};

    assert_true_without(&old, 1, are_random);
    assert_true_without(&sandbox, 1, are_random);
}

TEST(entropy_fill__says_that_there_is_none)
{
    const struct refused both[] = {{SYS_getrandom, ENOSYS, 0, 0}, {SYS_openat, EACCES, 0, 0}};

    assert_true_without(both, 2, is_said);
}
