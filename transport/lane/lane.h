/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - a way for frames to leave this process and to arrive in another.
 *
 * A lane may lose, double and reorder frames, but it does not alter them, and delivers to this
 * endpoint only frames that were sent to it. Everything else is the business of the layers above.
 *
 * Memory: a frame to be sent has LANE_HEADROOM writable bytes in front of its head, where the lane
 * writes its envelope. A received frame is the lane's, and valid until release().
 * Threads: one at a time.
 */
#ifndef BEOWIRE_LANE_LANE_H
#define BEOWIRE_LANE_LANE_H

#include <stdint.h>

/** Bytes in front of each frame's head that belong to the lane. */
#define LANE_HEADROOM 16

/** Where frames go to or come from: meaningful to one kind of lane only, comparable bytewise. */
struct lane_address {
    uint8_t bytes[16];
};

struct lane_outgoing {
    uint8_t *head;
    uint32_t head_bytes;
    uint32_t payload_bytes; /**< 0: none */
    const uint8_t *payload; /**< follows the head */
};

struct lane_incoming {
    const uint8_t *data; /**< without the lane's envelope */
    uint32_t bytes;
    struct lane_address from;
};

struct lane;

struct lane_operations {
    /** Sends frames in order; returns how many were taken (0 .. count): the kernel has copied
     *  them. 0 means "not now". */
    unsigned (*send)(struct lane *lane, const struct lane_address *to,
                     const struct lane_outgoing *frames, unsigned count);
    /** Takes up to `count` frames that have arrived; never blocks. */
    unsigned (*receive)(struct lane *lane, struct lane_incoming *frames, unsigned count);
    /** Gives back what the last receive() handed out. */
    void (*release)(struct lane *lane);
    /** 0, or a negative errno once the lane is of no use any more (-ENETDOWN). */
    int (*status)(struct lane *lane);
    /** Sleeps until a frame may have arrived, a signal comes, or the time is over.
     *  @return 1, 0 (time over), or -EINTR. */
    int (*wait)(struct lane *lane, uint64_t timeout_ns);
    void (*close)(struct lane *lane);
};

/** What every lane begins with. */
struct lane {
    const struct lane_operations *operations;
    uint32_t frame_bytes;      /**< longest frame, without the envelope */
    struct lane_address local; /**< where others reach us */
    uint64_t sent_frames;
    uint64_t sent_calls;     /**< system calls that sent them */
    uint64_t refused_frames; /**< offered and not taken */
    uint64_t received_frames;
    uint64_t foreign_frames; /**< arrived, but not for us or not whole */
    uint64_t dropped_frames; /**< lost by the kernel for want of room in our ring */
};

#endif /* BEOWIRE_LANE_LANE_H */
