/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_join.h - what a host does with the segments that come over a simulated lane that cuts: it
 * hands them out joined, each run in one piece, and puts it where it is expected (lane.h). A host
 * may write there before it knows what has come; this one always does.
 *
 *      sim_join_begin()    a run's first segment
 *      sim_join_append()   others that follow it, as long as there are such
 *      sim_join_end()      gives the run, as lane->operations->receive() hands it out
 *      sim_join_release()  what was handed out is not used any more
 *
 * Pure: no system call; memory is made by sim_join_open() only. Threads: one.
 */
#ifndef BEOWIRE_LANE_SIM_JOIN_H
#define BEOWIRE_LANE_SIM_JOIN_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "tuning.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Of a run at most, as of what a kernel joins. */
#define SIM_JOIN_BYTES_MAX 65535

/** Runs that can be handed out at once. */
#define SIM_JOIN_RUNS 4

/** What bytes become that a host writes, and that turn out to belong elsewhere. */
#define SIM_MISPLACED 0xA5

/** A segment that has arrived: DATA (frame.h), whole. */
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
    unsigned count; /**< of runs that are handed out, or have begun */
    uint8_t *room;
};

/** @return 0 or -ENOMEM. */
int sim_join_open(struct sim_joiner *joiner);
void sim_join_close(struct sim_joiner *joiner);

/** A segment has come damaged: its bytes may have been put where another one is expected. */
void sim_join_damaged(struct sim_joiner *joiner, uint32_t bytes);

/** Copies a segment. @return false: there is no room for another run. */
bool sim_join_begin(struct sim_joiner *joiner, const struct sim_segment *segment);

/** Copies a segment if it follows the last one. @return false: it does not. */
bool sim_join_append(struct sim_joiner *joiner, const struct sim_segment *segment);

/** @param placed is set to whether the payload went where it was expected.
 *  @return the segments of the run. */
uint32_t sim_join_end(struct sim_joiner *joiner, struct lane_incoming *incoming, bool *placed);

void sim_join_release(struct sim_joiner *joiner);

#endif /* BEOWIRE_LANE_SIM_JOIN_H */
