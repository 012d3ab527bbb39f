/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - the right to use an endpoint: nearly always the application's, otherwise its keeper's.
 *
 * A lock that costs the application two plain stores and a load. Each side writes its own flag and
 * then reads the other's (Dekker, 1965). That needs a full memory barrier on both sides. The
 * keeper, which rarely takes its turn, makes the kernel execute one on every core that runs the
 * process (membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED), so that the application needs none.
 *
 *      application                      keeper
 *        inside = 1                       wanted = 1
 *        (compiler barrier)               membarrier()
 *        wanted? then step back, wait     inside? then give up
 *        ...                              ...
 *        inside = 0                       wanted = 0
 *
 * The keeper never waits for the application. The application waits for the keeper for at most one
 * round of progress. If the kernel refuses membarrier, even later, the application executes full
 * barriers.
 *
 * Threads: turn_enter() and turn_leave() by one thread at a time; turn_try() and turn_end() by the
 * keeper.
 */
#ifndef BEOWIRE_ENDPOINT_TURN_H
#define BEOWIRE_ENDPOINT_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct turn {
    uint32_t inside;  /**< the application is using the endpoint */
    uint32_t wanted;  /**< the keeper uses it, or is about to */
    uint32_t entered; /**< number of the application's entries; wraps */
    bool fence;       /**< no membarrier: the application executes the barrier */
    bool registered;  /**< the keeper's: it may use membarrier */
};

/** Initialises it; nobody is inside. */
void turn_open(struct turn *turn);

/** Steps back until the keeper has left. */
void turn_wait(struct turn *turn);

static inline void turn_enter(struct turn *turn)
{
    __atomic_store_n(&turn->inside, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&turn->fence, __ATOMIC_RELAXED), 0)) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } else {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    if (__builtin_expect(__atomic_load_n(&turn->wanted, __ATOMIC_ACQUIRE) != 0, 0)) {
        turn_wait(turn);
    }
    __atomic_store_n(&turn->entered, turn->entered + 1, __ATOMIC_RELAXED);
}

static inline void turn_leave(struct turn *turn)
{
    __atomic_store_n(&turn->inside, 0, __ATOMIC_RELEASE);
}

/** The keeper tries to enter. @return true: it has entered, until turn_end(). */
bool turn_try(struct turn *turn);
void turn_end(struct turn *turn);

/** Is nobody inside, or about to be? For a child of fork(), in which neither continues. */
static inline bool turn_is_free(const struct turn *turn)
{
    return __atomic_load_n(&turn->inside, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&turn->wanted, __ATOMIC_ACQUIRE) == 0;
}

/** Number of the application's entries, by which the keeper sees whether it calls. */
static inline uint32_t turn_entered(const struct turn *turn)
{
    return __atomic_load_n(&turn->entered, __ATOMIC_RELAXED);
}

#endif /* BEOWIRE_ENDPOINT_TURN_H */
