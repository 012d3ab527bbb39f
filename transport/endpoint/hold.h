/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold.h - when what is posted may wait for more to be posted.
 *
 * A message that can go, goes. Several that leave together cost less than one after the other, but
 * waiting for the next is allowed only while the next is certain to come at once: in a run of posts
 * that the application makes one right after the other, HOLD_GAP_NS apart at most. The first
 * `run_min` of a run leave as they come; from then on they are held back, for HOLD_NS at most. What
 * is held leaves as soon as the run is seen to have ended: by the next post, by the first looks for
 * completions that find nothing, before the application sleeps, or, if it computes, by the keeper.
 * What is on its way and not acknowledged is no reason to hold anything: the peer may compute
 * (Nagle's mistake, RFC 896).
 *
 * An application whose runs end in computing has what it posted last sent late, by the keeper: then
 * longer runs are let go as they come, until their ends have been seen in time often enough.
 *
 * Pure; time is told. One thread.
 */
#ifndef BEOWIRE_ENDPOINT_HOLD_H
#define BEOWIRE_ENDPOINT_HOLD_H

#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

struct hold {
    uint64_t posted_ns; /**< when the last post began, */
    uint64_t ended_ns;  /**< and ended; 0: that was not asked */
    uint64_t since_ns;  /**< when the oldest of what is held back was posted */
    uint32_t run;       /**< posts before the last, one right after the other */
    uint32_t run_min;   /**< so many leave as they come */
    uint32_t polls;     /**< looks in vain since the last post */
    uint32_t in_time;   /**< ends of runs in a row that were seen in time */
};

static inline void hold_init(struct hold *hold)
{
    *hold = (struct hold){.run_min = HOLD_RUN_MIN};
}

/** Has no more than `most_ns` passed? Nor if that time is still to come. */
static inline bool hold_is_within(uint64_t since_ns, uint64_t now_ns, uint64_t most_ns)
{
    return (int64_t)(now_ns - since_ns) <= (int64_t)most_ns;
}

/** Does a post that begins now come right after the last? */
static inline bool hold_follows(const struct hold *hold, uint64_t now_ns)
{
    return hold->ended_ns != 0 ? hold_is_within(hold->ended_ns, now_ns, HOLD_GAP_NS)
                               : hold_is_within(hold->posted_ns, now_ns, HOLD_NEAR_NS);
}

/** A post begins. @return true: it may be held back. */
static inline bool hold_post(struct hold *hold, uint64_t now_ns)
{
    bool follows = hold_follows(hold, now_ns);

    hold->run = follows && hold->run < HOLD_RUN_MAX ? hold->run + 1 : hold->run * follows;
    hold->posted_ns = now_ns;
    hold->ended_ns = 0;
    hold->polls = 0;
    return hold->run >= hold->run_min;
}

/** When was posted last? */
static inline uint64_t hold_last_ns(const struct hold *hold)
{
    return hold->ended_ns != 0 ? hold->ended_ns : hold->posted_ns;
}

/** Is the time of its end wanted, since the post may be one of a run? */
static inline bool hold_asks_end(const struct hold *hold)
{
    return hold->run > 0;
}

static inline void hold_post_ended(struct hold *hold, uint64_t now_ns)
{
    hold->ended_ns = now_ns;
}

/** Has it been held for as long as it may? */
static inline bool hold_is_over(const struct hold *hold, uint64_t now_ns)
{
    return !hold_is_within(hold->since_ns, now_ns, HOLD_NS);
}

/** The application has looked for completions, and there was nothing. @return true: the run has
 *  ended. */
static inline bool hold_look(struct hold *hold, uint64_t now_ns)
{
    return ++hold->polls > HOLD_POLLS || !hold_is_within(hold_last_ns(hold), now_ns, HOLD_GAP_NS) ||
           hold_is_over(hold, now_ns);
}

/** The run has ended and what was held leaves now: learns whether that is late. */
void hold_run_ended(struct hold *hold, uint64_t now_ns);

#endif /* BEOWIRE_ENDPOINT_HOLD_H */
