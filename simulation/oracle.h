/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle.h - the judge of a workload. It compares what was posted with what ended, and knows
 * nothing of the protocol.
 *
 *      exactly once    a message is received at most once, by an endpoint that was there when it
 *                      was sent; at least once, if its sender and receiver could reach each other
 *      in order        of two messages of a sender that a receive could have had, the one posted
 *                      earlier is received by the receive that was posted earlier
 *      intact          tag, length and every byte; nothing behind the buffer is touched
 *      right error     an operation fails only between nodes that are excused, and as they are
 *      nothing hangs   every operation ends
 *
 * Between two nodes of which one is mangled nothing is asked but that the process lives.
 */
#ifndef BEOWIRE_SIMULATION_ORACLE_H
#define BEOWIRE_SIMULATION_ORACLE_H

#include "workload.h"

/** Judges a completion of a node. */
void oracle_sent(struct workload *workload, struct workload_message *message,
                 const struct beowire_completion *done);
void oracle_received(struct workload *workload, struct workload_receive *receive,
                     const struct beowire_completion *done);

/** A message or receive could not even be posted: judges the error. */
void oracle_refused(struct workload *workload, uint32_t at, uint32_t peer, int status);

/** What two nodes may do to each other's operations: bits of enum workload_excuse. */
unsigned oracle_excuses(const struct workload *workload, uint32_t a, uint32_t b);

/** May an operation between these nodes end with this error? */
bool oracle_may_fail(const struct workload *workload, uint32_t a, uint32_t b, int status);

/** All is over: judges what has not ended, what has not arrived, and the order. */
void oracle_close(struct workload *workload);

/** Judges the order alone. */
void oracle_order(struct workload *workload);

/** Is this message finished, for good or ill? */
static inline bool oracle_is_finished(const struct workload_message *message)
{
    return message->ended && (message->status != 0 || message->received);
}

/** Counts a fault in one of the verdict's counters, and keeps the first in words. */
void oracle_blame(struct workload *workload, uint64_t *counter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool oracle_is_well(const struct workload_verdict *verdict)
{
    return verdict->lost + verdict->duplicated + verdict->corrupted + verdict->hung +
               verdict->disordered + verdict->wrong ==
           0;
}

#endif /* BEOWIRE_SIMULATION_ORACLE_H */
