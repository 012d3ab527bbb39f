/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flood.h - a sender that sends as much as it may to a receiver that does not receive. Everything
 * must arrive in order once the receiver receives.
 *
 * No receive of the workload matches the tag of these messages, so other messages must proceed,
 * which the oracle checks.
 */
#ifndef BEOWIRE_SIMULATION_FLOOD_H
#define BEOWIRE_SIMULATION_FLOOD_H

#include "workload.h"

/** Receives posted at once while the flood is drained. */
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
    bool active;   /**< the sender sends */
    bool draining; /**< the receiver receives */
    uint32_t from_generation;
    uint32_t to_generation;
    uint32_t sent;
    uint32_t posted;
    uint32_t received;
    struct flood_slot slots[FLOOD_SLOTS];
};

void flood_open(struct flood *flood, struct workload *workload, uint32_t from, uint32_t to);

/** Sends as much as it may, or receives. Call between steps. */
void flood_step(struct flood *flood);

/** The receiver begins to receive; the sender stops. */
void flood_drain(struct flood *flood);

/** Is everything received, if it is drained? */
bool flood_is_over(const struct flood *flood);

/** An operation of a flood has completed; `context` is its slot. */
void flood_ended(void *context, const struct beowire_completion *done);

/** At the end: judges what has not arrived. */
void flood_close(struct flood *flood);

#endif /* BEOWIRE_SIMULATION_FLOOD_H */
