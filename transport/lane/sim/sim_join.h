/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_join.h - how a host joins the segments of a simulated lane that cuts: each run is returned in
 * one piece, at the expected place (lane.h). Before it knows what has arrived, a host may write
 * there; this one always does.
 *
 *      sim_join_begin()    the first segment of a run
 *      sim_join_append()   segments that follow
 *      sim_join_end()      returns the run, as lane->operations->receive()
 *      sim_join_release()  returned runs are not used any more
 *
 * Pure: no system call; only sim_join_open() allocates memory. Threads: one.
 */
#ifndef BEOWIRE_LANE_SIM_JOIN_H
#define BEOWIRE_LANE_SIM_JOIN_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "tuning.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The most bytes of a run, as in a kernel. */
#define SIM_JOIN_BYTES_MAX 65535

/** The most runs returned at once. */
#define SIM_JOIN_RUNS 4

/** Overwrites bytes that a host has written at a wrong place. */
#define SIM_MISPLACED 0xA5

/** A whole segment: DATA (frame.h). */
struct sim_segment {
    const uint8_t *frame; /**< its header and payload */
    uint32_t bytes;       /**< of both */
    uint32_t segment_bytes;
    struct lane_address from;
};

struct sim_joiner {
    struct lane_expectation expectation;
    struct sim_run {
        struct frame_data head;
        struct lane_address from;
        uint32_t segment_bytes;
        uint32_t segments;
        uint32_t bytes;   /**< of payload */
        uint8_t *payload; /**< in the room */
    } runs[SIM_JOIN_RUNS];
    unsigned count; /**< of runs that were returned, or have begun */
    uint8_t *room;
};

/** @return 0 or -ENOMEM. */
int sim_join_open(struct sim_joiner *joiner);
void sim_join_close(struct sim_joiner *joiner);

/** A damaged segment has arrived: its bytes may have been written to the expected place. */
void sim_join_damaged(struct sim_joiner *joiner, uint32_t bytes);

/** Copies a segment. @return false: no room for another run. */
bool sim_join_begin(struct sim_joiner *joiner, const struct sim_segment *segment);

/** Copies a segment if it follows the last one. @return whether it does. */
bool sim_join_append(struct sim_joiner *joiner, const struct sim_segment *segment);

/** @param placed is set to whether the payload is at its expected place. @return the segments of
 *  the run. */
uint32_t sim_join_end(struct sim_joiner *joiner, struct lane_incoming *incoming, bool *placed);

void sim_join_release(struct sim_joiner *joiner);

#endif /* BEOWIRE_LANE_SIM_JOIN_H */
