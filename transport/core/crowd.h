/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd.h - when and how a polling thread yields its core to others.
 *
 * Ranks of a job that share a core change only at ticks of the scheduler, every few milliseconds,
 * unless waiting ranks yield. Yielding (sched_yield(2)) costs little, returns at once if no thread
 * wants the core, and among programs that all yield, the core changes within microseconds. But a
 * program that computes keeps the core for a time slice. Then it is better to sleep, because
 * schedulers prefer threads that have slept when their frame comes. The time without the core shows
 * which case it is: after a long time, the thread stops yielding for a while, longer each time.
 * A program that computes between polls does not sleep.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_CORE_CROWD_H
#define BEOWIRE_CORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: no other thread wants the core. */
struct crowd {
    uint64_t until_ns;       /**< until then others probably want the core; 0: they do not */
    uint64_t idle_since_ns;  /**< the first known poll in vain */
    uint64_t look_ns;        /**< when crowd_look() was last called, ... */
    unsigned look_polls;     /**< ... after so many polls */
    uint64_t yield_again_ns; /**< no yielding before that, ... */
    uint64_t yield_pause_ns; /**< ... this long after the core was lost for too long */
    unsigned short_yields;   /**< in a row since then */
};

enum crowd_advice {
    CROWD_POLL,  /**< continue */
    CROWD_YIELD, /**< sched_yield(), then crowd_yielded() */
    CROWD_SLEEP, /**< in the kernel, until a frame comes, then crowd_slept() */
};

/** Must crowd_look() be called? */
static inline bool crowd_is_there(const struct crowd *crowd)
{
    return crowd->until_ns != 0;
}

/** Others have had the core. */
void crowd_noticed(struct crowd *crowd, uint64_t now_ns);

/** What to do next. Call it at every POLLS_PER_CROWDED_LOOKth poll in vain, after the first.
 * @param idle_polls polls in vain in a row */
enum crowd_advice crowd_look(struct crowd *crowd, uint64_t now_ns, unsigned idle_polls);

/** The core was yielded between these times.
 *
 * @return ask the kernel now whether others had it, because it may have been an interrupt */
bool crowd_yielded(struct crowd *crowd, uint64_t gone_ns, uint64_t back_ns);

/** The thread has slept until now. */
void crowd_slept(struct crowd *crowd, uint64_t back_ns);

#endif /* BEOWIRE_CORE_CROWD_H */
