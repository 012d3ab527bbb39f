/* SPDX-License-Identifier: BSD-3-Clause */
#include "waiting.h"

/* A task that has had a message of a few megabytes answers after copying it, which takes hundreds
 * of microseconds: it is polled for longer than that. */
#define POLL_NS UINT64_C(1000000)

/* About what a sleep and a wake-up take, several times over: where others want the core, it is
 * worth it only to poll for what comes so soon. */
#define CROWDED_POLL_NS UINT64_C(100000)

/* So many waits in a row change it. */
#define VAIN_WAITS 2
#define SOON_WAITS 16

void waiting_came(struct waiting *waiting, uint64_t after_ns, bool slept)
{
    /* What comes so soon would have been polled for: also where both sleep, and each wakes the
     * other. */
    const uint64_t soon_ns = waiting->crowded ? CROWDED_POLL_NS : POLL_NS;
    const bool contrary = waiting->sleeps ? after_ns <= soon_ns : slept;

    waiting->contrary = contrary ? waiting->contrary + 1 : 0;
    if (waiting->contrary >= (waiting->sleeps ? SOON_WAITS : VAIN_WAITS)) {
        *waiting = (struct waiting){.sleeps = !waiting->sleeps};
    }
}

void waiting_disturbed(struct waiting *waiting)
{
    *waiting = (struct waiting){.sleeps = true, .crowded = true};
}

bool waiting_is_over(const struct waiting *waiting, uint64_t idle_ns)
{
    return waiting->sleeps || idle_ns >= POLL_NS;
}
