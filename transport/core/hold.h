/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.h - when posted messages may wait for more to be posted.
 *
 * Usually a message leaves at once. Several that leave together cost less, but a message may wait
 * only while the next one is certain to come at once: in a run of posts with at most HOLD_GAP_NS of
 * the application's own time between them (time in our calls does not count, up to HOLD_NEAR_NS in
 * all). The first `run_min` of a run leave at once; later ones are held back, for at most HOLD_NS.
 * Held messages leave as soon as the run is found to have ended: at the next post, when the
 * application has polled a few times in vain or is about to sleep, or, if it computes, by the
 * keeper. Unacknowledged messages alone are no reason to hold any back, because the peer may be
 * computing (the flaw of Nagle's algorithm, RFC 896).
 *
 * If an application computes after its runs, the keeper sends its last messages late. Then longer
 * runs leave at once, until enough ends of runs were noticed in time.
 *
 * Pure; the time is an argument. One thread.
 */
#ifndef BEOWIRE_CORE_HOLD_H
#define BEOWIRE_CORE_HOLD_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct hold {
    uint64_t posted_ns; /**< when the last post ended, or began, if `left_ns` is 0 */
    uint64_t left_ns;   /**< when the last post or poll ended; 0: not measured */
    uint64_t since_ns;  /**< when the oldest held message was posted */
    uint32_t run;       /**< posts in a row before the last one */
    uint32_t run_least; /**< so many leave at once, */
    uint32_t run_min;   /**< or so many, as learnt */
    uint32_t polls;     /**< polls in vain since the last post */
    bool turned_away;   /**< the last post found no room, and will be repeated */
    bool over;          /**< the run has ended, and nothing was posted since */
    uint32_t in_time;   /**< ends of runs in a row that were noticed in time */
};

/** @param run_least at least so many posts of each run leave at once */
static inline void hold_init(struct hold *hold, uint32_t run_least)
{
    *hold = (struct hold){.run_least = run_least, .run_min = run_least};
}

/** Have at most `most_ns` passed since then? False if `since_ns` is in the future. */
static inline bool hold_is_within(uint64_t since_ns, uint64_t now_ns, uint64_t most_ns)
{
    return (int64_t)(now_ns - since_ns) <= (int64_t)most_ns;
}

/** Does a call that begins now follow the last one immediately? */
static inline bool hold_follows(const struct hold *hold, uint64_t now_ns)
{
    return hold_is_within(hold->posted_ns, now_ns, HOLD_NEAR_NS) &&
           (hold->left_ns == 0 || hold_is_within(hold->left_ns, now_ns, HOLD_GAP_NS));
}

/** A post begins. @return true: it may be held back. Not after a gap; but a long run continues
 * after one gap, which may be another process that had the core. */
static inline bool hold_post(struct hold *hold, uint64_t now_ns)
{
    bool follows = hold_follows(hold, now_ns);

    hold->run = !follows ? hold->run / 2 : hold->run < 2 * HOLD_RUN_MAX ? hold->run + 1 : hold->run;
    hold->posted_ns = now_ns;
    hold->left_ns = 0;
    hold->polls = 0;
    hold->turned_away = false;
    hold->over = false;
    return follows && hold->run >= hold->run_min;
}

/** May the last post be part of a run? Then hold_posted() and hold_look() must be called. */
static inline bool hold_may_run(const struct hold *hold)
{
    return hold->run > 0 && !hold->over;
}

/** The post has ended. `turned_away`: there was no room, so polling for room does not end the run.
 */
static inline void hold_posted(struct hold *hold, bool turned_away, uint64_t now_ns)
{
    hold->posted_ns = now_ns;
    hold->left_ns = now_ns;
    hold->turned_away = turned_away;
}

/** Were messages held for HOLD_NS? */
static inline bool hold_is_over(const struct hold *hold, uint64_t now_ns)
{
    return !hold_is_within(hold->since_ns, now_ns, HOLD_NS);
}

/** The application has asked for completions. @param vain there was none
 *  @return true: the run has ended */
static inline bool hold_look(struct hold *hold, bool vain, uint64_t now_ns)
{
    hold->polls += vain && !hold->turned_away;
    if (hold->polls > HOLD_POLLS || !hold_follows(hold, now_ns)) {
        hold->over = true;
        return true;
    }
    hold->left_ns = now_ns;
    if (hold->turned_away) {
        hold->posted_ns = now_ns;
    }
    return false;
}

/** The run has ended: learns whether this was noticed late (`held`: messages were held back until
 *  now) or in time. */
void hold_run_ended(struct hold *hold, bool held, uint64_t now_ns);

#endif /* BEOWIRE_CORE_HOLD_H */
