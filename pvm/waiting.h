/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting.h - how long a task that waits polls before it sleeps.
 *
 * A polling task gets a message some microseconds earlier than a sleeping one, and a long message
 * takes many times as long if its ends wake each other for each piece. But polling in vain takes
 * cores from others, such as eight tasks that wait for a multicast on two cores. So a task polls
 * while messages come soon. If they do not, or others want the core (contention.h), it sleeps at
 * once, until enough messages in a row have come so soon that polling would have been better; the
 * limit is shorter where others want the core.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_PVM_WAITING_H
#define BEOWIRE_PVM_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros: polls. */
struct waiting {
    bool sleeps;       /**< at once */
    bool crowded;      /**< it sleeps because others want the core */
    unsigned contrary; /**< waits in a row for which the other way was better */
};

/** A wait has ended with progress. @param slept whether it has slept */
void waiting_came(struct waiting *waiting, uint64_t after_ns, bool slept);

/** Others want this core. */
void waiting_disturbed(struct waiting *waiting);

/** Should it sleep now, after nothing has come for that time? */
bool waiting_is_over(const struct waiting *waiting, uint64_t idle_ns);

#endif
