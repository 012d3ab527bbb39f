/* SPDX-License-Identifier: BSD-3-Clause */
#include "waiting.h"

/* About what a sleep and a wake-up take, several times over. */
#define SPIN_NS UINT64_C(100000)

#define SLEEPS_MIN 4u
#define SLEEPS_MAX 256u

void waiting_begin(struct waiting *waiting)
{
    waiting->sleeps -= waiting->sleeps > 0 ? 1 : 0;
}

void waiting_disturbed(struct waiting *waiting)
{
    const unsigned more = waiting->more < SLEEPS_MIN ? SLEEPS_MIN : waiting->more;

    waiting->sleeps = more + 1; /* and what is left of this one */
    waiting->more = more * 2 < SLEEPS_MAX ? more * 2 : SLEEPS_MAX;
}

void waiting_undisturbed(struct waiting *waiting)
{
    if (waiting->sleeps == 0) {
        waiting->more = SLEEPS_MIN;
    }
}

uint64_t waiting_spin_ns(const struct waiting *waiting)
{
    return waiting->sleeps > 0 ? 0 : SPIN_NS;
}
