/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h - background load, the command `load` (docs/ENGINE.md): one hog for each CPU of the
 * machine that this process may use, pinned to it, which computes and never waits.
 *
 * The hogs are threads of the engine, so they end with it, whatever happens to whom; and by
 * themselves when their time is over. An engine that makes load measures nothing.
 */
#ifndef BEOWIRE_ENGINE_LOAD_H
#define BEOWIRE_ENGINE_LOAD_H

#include <pthread.h>
#include <stddef.h>

#include "command.h"

/** Hogs that one engine starts, at most. */
#define LOAD_HOGS_MAX 1024

struct load {
    pthread_t *hogs; /**< NULL: none were started */
    size_t count;
};

/** Obeys `load nice=N seconds=N`: starts the hogs and answers once all of them run. */
void load_answer(struct load *load, struct command *command);

/** Ends the hogs, if there are any. Returns when they have ended. */
void load_end(struct load *load);

#endif
