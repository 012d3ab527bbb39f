/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loss.h - which frames are lost: RACK (RFC 8985), over sequence numbers of frames.
 *
 * Time tells, not the order of sequences: of frames that are missing, those are lost that were sent
 * (for the last time) before one that is known to have arrived, by more than the reordering window.
 * So a frame that was sent again and lost again is found out like any other, without a timeout. A
 * PROBE that was answered counts as a frame that has arrived.
 *
 *      missing frame sent at S        later frame sent at T arrived, after a round trip R
 *      lost at  S + R + window        for S before T
 *
 * The reordering window is 0 while the way has never changed the order of frames and three frames
 * are known to have come behind the gap (the three duplicate acknowledgements of RFC 5681), else a
 * quarter of the shortest round trip, and one quarter more each time that a frame turns out to have
 * been sent again for nothing: its acknowledgement comes sooner than any round trip. At most it is
 * the smoothed round trip; after 16 round trips with losses and without such an error it is a
 * quarter again. Frames that leave together have the same time; their sequences decide.
 *
 * Frames on different ways (two lanes) overtake one another without any loss, so all of this is
 * kept for each way alone.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_LOSS_H
#define BEOWIRE_FLOW_LOSS_H

#include <stdbool.h>
#include <stdint.h>

struct flow;
struct flow_frame;

/** What is known of the frames that left on one way (enum flow_way). */
struct loss_way {
    uint64_t evidence_ns;       /**< when the frame sent last of those that have arrived left; 0: no
                                     evidence */
    uint64_t evidence_rtt_ns;   /**< and its round trip */
    uint32_t evidence_sequence; /**< and which that was */
    uint32_t forward;           /**< one past the highest sequence that has arrived */
};

struct loss {
    struct loss_way ways[3];  /**< FLOW_WAYS */
    uint64_t check_at_ns;     /**< when a missing frame becomes a lost one; 0: none waits */
    uint64_t spurious_ns;     /**< when the reordering window last became longer */
    uint64_t counted_ns;      /**< when `calm` was last counted up */
    bool reordering;          /**< the way changes the order of frames */
    uint8_t quarters;         /**< of the shortest round trip, in the reordering window; 0: one */
    uint8_t calm;             /**< round trips with losses since */
    uint64_t spurious_frames; /**< sent again for nothing, for good */
};

/** A frame is known to have arrived: notes what follows from it. Frames have to be told of in the
 *  order of their sequences, those of one acknowledgement.
 *  @return its round trip, or 0 if that cannot be told (Karn: it was sent more than once). */
uint64_t loss_arrived(struct flow *flow, const struct flow_frame *frame, uint32_t sequence,
                      uint64_t now_ns);

/** The latest PROBE has arrived. */
void loss_probe_arrived(struct flow *flow, uint64_t now_ns);

/** Finds frames that are lost by now, and adds them to `flow->lost`; sets check_at_ns.
 *  @return how many. */
uint32_t loss_detect(struct flow *flow, uint64_t now_ns);

#endif /* BEOWIRE_FLOW_LOSS_H */
