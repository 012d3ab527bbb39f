/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trial.h - does in a child what may end the process that does it.
 *
 * A driver is somebody else's code, and loads libraries of others: one that crashes when it is
 * loaded, or when it is asked whether it can run here, must not take the engine with it, in which
 * all other drivers are to be listed. So both are done in a child first.
 */
#ifndef BEOWIRE_ENGINE_TRIAL_H
#define BEOWIRE_ENGINE_TRIAL_H

#include <stddef.h>

/** What is done: 0 or a figure, or a negative errno with one line in `reason`. */
typedef int trial_work(const void *context, char *reason, size_t reason_bytes);

/** How long a driver may take to be loaded, or to say whether it can run. */
#define TRIAL_MS 5000

/** Does it in a child, which ends with that. The child's standard streams lead nowhere.
 *
 * @return what `work` has returned; -ECHILD: the child was ended by it; -ETIMEDOUT: it had not
 *  returned after `longest_ms`; -ENOMEM, -EMFILE or another: no child could be made. `reason` says
 *  why. */
int trial(trial_work *work, const void *context, int longest_ms, char *reason, size_t reason_bytes);

#endif
