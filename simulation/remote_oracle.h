/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote_oracle.h - the judge of work on remote memory. As oracle.h: it knows what was asked for,
 * what ended, and who was cut off from whom; nothing of the protocol.
 *
 *      exactly once    an operation ends once; one that ended well was carried out once (a sum
 *                      counts it once, a ticket is drawn once), one that failed at most once
 *      intact          what was put is there, what is got was there; nothing besides is touched, by
 *                      nobody, at any time
 *      right error     a flawed operation ends with the error of its flaw, and does nothing; others
 *                      fail only between nodes that are excused
 *      told            the target is told once of each put that asks for it and ended well, when
 *                      it is all there; never of another
 *      nothing hangs   every operation ends
 */
#ifndef BEOWIRE_SIMULATION_REMOTE_ORACLE_H
#define BEOWIRE_SIMULATION_REMOTE_ORACLE_H

#include "remote_work.h"

/** Judges an operation's completion. */
void remote_oracle_ended(struct remote_work *work, struct remote_operation *operation,
                         const struct beowire_completion *done);

/** Judges a completion that says that a put has arrived. */
void remote_oracle_noticed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done);

/** All is over: judges what has not ended, and the memory of all nodes that are up. */
void remote_oracle_close(struct remote_work *work);

#endif /* BEOWIRE_SIMULATION_REMOTE_ORACLE_H */
