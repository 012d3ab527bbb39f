/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h - background load, the commands `load`, `pause`, `resume` and `meter` (docs/ENGINE.md):
 * one hog (hog.h) is pinned to each CPU that this process may use, or to each named one.
 *
 * The hogs are threads of the engine, so they end with it, and by themselves when their time is
 * over. An engine with load does not measure.
 */
#ifndef BEOWIRE_ENGINE_LOAD_H
#define BEOWIRE_ENGINE_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

struct hog;

/** The most hogs of one engine. */
#define LOAD_HOGS_MAX 1024

struct load {
    struct hog *hogs; /**< NULL: none were started */
    size_t count;
};

/** Carries out `load`: starts the hogs, and answers when all of them run. */
void load_answer(struct load *load, struct command *command);

/** Carries out `pause` and `resume`: answers when all hogs are paused, or may continue. */
void load_pause_answer(struct load *load, bool paused);

/** Carries out `meter`: reports CPU time and work of each hog. */
void load_meter_answer(const struct load *load);

/** Ends the hogs, if there are any. Returns when they have ended. */
void load_end(struct load *load);

#endif
