/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - whose turn it is to use an endpoint: the application's, nearly always, or its keeper's.
 *
 * A lock that costs the application two plain stores and a load. Both sides write their own flag
 * and then look at the other's (Dekker, 1965). That needs a full memory barrier on both sides;
 * the keeper, which comes rarely, has the kernel execute one on every core that runs the process
 * (membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED), so that the application needs none.
 *
 *      application                      keeper
 *        inside = 1                       wanted = 1
 *        (compiler barrier)               membarrier()
 *        wanted? then step back, wait     inside? then give up
 *        ...                              ...
 *        inside = 0                       wanted = 0
 *
 * The keeper never waits for the application, and the application waits for the keeper only for as
 * long as one round of progress takes. Where the kernel refuses membarrier, be it later on, the
 * application executes a full barrier.
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
    uint32_t wanted;  /**< the keeper is, or is about to */
    uint32_t entered; /**< how often the application has come; wraps */
    bool fence;       /**< the kernel does not help: the application executes the barrier */
    bool registered;  /**< the keeper's: it may have the kernel execute barriers */
};

/** The application's turn; nobody is inside. */
void turn_open(struct turn *turn);

/** The keeper is there or coming: steps back until it has ended. */
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

/** The keeper asks for its turn. @return true: it has it until turn_end(). */
bool turn_try(struct turn *turn);
void turn_end(struct turn *turn);

/** Is nobody inside, or about to be? For a child of fork(), where neither will go on. */
static inline bool turn_is_free(const struct turn *turn)
{
    return __atomic_load_n(&turn->inside, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&turn->wanted, __ATOMIC_ACQUIRE) == 0;
}

/** How often the application has come; for the keeper to see whether it is there. */
static inline uint32_t turn_entered(const struct turn *turn)
{
    return __atomic_load_n(&turn->entered, __ATOMIC_RELAXED);
}

#endif /* BEOWIRE_ENDPOINT_TURN_H */
