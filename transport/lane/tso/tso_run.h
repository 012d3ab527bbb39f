/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tso_run.h - sequenced frames that network cards cut: which of them go together, and how they are
 * told apart again.
 *
 * Frames of one length, the last perhaps shorter, simply follow one another:
 *
 *      segments   | head payload | head payload | head payload |
 *
 * Those of one message need one head between them. What is cut is the head of its EAGER and then
 * the message, in segments of which the first is that frame as it is:
 *
 *      segments   | head payload | payload        | payload       |
 *      frames       EAGER          FRAGMENT         FRAGMENT
 *
 * What the heads of the FRAGMENTs would say follows from the headers of each segment (tso_head.h):
 * their sequence, and where in the message they belong. What they would say of the sender (its
 * number, acknowledgement and credit) is missing, hence `tacit` (lane.h). So each segment can be
 * handed on by itself, and sent again as a frame of its own.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_LANE_TSO_RUN_H
#define BEOWIRE_LANE_TSO_RUN_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "lane/tso/tso_head.h"

#include <sys/uio.h>

/** Frames that are sent together at most: full ones of an MTU of 1,500, as many as one IP packet
 * has room for. */
#define TSO_RUN_FRAMES_MAX 46

/** Frames that go together. */
struct tso_run {
    enum tso_kind kind; /**< TSO_FRAMES or TSO_MESSAGE */
    unsigned frames;
    uint16_t destination;
    uint32_t key;
    uint32_t sequence; /**< this and the next four: as in struct tso_segments */
    uint16_t name;
    uint32_t offset;
    uint32_t segment_bytes;
    uint32_t bytes;
    unsigned part_count; /**< of `parts` */
    /** Where the bytes are, in order; but the first is left to whoever puts headers before them. */
    struct iovec parts[1 + 2 * TSO_RUN_FRAMES_MAX];
};

/** The head of a FRAGMENT. */
struct tso_run_head {
    struct frame_header header;
    struct frame_fragment fragment;
};

/** Finds those that go together from the first frame on.
 *
 * @param frames sequenced ones, `count` (> 0) of them, in the order of their sequence
 * @param most so many at most, 1 .. TSO_RUN_FRAMES_MAX */
void tso_run_load(struct tso_run *run, const struct lane_outgoing *frames, unsigned count,
                  unsigned most);

/** Makes frames of segments again.
 *
 * @param segments as read, not of TSO_DATA
 * @param payload theirs; has to outlive the use of the frames
 * @param heads room for as many as `frames` has; the same
 * @param count (> 0) room in `frames`
 * @return how many there are (1 .. count): those beyond are left out */
unsigned tso_run_split(const struct tso_segments *segments, const uint8_t *payload,
                       const struct lane_address *from, struct tso_run_head *heads,
                       struct lane_incoming *frames, unsigned count);

#endif /* BEOWIRE_LANE_TSO_RUN_H */
