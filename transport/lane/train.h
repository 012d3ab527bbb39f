/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * train.h - a train: frames of one length, the last perhaps shorter, which one recvmsg(2) of the
 * UDP lane receives together (UDP_GRO, udp(7)).
 *
 * If the lane was told what to expect (struct lane_expectation), recvmsg gets parts such that each
 * payload is written to its place, and each head to memory of our own:
 *
 *      bytes of the train:  | head 0 | payload 0 | head 1 | payload 1 | ... | further bytes    |
 *                               |         |          |         |                    |
 *                            heads[0]   target    heads[1]  target + payload       rest
 *
 * Only afterwards it is known what has come. Frames at the front of the train that are as expected
 * are *placed*. All bytes after them are copied to our own memory, where they are contiguous.
 *
 * The target may be written only where no data has arrived yet. Therefore the expectation moves
 * past every received frame of its message, placed or not, and never back.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_LANE_TRAIN_H
#define BEOWIRE_LANE_TRAIN_H

#include "lane/lane.h"

#include <stddef.h>
#include <sys/uio.h>

/** No datagram is longer (UDP's length has 16 bits). */
#define TRAIN_BYTES_MAX 65535u

/** Frames of a train that can be placed, and that the kernel takes for sending (UDP_MAX_SEGMENTS
 *  of older kernels). */
#define TRAIN_FRAMES_MAX 64

/** Longest head of an expected frame. */
#define TRAIN_HEAD_BYTES_MAX 64

/** Memory for one train: heads, an unexpected train, and as much again for copies of bytes that did
 *  not come as expected. */
#define TRAIN_ROOM_BYTES                                                                           \
    (TRAIN_FRAMES_MAX * (size_t)TRAIN_HEAD_BYTES_MAX + 2 * ((size_t)TRAIN_BYTES_MAX + 1))

#define TRAIN_PARTS_MAX (2 * TRAIN_FRAMES_MAX + 1)

/** Where the bytes of a train were written. */
struct train {
    struct lane_expectation expected; /**< a copy; `frames` is limited to those with a place */
    uint32_t laid_out_bytes;          /**< of the train, before `rest` */
    uint8_t *heads;                   /**< expected.head_bytes each */
    uint8_t *rest;                    /**< TRAIN_BYTES_MAX bytes */
    uint8_t *copies;                  /**< TRAIN_BYTES_MAX bytes */
};

/** Contiguous frames of one length, the last perhaps shorter. */
struct train_run {
    const uint8_t *data;
    uint32_t bytes; /**< 0: no more */
    uint32_t frame_bytes;
};

/** The received frames. */
struct train_contents {
    unsigned placed;          /**< number of frames written to `frames` */
    struct train_run runs[2]; /**< the others, in order */
    size_t room_bytes;        /**< bytes of the room in use until all frames were handled */
};

/** Can a train be laid out for this expectation? */
bool train_can_expect(const struct lane_expectation *expectation);

/** Computes where the bytes of the next train are to be written.
 *
 * @param expectation one that train_can_expect(), or one of 0 frames
 * @param frames maximum number of frames with a place
 * @param room TRAIN_ROOM_BYTES bytes
 * @param parts TRAIN_PARTS_MAX of them are written
 * @return how many parts there are */
unsigned train_lay_out(struct train *train, const struct lane_expectation *expectation,
                       unsigned frames, uint8_t *room, struct iovec *parts);

/** Sorts a received train: `bytes` bytes from `from`, frames of `frame_bytes` bytes, the last
 * perhaps shorter.
 *
 * @param expectation moved past the received frames of its message
 * @param frames room for the frames that were laid out: those that are placed */
void train_sort(const struct train *train, uint32_t bytes, uint32_t frame_bytes,
                const struct lane_address *from, struct lane_expectation *expectation,
                struct lane_incoming *frames, struct train_contents *contents);

/** Takes frames from a run. @return how many (0 .. count). */
unsigned train_take(struct train_run *run, const struct lane_address *from,
                    struct lane_incoming *frames, unsigned count);

#endif /* BEOWIRE_LANE_TRAIN_H */
