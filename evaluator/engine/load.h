/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h - background load, the commands `load`, `pause`, `resume` and `meter` (docs/ENGINE.md):
 * one hog (hog.h) for each CPU of the machine that this process may use, or that was named, pinned
 * to it.
 *
 * The hogs are threads of the engine, so they end with it, whatever happens to whom; and by
 * themselves when their time is over. An engine that makes load measures nothing.
 */
#ifndef BEOWIRE_ENGINE_LOAD_H
#define BEOWIRE_ENGINE_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

struct hog;

/** Hogs that one engine starts, at most. */
#define LOAD_HOGS_MAX 1024

struct load {
    struct hog *hogs; /**< NULL: none were started */
    size_t count;
};

/** Obeys `load`: starts the hogs and answers once all of them run. */
void load_answer(struct load *load, struct command *command);

/** Obeys `pause` and `resume`: answers once all hogs rest, or may go on. */
void load_pause_answer(struct load *load, bool paused);

/** Obeys `meter`: what each hog has had, and done. */
void load_meter_answer(const struct load *load);

/** Ends the hogs, if there are any. Returns when they have ended. */
void load_end(struct load *load);

#endif
