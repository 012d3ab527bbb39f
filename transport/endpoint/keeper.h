/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keeper.h - a thread that looks after an endpoint while its application is elsewhere.
 *
 * It looks now and then whether the application has called since; if not, it makes progress in its
 * place: acknowledges, answers probes (so that peers know that the process lives), serves pulls. In
 * between it sleeps. As long as the application polls, the keeper only looks at a counter.
 *
 *      BEOWIRE_PROGRESS_KEEPER   looks every 100 ms: peers do not take a process that computes for
 *                                dead, and lost frames of it are repeated; and every millisecond
 *                                while it finds that much moves, so that nobody waits long for it
 *      BEOWIRE_PROGRESS_THREAD   looks every millisecond, and when the application is away sleeps
 *                                until a frame comes: data moves while the application computes
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
    /** Makes progress once; the keeper has its turn. @return has so much moved that more is likely
     *  to, soon? */
    bool (*progress)(void *context);
    /** Sleeps until a frame comes or a timer is due, but no longer than `timeout_ns`, or until
     *  `wake` is readable; the keeper does not have its turn. NULL: just lets the time pass. */
    void (*sleep)(void *context, uint64_t timeout_ns, int wake);
    void *context;
};

struct keeper {
    struct keeper_duty duty;
    struct turn *turn;
    uint64_t interval_ns;
    pthread_t thread;
    int wake; /**< eventfd: ends its sleep */
    bool running;
    bool hurried; /**< atomic: it is to look soon */
    bool ending;  /**< atomic */
};

/** Starts the thread, with all signals blocked.
 *  @return 0; a negative errno: there is no thread. */
int keeper_start(struct keeper *keeper, struct turn *turn, uint64_t interval_ns,
                 const struct keeper_duty *duty);

/** Something was left for later: the keeper shall look soon, within KEEPER_HURRY_NS, whether the
 *  application has come back for it. A system call if it has not been told already. */
void keeper_hurry(struct keeper *keeper);

/** Ends the thread, if there is one, and waits for that. */
void keeper_stop(struct keeper *keeper);

/** In a child that fork() has made, where the thread, if there is one, is not: only gives back what
 *  this process has of it. */
void keeper_abandon(struct keeper *keeper);

#endif /* BEOWIRE_ENDPOINT_KEEPER_H */
