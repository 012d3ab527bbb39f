/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_run.h - sequenced frames that network cards cut: which ones are sent together, and how they
 * are separated again.
 *
 * Frames of one length, the last perhaps shorter, are consecutive:
 *
 *      segments   | head payload | head payload | head payload |
 *
 * Those of one message share one head: the head of its EAGER is followed by the message, in
 * segments of which the first is that EAGER frame:
 *
 *      segments   | head payload | payload        | payload       |
 *      frames       EAGER          FRAGMENT         FRAGMENT
 *
 * The headers of each segment (tso_head.h) imply the sequence of the FRAGMENTs and their place in
 * the message. Their sender's number, acknowledgement and credit are missing, hence `tacit`
 * (lane.h). So each segment can be processed separately, and retransmitted as a frame of its own.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_LANE_TSO_RUN_H
#define BEOWIRE_LANE_TSO_RUN_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "lane/tso/tso_head.h"

#include <sys/uio.h>

/** The most frames sent together: full ones at an MTU of 1,500, as many as fit into one IP
 *  packet. */
#define TSO_RUN_FRAMES_MAX 46

/** Frames that are sent together. */
struct tso_run {
    enum tso_kind kind; /**< TSO_FRAMES or TSO_MESSAGE */
    unsigned frames;
    uint16_t destination;
    uint32_t key;
    uint32_t sequence; /**< this and the next four as in struct tso_segments */
    uint16_t name;
    uint32_t offset;
    uint32_t segment_bytes;
    uint32_t bytes;
    unsigned part_count; /**< of `parts` */
    /** The bytes in order; the first part is left for headers. */
    struct iovec parts[1 + 2 * TSO_RUN_FRAMES_MAX];
};

/** The head of a FRAGMENT. */
struct tso_run_head {
    struct frame_header header;
    struct frame_fragment fragment;
};

/** Finds the frames that can be sent together with the first.
 *
 *  @param frames `count` (> 0) sequenced ones, in the order of their sequence
 *  @param most at most this many, 1 .. TSO_RUN_FRAMES_MAX */
void tso_run_load(struct tso_run *run, const struct lane_outgoing *frames, unsigned count,
                  unsigned most);

/** Converts segments to frames.
 *
 *  @param segments from the headers, not of TSO_DATA
 *  @param payload of the segments; must outlive the frames
 *  @param heads room for as many as `frames` has; must outlive the frames
 *  @param count (> 0) room in `frames`
 *  @return their number (1 .. count); further ones are left out */
unsigned tso_run_split(const struct tso_segments *segments, const uint8_t *payload,
                       const struct lane_address *from, struct tso_run_head *heads,
                       struct lane_incoming *frames, unsigned count);

#endif /* BEOWIRE_LANE_TSO_RUN_H */
