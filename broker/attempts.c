/* SPDX-License-Identifier: BSD-3-Clause */
#include "attempts.h"

/** The user's row: if there is none, the one that matters least. */
static struct attempts_user *row_of(struct attempts *attempts, uid_t user)
{
    struct attempts_user *least = &attempts->users[0];

    for (unsigned i = 0; i < ATTEMPTS_USERS; i++) {
        struct attempts_user *row = &attempts->users[i];

        if (row->spent_until_ns > 0 && row->user == user) {
            return row;
        }
        if (row->spent_until_ns < least->spent_until_ns) {
            least = row;
        }
    }
    *least = (struct attempts_user){.user = user};
    return least;
}

bool attempts_allow(struct attempts *attempts, uid_t user, uint64_t now_ns)
{
    struct attempts_user *row = row_of(attempts, user);
    uint64_t from_ns = row->spent_until_ns > now_ns ? row->spent_until_ns : now_ns;
    uint64_t until_ns = from_ns + ATTEMPTS_WITHIN_NS / attempts->most;

    if (until_ns > now_ns + ATTEMPTS_WITHIN_NS) {
        return false;
    }
    row->spent_until_ns = until_ns;
    return true;
}
