/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_queue.h - Ethernet frames that wait for their time, first in, first out.
 *
 * A ring of bytes: each frame lies in one piece behind a small header, so that it can be handed to
 * the kernel where it is. Memory is bounded by what frame_queue_open() was given, and is taken from
 * the system only as far as the queue ever grows.
 *
 * Threads: a queue belongs to one thread. Ownership: a pointer to a frame is valid until the frame
 * is removed.
 */
#ifndef BEOWIRE_LAB_FRAME_QUEUE_H
#define BEOWIRE_LAB_FRAME_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_queue {
    uint8_t *bytes;
    size_t capacity; /**< bytes of the ring, a multiple of 16 */
    uint64_t head;   /**< where the oldest frame begins; counts up and never wraps */
    uint64_t tail;   /**< where the next frame will begin; head <= tail <= head + capacity */
};

struct queued_frame {
    uint64_t release_ns;  /**< when it may leave */
    const uint8_t *bytes; /**< its first byte, in the queue */
    size_t length_bytes;
};

/** Makes an empty queue of at most `capacity_bytes`, headers included: a multiple of 16, not 0.
 *  Returns 0 or a negative errno. */
int frame_queue_open(struct frame_queue *queue, size_t capacity_bytes);

/** Frees the memory. */
void frame_queue_close(struct frame_queue *queue);

/** Room for one frame of `length_bytes`, at the end of the queue, or NULL when the queue is full.
 *  The frame is in the queue once it is committed; reserving again gives the same room. */
uint8_t *frame_queue_reserve(struct frame_queue *queue, size_t length_bytes);

/** Puts the reserved frame into the queue. `length_bytes` is at most what was reserved. */
void frame_queue_commit(struct frame_queue *queue, size_t length_bytes, uint64_t release_ns);

/** Where the oldest frame is: start here with frame_queue_next(). */
uint64_t frame_queue_begin(const struct frame_queue *queue);

/** Reads the frame at `*cursor`, and moves the cursor to the one behind it. False: there is none.
 */
bool frame_queue_next(const struct frame_queue *queue, uint64_t *cursor,
                      struct queued_frame *frame);

/** Removes all frames before the cursor. */
void frame_queue_remove_until(struct frame_queue *queue, uint64_t cursor);

#endif /* BEOWIRE_LAB_FRAME_QUEUE_H */
