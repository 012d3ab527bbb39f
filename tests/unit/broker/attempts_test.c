/* SPDX-License-Identifier: BSD-3-Clause */
#include "test.h"

#include "attempts.h"

#define MOST 10
#define STEP_NS (ATTEMPTS_WITHIN_NS / MOST)
#define NOW_NS UINT64_C(5000000000)

static unsigned spend(struct attempts *attempts, uid_t user, uint64_t now_ns)
{
    unsigned count = 0;

    while (count <= MOST && attempts_allow(attempts, user, now_ns)) {
        count++;
    }
    return count;
}

TEST(attempts_allow__all_at_once__then_one_by_one)
{
    struct attempts attempts = {.most = MOST};

    assert_int_equal(spend(&attempts, 7, NOW_NS), MOST);
    assert_int_equal(spend(&attempts, 7, NOW_NS + STEP_NS - 1), 0);
    assert_int_equal(spend(&attempts, 7, NOW_NS + STEP_NS), 1);
    assert_int_equal(spend(&attempts, 7, NOW_NS + ATTEMPTS_WITHIN_NS), MOST - 1);
}

TEST(attempts_allow__another_user__has_his_own)
{
    struct attempts attempts = {.most = MOST};

    assert_int_equal(spend(&attempts, 7, NOW_NS), MOST);
    assert_int_equal(spend(&attempts, 0, NOW_NS), MOST);
    assert_int_equal(spend(&attempts, 7, NOW_NS), 0);
}

TEST(attempts_allow__more_users_than_room__forgets_those_who_ask_seldom)
{
    struct attempts attempts = {.most = MOST};

    assert_int_equal(spend(&attempts, 7, NOW_NS), MOST);
    for (uid_t user = 1000; user < 1000 + 2 * ATTEMPTS_USERS; user++) {
        assert_true(attempts_allow(&attempts, user, NOW_NS));
    }
    assert_int_equal(spend(&attempts, 7, NOW_NS), 0);
}
