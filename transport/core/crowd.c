/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd.h"

#include "tuning.h"

void crowd_noticed(struct crowd *crowd, uint64_t now_ns)
{
    crowd->until_ns = now_ns + POLL_CROWDED_NS;
}

enum crowd_advice crowd_look(struct crowd *crowd, uint64_t now_ns, unsigned idle_polls)
{
    uint64_t since_look_ns = now_ns - crowd->look_ns;
    unsigned polls = idle_polls - crowd->look_polls;

    crowd->look_ns = now_ns;
    crowd->look_polls = idle_polls;
    if (now_ns >= crowd->until_ns) {
        crowd->until_ns = 0;
        return CROWD_POLL;
    }
    if (polls != POLLS_PER_CROWDED_LOOK) { /* others than those after the last look */
        crowd->idle_since_ns = now_ns;
        return CROWD_POLL;
    }
    uint64_t idle_ns = now_ns - crowd->idle_since_ns;
    if (now_ns >= crowd->yield_again_ns) {
        return idle_ns >= POLL_YIELD_AFTER_NS ? CROWD_YIELD : CROWD_POLL;
    }
    if (since_look_ns >= (uint64_t)POLLS_PER_CROWDED_LOOK * POLL_WORK_APART_NS) {
        crowd->idle_since_ns = now_ns;
    }
    return since_look_ns >= (uint64_t)POLLS_PER_CROWDED_LOOK * POLL_FAR_APART_NS &&
                   now_ns - crowd->idle_since_ns >= POLL_FAR_SLEEP_AFTER_NS
               ? CROWD_SLEEP
               : CROWD_POLL;
}

bool crowd_yielded(struct crowd *crowd, uint64_t gone_ns, uint64_t back_ns)
{
    uint64_t away_ns = back_ns - gone_ns;

    crowd->look_ns = back_ns; /* that was not between polls */
    if (away_ns >= YIELD_LONG_NS) {
        uint64_t pause_ns = 2 * crowd->yield_pause_ns;
        pause_ns = pause_ns < YIELD_PAUSE_MIN_NS ? YIELD_PAUSE_MIN_NS : pause_ns;
        crowd->yield_pause_ns = pause_ns < YIELD_PAUSE_MAX_NS ? pause_ns : YIELD_PAUSE_MAX_NS;
        crowd->yield_again_ns = back_ns + crowd->yield_pause_ns;
        crowd->short_yields = 0;
        return false;
    }
    if (away_ns < YIELD_TAKEN_NS) {
        return false;
    }
    if (++crowd->short_yields >= YIELD_SHORT_MIN) {
        crowd->yield_pause_ns = 0;
    }
    return crowd->until_ns < back_ns + POLL_CROWDED_NS / 2;
}

void crowd_slept(struct crowd *crowd, uint64_t back_ns)
{
    crowd->look_ns = back_ns;
    crowd->idle_since_ns = back_ns;
}
