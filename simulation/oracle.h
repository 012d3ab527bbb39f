/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle.h - judges a workload. It compares posts with completions, and does not know the protocol.
 *
 *      exactly once    a message is received at most once, by an endpoint that existed when it was
 *                      sent; at least once, if its sender and receiver could reach each other
 *      in order        of two messages of a sender that match the same receives, the one posted
 *                      earlier is received by the receive posted earlier
 *      intact          tag, length and every byte; nothing behind the buffer is changed
 *      right error     an operation fails only between excused nodes, with an error of the excuse
 *      nothing hangs   every operation completes
 *
 * Between two nodes of which one is mangled, only crashes count.
 */
#ifndef BEOWIRE_SIMULATION_ORACLE_H
#define BEOWIRE_SIMULATION_ORACLE_H

#include "workload.h"

/** Judges a completion of a node. */
void oracle_sent(struct workload *workload, struct workload_message *message,
                 const struct beowire_completion *done);
void oracle_received(struct workload *workload, struct workload_receive *receive,
                     const struct beowire_completion *done);

/** Judges the error of a message or receive that could not be posted. */
void oracle_refused(struct workload *workload, uint32_t at, uint32_t peer, int status);

/** Which errors between two nodes are excused: bits of enum workload_excuse. */
unsigned oracle_excuses(const struct workload *workload, uint32_t a, uint32_t b);

/** May an operation between these nodes fail with this error? */
bool oracle_may_fail(const struct workload *workload, uint32_t a, uint32_t b, int status);

/** At the end: judges what has not completed or arrived, and the order. */
void oracle_close(struct workload *workload);

/** Judges the order alone. */
void oracle_order(struct workload *workload);

/** Has this message completed, successfully or not? */
static inline bool oracle_is_finished(const struct workload_message *message)
{
    return message->ended && (message->status != 0 || message->received);
}

/** Counts an error in a counter of the verdict, and keeps the text of the first one. */
void oracle_blame(struct workload *workload, uint64_t *counter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool oracle_is_well(const struct workload_verdict *verdict)
{
    return verdict->lost + verdict->duplicated + verdict->corrupted + verdict->hung +
               verdict->disordered + verdict->wrong ==
           0;
}

#endif /* BEOWIRE_SIMULATION_ORACLE_H */
