/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_ring.h - a lock-free queue of frames in shared memory, from one process to another.
 *
 *      ring:   consumed | attention | withdrawn | cell 0 | cell 1 | ... | data ...
 *      cell:   control 8 bytes | 56 bytes                    one cache line
 *
 * A frame uses one cell. Up to SHM_INLINE_BYTES it is in the cell itself: a message of 8 bytes, its
 * headers and its control word share one cache line, so receiving it costs one cache miss. A longer
 * frame is contiguous in `data`, which is used cyclically, and its cell has its place; its payload
 * begins at a cache line.
 *
 * Who writes what: the producer writes cells, data and `withdrawn`; the consumer writes `consumed`
 * and `attention`. No other process has the memory. All other state (how far each has come) is
 * private.
 *
 *      producer: frame into cell or data,  then  control             (release)
 *      consumer: sees control              (acquire), takes the frame,
 *                then                            consumed            (release)
 *      producer: sees consumed             (acquire), uses cell and data again
 *
 * `control` has the number of the round in which the cell was written, so nothing must be cleared
 * between rounds, and the consumer polls a cached line until it is written.
 *
 * Going to sleep: `attention` is even while the consumer polls the ring; the consumer makes it odd
 * when it stops. This is Dekker's pattern, so both sides need a full fence between their store and
 * their load:
 *
 *      producer: store control; fence; load attention     consumer: store attention; fence;
 *                                                                   load control
 *
 * In any order, the producer sees that it must wake the consumer, or the consumer sees the frame
 * and does not sleep. The fence costs the producer 10 ns for each call of send(), but does not
 * delay the frame, because it comes after it. membarrier(2) would avoid it, but would interrupt all
 * cores of the host's endpoints each time one of them goes to sleep.
 *
 * The other end is not trusted. A word that it writes is loaded once and checked; a frame's headers
 * are copied before they are used. If it breaks a rule, `broken` is set, and nothing more is read
 * or written. It may change a payload while we copy it, but that is its own message.
 */
#ifndef BEOWIRE_LANE_SHM_RING_H
#define BEOWIRE_LANE_SHM_RING_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "tuning.h"

#include <stdalign.h>

#define SHM_LINE_BYTES 64u

/** Longest frame within its cell. */
#define SHM_INLINE_BYTES 56u

/** Longest frame. */
#define SHM_FRAME_BYTES (SHM_PAYLOAD_BYTES + SHM_LINE_BYTES)

/** Frames of up to this length are copied when they are taken; of longer ones the headers are. */
#define SHM_COPIED_BYTES 256u
static_assert(FRAME_HEAD_BYTES_MAX <= SHM_COPIED_BYTES, "all headers are copied out");

struct shm_cell {
    /** round 16 bits | length of the frame 16 | offset in `data` 32 (0 if the frame is here) */
    uint64_t control;
    uint8_t bytes[SHM_INLINE_BYTES];
};
static_assert(sizeof(struct shm_cell) == SHM_LINE_BYTES, "a cell is a cache line");

/** The layout in shared memory; initially all zero. */
struct shm_ring {
    alignas(64) uint32_t consumed;  /**< cells returned by the consumer, in total */
    alignas(64) uint32_t attention; /**< even: the consumer polls; odd: it wants to be woken */
    uint32_t
        withdrawn; /**< not 0: the consumer must not read the producer's memory; written once */
    alignas(64) struct shm_cell cells[SHM_CELLS];
    alignas(4096) uint8_t data[SHM_DATA_BYTES];
};

struct shm_producer {
    struct shm_ring *ring;
    uint32_t written;               /**< cells, in total */
    uint32_t consumed;              /**< as last read from the ring */
    uint32_t data_head;             /**< bytes of data used, in total */
    uint32_t data_tail;             /**< returned bytes of data */
    uint32_t data_after[SHM_CELLS]; /**< data_head after the cell was written */
    bool broken;                    /**< the consumer broke a rule: not used any more */
};

struct shm_consumer {
    struct shm_ring *ring;
    uint32_t taken;    /**< cells, in total */
    uint32_t released; /**< returned cells */
    bool broken;       /**< the producer broke a rule: not used any more */
};

/** Room for the copy of one frame, or of its headers. */
struct shm_copy {
    alignas(64) uint8_t bytes[SHM_COPIED_BYTES];
};

/** Adds a frame of 1 to SHM_FRAME_BYTES bytes. @return false: no room, or broken. */
bool shm_producer_put(struct shm_producer *producer, const struct lane_outgoing *frame);

/** Call after adding: must the consumer be woken, and with which number? It has the same number
 *  until it has polled again, and needs to be woken once. @return an odd number; 0: it polls. */
uint32_t shm_producer_attention(const struct shm_producer *producer);

/** The consumer must no longer read our process's memory. */
void shm_producer_withdraw(const struct shm_producer *producer);

/** Call after reading: was it permitted until its end? If not, its data is undefined. */
bool shm_consumer_was_allowed(const struct shm_consumer *consumer);

/** Takes up to `count` frames; each uses one of `copies`. Writes all of `frames` but `from`. */
unsigned shm_consumer_take(struct shm_consumer *consumer, struct lane_incoming *frames,
                           struct shm_copy *copies, unsigned count);

/** Returns all taken frames. */
void shm_consumer_release(struct shm_consumer *consumer);

/** Is there nothing to take? */
bool shm_consumer_is_empty(const struct shm_consumer *consumer);

/** Marks the ring as not polled. If it is not empty afterwards, call shm_consumer_wake(), because
 *  the producer may not have noticed. */
void shm_consumer_sleep(const struct shm_consumer *consumer);

/** Marks the ring as polled again. */
void shm_consumer_wake(const struct shm_consumer *consumer);

#endif /* BEOWIRE_LANE_SHM_RING_H */
