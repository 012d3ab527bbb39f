/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting.h - how long a task that waits polls before it sleeps.
 *
 * What is polled for is there some microseconds earlier than what has to wake its task, and a long
 * message whose ends wake each other for each piece of it takes many times as long. But whoever
 * polls in vain only keeps others from their cores: eight tasks that wait for a multicast on two
 * cores keep it from one another. So it is polled as long as what comes comes soon, and slept at
 * once where it does not, or where others want the core (contention.h); until enough of what was
 * slept for has come so soon that it had been better to poll. Where others want the core, that
 * is sooner.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_PVM_WAITING_H
#define BEOWIRE_PVM_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: it is polled. */
struct waiting {
    bool sleeps;       /**< at once */
    bool crowded;      /**< it sleeps because others want the core */
    unsigned contrary; /**< waits in a row that speak for the other way */
};

/** What was waited for has come, or more of it. @param slept not by polling alone */
void waiting_came(struct waiting *waiting, uint64_t after_ns, bool slept);

/** Others want the core that it is polled on. */
void waiting_disturbed(struct waiting *waiting);

/** Is it to be slept now, after nothing has come for so long? */
bool waiting_is_over(const struct waiting *waiting, uint64_t idle_ns);

#endif
