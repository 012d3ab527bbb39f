/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd.h - when a thread that polls gives its core to others that want it, and how.
 *
 * Ranks of a job that share a core hand it to one another only at ticks of the scheduler, every few
 * milliseconds, unless those that wait give it away. Yielding (sched_yield(2)) costs little, is
 * over at once if nobody wants the core, and among programs that all yield the core goes around in
 * microseconds. But whoever computes and never waits keeps it for a time slice; then it is better
 * to sleep, for schedulers favour those who have slept when their frame comes. Which it is shows in
 * how long the core was away: after a long time nobody yields for a while, each time longer.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_CROWD_H
#define BEOWIRE_CORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: nobody else wants the core. */
struct crowd {
    uint64_t until_ns;       /**< others are taken to want it until then; 0: they do not */
    uint64_t idle_since_ns;  /**< the first of the polls in vain, as far as was looked */
    uint64_t look_ns;        /**< when crowd_look() looked last, ... */
    unsigned look_polls;     /**< ... after so many polls */
    uint64_t yield_again_ns; /**< no yielding before that, ... */
    uint64_t yield_pause_ns; /**< ... so long after the core was away for too long */
    unsigned short_yields;   /**< in a row since then */
};

enum crowd_advice {
    CROWD_POLL,  /**< go on */
    CROWD_YIELD, /**< sched_yield(), then crowd_yielded() */
    CROWD_SLEEP, /**< in the kernel, until a frame comes, then crowd_slept() */
};

/** Is it of any use to look? */
static inline bool crowd_is_there(const struct crowd *crowd)
{
    return crowd->until_ns != 0;
}

/** Others have had the core. */
void crowd_noticed(struct crowd *crowd, uint64_t now_ns);

/** What now? To be asked at every POLLS_PER_CROWDED_LOOKth poll that finds nothing, after the
 *  first.
 * @param idle_polls polls in a row that have found nothing */
enum crowd_advice crowd_look(struct crowd *crowd, uint64_t now_ns, unsigned idle_polls);

/** Others could have the core between these times.
 *
 * @return ask the kernel now whether they had it: that may also have been an interrupt, and it is
 *         time to know */
bool crowd_yielded(struct crowd *crowd, uint64_t gone_ns, uint64_t back_ns);

/** Others could have it until now. */
void crowd_slept(struct crowd *crowd, uint64_t back_ns);

#endif /* BEOWIRE_CORE_CROWD_H */
