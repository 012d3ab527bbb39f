/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - which endpoints a queue or a counter drives, and how one waits for them.
 *
 * The transport works only inside its calls. Whoever reads a queue or a counter thereby makes
 * progress on every endpoint that is bound to it.
 */
#ifndef BEOWIRE_FABRIC_PROGRESS_H
#define BEOWIRE_FABRIC_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint;

struct progress {
    struct endpoint **endpoints;
    size_t count;
};

/** Adds an endpoint, once however often this is called. @return 0, or -FI_ENOMEM. */
int progress_add(struct progress *progress, struct endpoint *endpoint);

void progress_remove(struct progress *progress, const struct endpoint *endpoint);

void progress_close(struct progress *progress);

/** Makes progress on all. The domain is locked.
 *  @return 0, or -FI_ENETDOWN: an interface is gone. */
int progress_make(const struct progress *progress);

/** When something that was begun now with so many milliseconds (negative: no bound) has to end. */
uint64_t progress_deadline(int timeout_ms);

/** Waits a little, at most until the deadline, for something to happen at an endpoint. The domain
 *  is locked, and stays so, thus not for long. @return false: the deadline has passed. */
bool progress_wait(const struct progress *progress, uint64_t deadline_ns);

#endif /* BEOWIRE_FABRIC_PROGRESS_H */
