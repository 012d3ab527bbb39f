/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * train.h - what one recvmsg(2) of the UDP lane brings: a train of frames of one length, the last
 * perhaps shorter, which the kernel has kept together (UDP_GRO, udp(7)).
 *
 * If the lane has been told what to expect (struct lane_expectation), recvmsg is given parts such
 * that each frame's payload goes straight to its place, and each head to memory of our own:
 *
 *      bytes of the train:  | head 0 | payload 0 | head 1 | payload 1 | ... | whatever is more |
 *                               |         |          |         |                    |
 *                            heads[0]   target    heads[1]  target + payload       rest
 *
 * Only afterwards is it known what has come. Frames from the front of the train that are just what
 * was expected are *placed*; everything behind them is copied out into our own memory, and handed
 * on as bytes that follow one another.
 *
 * The target may be written only where nothing has arrived yet. Therefore the expectation moves
 * past every frame of its message that is met, placed or not, and never back.
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

/** Memory of our own that one train needs: heads, a train that nobody expected, and the same again
 *  to copy out what did not come as expected. */
#define TRAIN_ROOM_BYTES                                                                           \
    (TRAIN_FRAMES_MAX * (size_t)TRAIN_HEAD_BYTES_MAX + 2 * ((size_t)TRAIN_BYTES_MAX + 1))

#define TRAIN_PARTS_MAX (2 * TRAIN_FRAMES_MAX + 1)

/** Where the bytes of a train have been put. */
struct train {
    struct lane_expectation expected; /**< as it was; `frames` are those that have a place here */
    uint32_t laid_out_bytes;          /**< of the train, before `rest` */
    uint8_t *heads;                   /**< expected.head_bytes each */
    uint8_t *rest;                    /**< TRAIN_BYTES_MAX bytes */
    uint8_t *copies;                  /**< TRAIN_BYTES_MAX bytes */
};

/** Frames of one length, the last perhaps shorter, one after the other. */
struct train_run {
    const uint8_t *data;
    uint32_t bytes; /**< 0: no more */
    uint32_t frame_bytes;
};

/** What has come. */
struct train_contents {
    unsigned placed;          /**< so many frames were written to `frames` */
    struct train_run runs[2]; /**< the others, in order */
    size_t room_bytes;        /**< of the room, that have to be left alone until all was used */
};

/** Is this something that a train can be laid out for? */
bool train_can_expect(const struct lane_expectation *expectation);

/** Says where the bytes of the next train have to go.
 *
 * @param expectation one that train_can_expect(), or one of 0 frames
 * @param frames at most so many frames get a place
 * @param room TRAIN_ROOM_BYTES bytes
 * @param parts TRAIN_PARTS_MAX of them are written
 * @return how many parts there are */
unsigned train_lay_out(struct train *train, const struct lane_expectation *expectation,
                       unsigned frames, uint8_t *room, struct iovec *parts);

/** Sorts what has come: `bytes` bytes from `from`, frames of `frame_bytes` bytes, the last perhaps
 *  shorter.
 *
 * @param expectation moved on, past what has come of its message
 * @param frames room for the frames that were laid out: those that are placed */
void train_sort(const struct train *train, uint32_t bytes, uint32_t frame_bytes,
                const struct lane_address *from, struct lane_expectation *expectation,
                struct lane_incoming *frames, struct train_contents *contents);

/** Takes frames from a run. @return how many (0 .. count). */
unsigned train_take(struct train_run *run, const struct lane_address *from,
                    struct lane_incoming *frames, unsigned count);

#endif /* BEOWIRE_LANE_TRAIN_H */
