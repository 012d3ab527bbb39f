/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting.h - how long a task that waits polls before it sleeps.
 *
 * An answer that is polled for is there some microseconds earlier than one that has to wake its
 * task. But where others want the core, as eight tasks that a multicast wakes on two cores do, each
 * that polls keeps the next one from its message: there it is slept at once. Whether that is so is
 * found out by trying: after others have had the core, the next few waits are slept through, more
 * of them each time, and as few as at first once a message has been polled for in peace.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_PVM_WAITING_H
#define BEOWIRE_PVM_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: nobody else wants the core. */
struct waiting {
    unsigned sleeps; /**< that many waits more are slept through */
    unsigned more;   /**< as many after others have had the core the next time; 0: the least */
};

/** A wait begins. */
void waiting_begin(struct waiting *waiting);

/** Others have had the core. */
void waiting_disturbed(struct waiting *waiting);

/** A message was polled for, and nobody else had the core meanwhile. */
void waiting_undisturbed(struct waiting *waiting);

/** How long to poll before it is slept. */
uint64_t waiting_spin_ns(const struct waiting *waiting);

#endif
