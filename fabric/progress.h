/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - which endpoints a queue or a counter drives, and how one waits for them.
 *
 * The transport works only inside its calls, unless automatic progress was requested. Reading a
 * queue or a counter makes progress on every endpoint bound to it.
 *
 * If the wait object is a descriptor, a program may be *asleep* on it from fi_trywait() until it
 * reads again. Other threads that use the same endpoints meanwhile ensure at the end of each call
 * that the sleeper will wake (progress_settle()).
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

/** The endpoint is enabled: its work wakes those that sleep on the wait object.
 *  @return 0; -FI_EMFILE, -FI_ENOMEM. */
int progress_watch(struct progress *progress, const struct endpoint *endpoint);

void progress_remove(struct progress *progress, const struct endpoint *endpoint);

void progress_close(struct progress *progress);

/** Makes progress on all. The domain is locked.
 *  @return 0, or -FI_ENETDOWN: an interface is gone. */
int progress_make(const struct progress *progress);

/** The same for a caller that has something to read already: does not yield the core. */
int progress_look(const struct progress *progress);

/** The deadline of a wait that begins now; negative: none. */
uint64_t progress_deadline(int timeout_ms);

/** Waits for work at an endpoint, at most until the deadline; only shortly, because the domain
 * stays locked. @return false: the deadline has passed. */
bool progress_wait(const struct progress *progress, uint64_t deadline_ns);

/* ---- asleep on a descriptor; the domain is locked -------------------------------------------- */

/** fi_trywait(): makes progress; from now on, new work makes the wait object readable.
 *  @return 0: the program may sleep; -FI_EAGAIN: there is something to read or to do, or a signal.
 */
int progress_try_sleep(struct progress *progress, struct domain *domain);

/** Ends the sleep on it. */
void progress_leave_sleep(struct progress *progress, struct domain *domain);

static inline void progress_awake(struct progress *progress, struct domain *domain)
{
    if (progress->asleep) {
        progress_leave_sleep(progress, domain);
    }
}

/** After a call in the domain: wakes those that sleep there if there is something for them, or lets
 *  new work wake them. */
void progress_settle(struct domain *domain);

/** Unlocks the domain for a caller that will lock it again at once: a waiting thread, if there is
 * one, gets it first. Takes at most a millisecond. */
void progress_let_in(struct domain *domain);

#endif /* BEOWIRE_FABRIC_PROGRESS_H */
