/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loss.h - which frames are lost: RACK (RFC 8985), over sequence numbers of frames.
 *
 * Send times decide, not sequences: a missing frame is lost if it was last sent before a frame that
 * has arrived, by more than the reordering window. So a retransmission that is lost is detected
 * like any other frame, without a timeout. An answered PROBE counts as a frame that has arrived.
 *
 *      missing frame sent at S        later frame sent at T arrived, after a round trip R
 *      lost at  S + R + window        for S before T
 *
 * The reordering window is 0 if the way has never reordered frames and three frames have arrived
 * behind the gap (the three duplicate acknowledgements of RFC 5681). Otherwise it is a quarter of
 * the shortest round trip. Each spurious retransmission, whose acknowledgement comes sooner than
 * any round trip, adds a quarter, up to the smoothed round trip. After 16 round trips with losses
 * and none spurious it is one quarter again. Frames sent together have the same time; their
 * sequences decide.
 *
 * Frames on different ways (two lanes) overtake one another without loss, so each way has its own
 * state.
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
    uint64_t evidence_ns;     /**< when the latest-sent frame that has arrived was sent; 0: none */
    uint64_t evidence_rtt_ns; /**< its round trip */
    uint32_t evidence_sequence; /**< its sequence */
    uint32_t forward;           /**< one past the highest sequence that has arrived */
};

struct loss {
    struct loss_way ways[3];  /**< FLOW_WAYS */
    uint64_t check_at_ns;     /**< when the next missing frame is lost; 0: none is missing */
    uint64_t spurious_ns;     /**< when the reordering window last became longer */
    uint64_t counted_ns;      /**< when `calm` was last counted up */
    bool reordering;          /**< the way changes the order of frames */
    uint8_t quarters;         /**< of the shortest round trip, in the reordering window; 0: one */
    uint8_t calm;             /**< round trips with losses since spurious_ns */
    uint64_t spurious_frames; /**< spurious retransmissions; never reset */
};

/** A frame has arrived. Call for the frames of one acknowledgement in the order of their sequences.
 *  @return its round trip, or 0 if unknown, because it was sent more than once (Karn). */
uint64_t loss_arrived(struct flow *flow, const struct flow_frame *frame, uint32_t sequence,
                      uint64_t now_ns);

/** The latest PROBE has arrived. */
void loss_probe_arrived(struct flow *flow, uint64_t now_ns);

/** Adds frames that are lost by now to `flow->lost`; sets check_at_ns. @return how many. */
uint32_t loss_detect(struct flow *flow, uint64_t now_ns);

#endif /* BEOWIRE_FLOW_LOSS_H */
