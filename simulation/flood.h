/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flood.h - a sender that sends as much as it is let to a receiver that does not receive, and what
 * becomes of it: all of it arrives, in order, once the receiver does, or never matters again.
 *
 * Its messages have a tag that no receive of the workload takes, so that everybody else's messages
 * go on: whether they do is the oracle's question.
 */
#ifndef BEOWIRE_SIMULATION_FLOOD_H
#define BEOWIRE_SIMULATION_FLOOD_H

#include "workload.h"

/** Receives that are posted at once while the flood is drained. */
#define FLOOD_SLOTS 32

/** Longest message. */
#define FLOOD_BYTES_MAX 1000

struct flood_slot {
    enum workload_context context;
    struct flood *flood;
    bool posted;
    uint32_t serial;
    uint8_t buffer[FLOOD_BYTES_MAX];
};

struct flood {
    struct workload *workload;
    uint32_t from;
    uint32_t to;
    bool active;   /**< it sends */
    bool draining; /**< the receiver takes what came */
    uint32_t from_generation;
    uint32_t to_generation;
    uint32_t sent;
    uint32_t posted;
    uint32_t received;
    struct flood_slot slots[FLOOD_SLOTS];
};

void flood_open(struct flood *flood, struct workload *workload, uint32_t from, uint32_t to);

/** Sends what it is let, or takes what is there. Call between steps. */
void flood_step(struct flood *flood);

/** The receiver begins to receive; the sender stops. */
void flood_drain(struct flood *flood);

/** Has all that was sent been received, if it is drained? */
bool flood_is_over(const struct flood *flood);

/** An operation of a flood has ended; `context` is its slot. */
void flood_ended(void *context, const struct beowire_completion *done);

/** All is over: judges what has not arrived. */
void flood_close(struct flood *flood);

#endif /* BEOWIRE_SIMULATION_FLOOD_H */
