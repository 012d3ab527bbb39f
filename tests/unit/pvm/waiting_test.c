/* SPDX-License-Identifier: BSD-3-Clause */
#include "pvm/waiting.h"
#include "unit/test.h"

#include <stddef.h>

TEST(waiting__polls_a_while_at_first)
{
    const struct waiting waiting = {0};

    assert_false(waiting_is_over(&waiting, 0));
    assert_false(waiting_is_over(&waiting, 999999));
    assert_true(waiting_is_over(&waiting, 1000000));
}

TEST(waiting_came__polling_in_vain_twice_is_enough)
{
    struct waiting waiting = {0};

    waiting_came(&waiting, 5000000, true);
    waiting_came(&waiting, 20000, false);
    waiting_came(&waiting, 5000000, true);
    assert_false(waiting_is_over(&waiting, 0));
    waiting_came(&waiting, 5000000, true);
    assert_true(waiting_is_over(&waiting, 0));
}

/** Sleeps for so long each time. @return is it polled again after that? */
static bool polls_after(struct waiting waiting, uint64_t each_ns)
{
    for (int i = 0; i < 100 && waiting_is_over(&waiting, 0); i++) {
        waiting_came(&waiting, each_ns, true);
    }
    return !waiting_is_over(&waiting, 0);
}

/** As the tasks of a multicast on fewer cores than tasks, and as two on cores of their own. */
TEST(waiting_came__soon_is_sooner_where_others_want_the_core)
{
    struct waiting crowded = {0};
    struct waiting vain = {0};

    waiting_disturbed(&crowded);
    assert_false(polls_after(crowded, 400000));
    assert_true(polls_after(crowded, 90000));
    waiting_came(&vain, 5000000, true);
    waiting_came(&vain, 5000000, true);
    assert_true(waiting_is_over(&vain, 0));
    assert_true(polls_after(vain, 400000));
    assert_false(polls_after(vain, 5000000));
}

TEST(waiting_came__what_comes_soon_is_polled_for_again)
{
    struct waiting waiting = {0};

    waiting_disturbed(&waiting);
    assert_true(waiting_is_over(&waiting, 0));
    for (int i = 0; i < 15; i++) {
        waiting_came(&waiting, 10000, true);
    }
    waiting_came(&waiting, 110000, true); /* not so soon */
    for (int i = 0; i < 15; i++) {
        waiting_came(&waiting, 10000, true);
    }
    assert_true(waiting_is_over(&waiting, 0));
    waiting_came(&waiting, 10000, true);
    assert_false(waiting_is_over(&waiting, 0));
}
