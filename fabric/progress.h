/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - which endpoints a queue or a counter drives, and how one waits for them.
 *
 * The transport works only inside its calls, unless automatic progress was asked for. Whoever reads
 * a queue or a counter thereby makes progress on every endpoint that is bound to it.
 *
 * Where the wait object is a descriptor, a program may be *asleep* on it from fi_trywait() until it
 * reads again. Meanwhile other threads may use the same endpoints: at the end of each call they see
 * to it that the sleeper still wakes (progress_settle()).
 */
#ifndef BEOWIRE_FABRIC_PROGRESS_H
#define BEOWIRE_FABRIC_PROGRESS_H

#include "wait.h"

#include <stddef.h>
#include <stdint.h>

struct domain;
struct endpoint;

struct progress {
    struct endpoint **endpoints;
    size_t count;
    struct wait wait;
    /** Is there something to read? Makes no progress. */
    bool (*has_news)(const struct progress *progress);
    bool asleep;
    struct progress *next_asleep; /**< of the domain */
};

/** @return as wait_open(). */
int progress_open(struct progress *progress, enum fi_wait_obj object,
                  bool (*has_news)(const struct progress *progress));

/** Adds an endpoint, once however often this is called. @return 0, or -FI_ENOMEM. */
int progress_add(struct progress *progress, struct endpoint *endpoint);

/** The endpoint is enabled: what it has to do wakes whoever sleeps on the wait object.
 *  @return 0; -FI_EMFILE, -FI_ENOMEM. */
int progress_watch(struct progress *progress, const struct endpoint *endpoint);

void progress_remove(struct progress *progress, const struct endpoint *endpoint);

void progress_close(struct progress *progress);

/** Makes progress on all. The domain is locked.
 *  @return 0, or -FI_ENETDOWN: an interface is gone. */
int progress_make(const struct progress *progress);

/** The same for who has something to read already: does not let others have the core. */
int progress_look(const struct progress *progress);

/** When something that was begun now with so many milliseconds (negative: no bound) has to end. */
uint64_t progress_deadline(int timeout_ms);

/** Waits a little, at most until the deadline, for something to happen at an endpoint. The domain
 *  is locked, and stays so, thus not for long. @return false: the deadline has passed. */
bool progress_wait(const struct progress *progress, uint64_t deadline_ns);

/* ---- asleep on a descriptor; the domain is locked -------------------------------------------- */

/** fi_trywait(): makes progress, and has whatever comes next make the wait object readable.
 *  @return 0: the program may sleep; -FI_EAGAIN: there is something to read or to do, or there was
 * a signal. */
int progress_try_sleep(struct progress *progress, struct domain *domain);

/** Nobody sleeps on it any more. */
void progress_leave_sleep(struct progress *progress, struct domain *domain);

static inline void progress_awake(struct progress *progress, struct domain *domain)
{
    if (progress->asleep) {
        progress_leave_sleep(progress, domain);
    }
}

/** Something was done in the domain: those that sleep there wake if there is something for them
 *  now, and otherwise when something comes. */
void progress_settle(struct domain *domain);

/** Unlocks it, for who is about to lock it again at once, as those do that wait: has one of the
 *  threads that wait for it, if there are any, get it first. Takes a millisecond at the most. */
void progress_let_in(struct domain *domain);

#endif /* BEOWIRE_FABRIC_PROGRESS_H */
