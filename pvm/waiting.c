/* SPDX-License-Identifier: BSD-3-Clause */
#include "waiting.h"

/* A task that has had a message of a few megabytes answers after copying it, which takes hundreds
 * of microseconds: it is polled for longer than that. */
#define POLL_NS UINT64_C(1000000)

/* Several times the cost of a sleep and a wake-up: where others want the core, polling pays only
 * for messages within this time. */
#define CROWDED_POLL_NS UINT64_C(100000)

/* Waits in a row that change the way. */
#define VAIN_WAITS 2
#define SOON_WAITS 16

void waiting_came(struct waiting *waiting, uint64_t after_ns, bool slept)
{
    /* Polling would have found it: also where both sleep, and each wakes the other. */
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
