/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper.h - a thread that makes progress while the application does not call.
 *
 * Now and then it checks whether the application has called. If not, it makes progress in its
 * place: acknowledges, answers probes (so that peers know that the process lives), serves pulls.
 * Then it sleeps. While the application polls, the keeper only reads a counter.
 *
 *      BEOWIRE_PROGRESS_KEEPER   checks every 100 ms, so that peers do not take a computing process
 *                                for dead, and lost frames are retransmitted; every millisecond
 *                                while much data moves, so that nobody waits long for it
 *      BEOWIRE_PROGRESS_THREAD   checks every millisecond, and sleeps until a frame comes while the
 *                                application does not call: data moves while it computes
 *
 * Threads: keeper_start() and keeper_stop() by the application's thread.
 */
#ifndef BEOWIRE_ENDPOINT_KEEPER_H
#define BEOWIRE_ENDPOINT_KEEPER_H

#include "endpoint/turn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** What the keeper does; called in its thread. */
struct keeper_duty {
    /** Makes progress once; the keeper has its turn. @return true: so much data moved that more is
     *  likely soon */
    bool (*progress)(void *context);
    /** Sleeps until a frame comes, a timer is due, `timeout_ns` have passed or `wake` is readable;
     *  the keeper does not have its turn. NULL: sleeps for `timeout_ns`. */
    void (*sleep)(void *context, uint64_t timeout_ns, int wake);
    void *context;
};

struct keeper {
    struct keeper_duty duty;
    struct turn *turn;
    uint64_t interval_ns;
    pthread_t thread;
    int wake; /**< eventfd that ends the sleep */
    bool running;
    bool hurried; /**< atomic: it must check soon */
    bool ending;  /**< atomic */
};

/** Starts the thread, with all signals blocked.
 *  @return 0; a negative errno: no thread was started. */
int keeper_start(struct keeper *keeper, struct turn *turn, uint64_t interval_ns,
                 const struct keeper_duty *duty);

/** Work was postponed: the keeper checks within KEEPER_HURRY_NS whether the application has
 * returned to do it. Costs a system call unless the keeper was told before. */
void keeper_hurry(struct keeper *keeper);

/** Ends the thread, if there is one, and waits for its end. */
void keeper_stop(struct keeper *keeper);

/** For a child of fork(), which does not have the thread: only frees its resources. */
void keeper_abandon(struct keeper *keeper);

#endif /* BEOWIRE_ENDPOINT_KEEPER_H */
