/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial.h - runs in a child process what may end the process.
 *
 * A driver and its libraries are not part of the engine. One that crashes when it is loaded, or
 * when it is asked whether it can run, must not end the engine, which also serves other drivers. So
 * both are tried in a child first.
 */
#ifndef BEOWIRE_ENGINE_TRIAL_H
#define BEOWIRE_ENGINE_TRIAL_H

#include <stddef.h>

/** What the child does: returns 0 or a figure, or a negative errno with one line in `reason`. */
typedef int trial_work(const void *context, char *reason, size_t reason_bytes);

/** How long loading a driver, or asking whether it can run, may take. */
#define TRIAL_MS 5000

/** Runs `work` in a child, which then ends. The child's standard streams are /dev/null.
 *
 *  @return the result of `work`; -ECHILD: it ended the child; -ETIMEDOUT: it took longer than
 *  `longest_ms`; -ENOMEM, -EMFILE or another: no child could be created. `reason` says why. */
int trial(trial_work *work, const void *context, int longest_ms, char *reason, size_t reason_bytes);

#endif
