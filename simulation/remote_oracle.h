/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_oracle.h - judges operations on remote memory. Like oracle.h, it compares requests with
 * completions, knows who could reach whom, and does not know the protocol.
 *
 *      exactly once    each operation completes once. If successful, it was done once (a sum has it
 *                      once, a ticket is drawn once); if it failed, at most once
 *      intact          puts and gets transfer the right bytes; no other bytes ever change
 *      right error     a flawed operation fails with the error of its flaw, and changes nothing;
 *                      others fail only between excused nodes
 *      told            the target is notified once of each successful put that requests it, after
 * all of it has arrived, and of no other nothing hangs   every operation completes
 */
#ifndef BEOWIRE_SIMULATION_REMOTE_ORACLE_H
#define BEOWIRE_SIMULATION_REMOTE_ORACLE_H

#include "remote_work.h"

/** Judges an operation's completion. */
void remote_oracle_ended(struct remote_work *work, struct remote_operation *operation,
                         const struct beowire_completion *done);

/** Judges the notification of a put. */
void remote_oracle_noticed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done);

/** At the end: judges operations that have not completed, and the memory of nodes that are up. */
void remote_oracle_close(struct remote_work *work);

#endif /* BEOWIRE_SIMULATION_REMOTE_ORACLE_H */
