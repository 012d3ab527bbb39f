/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.h - when what is posted may wait for more to be posted.
 *
 * A message that can go, goes. Several that leave together cost less than one after the other, but
 * waiting for the next is allowed only while the next is certain to come at once: in a run of posts
 * between which the application does nothing of its own but for HOLD_GAP_NS at most (what passes in
 * our calls does not count, but for HOLD_NEAR_NS in all). The first `run_min` of a run leave as
 * they come; from then on they are held back, for HOLD_NS at most. What is held leaves as soon as
 * the run is seen to have ended: by the next post, by the first looks for completions that find
 * nothing, before the application sleeps, or, if it computes, by the keeper. What is on its way and
 * not acknowledged is by itself no reason to hold anything: the peer may compute (Nagle's mistake,
 * RFC 896).
 *
 * An application whose runs end in computing has what it posted last sent late, by the keeper: then
 * longer runs are let go as they come, until their ends have been seen in time often enough.
 *
 * Pure; time is told. One thread.
 */
#ifndef BEOWIRE_CORE_HOLD_H
#define BEOWIRE_CORE_HOLD_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct hold {
    uint64_t posted_ns; /**< when the last post ended, or began, if `left_ns` is 0 */
    uint64_t left_ns;   /**< when the last call ended, of posts or looks; 0: not asked */
    uint64_t since_ns;  /**< when the oldest of what is held back was posted */
    uint32_t run;       /**< posts before the last, one right after the other */
    uint32_t run_least; /**< so many leave as they come, */
    uint32_t run_min;   /**< or so many, as learnt */
    uint32_t polls;     /**< looks in vain since the last post */
    bool turned_away;   /**< the last post found no room, and is tried again */
    bool over;          /**< the run was seen to have ended, and nothing was posted since */
    uint32_t in_time;   /**< ends of runs in a row that were seen in time */
};

/** @param run_least of runs at least so many posts leave as they come */
static inline void hold_init(struct hold *hold, uint32_t run_least)
{
    *hold = (struct hold){.run_least = run_least, .run_min = run_least};
}

/** Has no more than `most_ns` passed? Nor if that time is still to come. */
static inline bool hold_is_within(uint64_t since_ns, uint64_t now_ns, uint64_t most_ns)
{
    return (int64_t)(now_ns - since_ns) <= (int64_t)most_ns;
}

/** Does a call that begins now come right after the last? */
static inline bool hold_follows(const struct hold *hold, uint64_t now_ns)
{
    return hold_is_within(hold->posted_ns, now_ns, HOLD_NEAR_NS) &&
           (hold->left_ns == 0 || hold_is_within(hold->left_ns, now_ns, HOLD_GAP_NS));
}

/** A post begins. @return true: it may be held back. Not after a gap; but one gap may be others
 * that had the core for a moment, so that a long run goes on after it. */
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

/** May the last post have been one of a run? Then hold_posted() and hold_look() want to know. */
static inline bool hold_may_run(const struct hold *hold)
{
    return hold->run > 0 && !hold->over;
}

/** The post has ended. `turned_away`: for want of room, so that looks for some do not end the run.
 */
static inline void hold_posted(struct hold *hold, bool turned_away, uint64_t now_ns)
{
    hold->posted_ns = now_ns;
    hold->left_ns = now_ns;
    hold->turned_away = turned_away;
}

/** Has it been held for as long as it may? */
static inline bool hold_is_over(const struct hold *hold, uint64_t now_ns)
{
    return !hold_is_within(hold->since_ns, now_ns, HOLD_NS);
}

/** The application has looked for completions. @param vain there was nothing
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

/** The run has ended: learns whether that is seen late, if something has been held back until now
 *  (`held`), or else in time. */
void hold_run_ended(struct hold *hold, bool held, uint64_t now_ns);

#endif /* BEOWIRE_CORE_HOLD_H */
