/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_ring.h - a lock-free queue of frames in shared memory, from one process to another.
 *
 *      ring:   consumed | attention | withdrawn | cell 0 | cell 1 | ... | data ...
 *      cell:   control 8 bytes | 56 bytes                    one cache line
 *
 * A frame takes one cell. Up to SHM_INLINE_BYTES it lies in the cell itself: a message of 8 bytes,
 * its headers and the word that says it is there are one cache line, so receiving it costs one
 * cache miss. A longer one lies in one piece in `data`, which is used round and round, and its cell
 * says where; its payload begins on a cache line.
 *
 * Who writes what: the producer writes cells, data and `withdrawn`; the consumer writes `consumed`
 * and `attention`. Nobody else has the memory. All else (how far each has come) each keeps to
 * itself.
 *
 *      producer: frame into cell or data,  then  control             (release)
 *      consumer: sees control              (acquire), takes the frame,
 *                then                            consumed            (release)
 *      producer: sees consumed             (acquire), uses cell and data again
 *
 * `control` carries the number of the round in which the cell was written, so nothing has to be
 * cleared between rounds, and the consumer polls a line that is its own until it is written.
 *
 * Going to sleep: `attention` is even while the consumer polls the ring; it makes it odd when it no
 * longer does. This is Dekker's pattern, so both sides need a full fence between their store and
 * their load:
 *
 *      producer: store control; fence; load attention     consumer: store attention; fence;
 *                                                                   load control
 *
 * In whatever order these meet, the producer sees that it has to wake the consumer, or the consumer
 * sees the frame and does not sleep. The fence costs the producer 10 ns for each call of send(),
 * and nothing on the way of a frame, since it is behind it. membarrier(2) would spare it, and
 * interrupt every core of the host's endpoints each time one of them goes to sleep.
 *
 * The other end is not trusted. A word that it writes is loaded once and checked; a frame's headers
 * are copied out before anyone looks at them. If it breaks a rule, `broken` is set, and nothing
 * more is read or written. It may still alter a payload while we copy it: that is its own message.
 */
#ifndef BEOWIRE_LANE_SHM_RING_H
#define BEOWIRE_LANE_SHM_RING_H

#include "frame/frame.h"
#include "lane/lane.h"
#include "tuning.h"

#include <stdalign.h>

#define SHM_LINE_BYTES 64u

/** Longest frame that lies in its cell. */
#define SHM_INLINE_BYTES 56u

/** Longest frame. */
#define SHM_FRAME_BYTES (SHM_PAYLOAD_BYTES + SHM_LINE_BYTES)

/** Frames of up to this length are copied out whole when they are taken; of longer ones the headers
 *  are. */
#define SHM_COPIED_BYTES 256u
static_assert(FRAME_HEAD_BYTES_MAX <= SHM_COPIED_BYTES, "all headers are copied out");

struct shm_cell {
    /** round 16 bits | length of the frame 16 | offset in `data` 32 (0 if the frame is here) */
    uint64_t control;
    uint8_t bytes[SHM_INLINE_BYTES];
};
static_assert(sizeof(struct shm_cell) == SHM_LINE_BYTES, "a cell is a cache line");

/** As it lies in the shared memory; all zero at first. */
struct shm_ring {
    alignas(64) uint32_t consumed;  /**< cells that the consumer has given back, ever */
    alignas(64) uint32_t attention; /**< even: the consumer polls; odd: it wants to be woken */
    uint32_t withdrawn; /**< not 0: the consumer may not read the producer's memory; written once */
    alignas(64) struct shm_cell cells[SHM_CELLS];
    alignas(4096) uint8_t data[SHM_DATA_BYTES];
};

struct shm_producer {
    struct shm_ring *ring;
    uint32_t written;               /**< cells, ever */
    uint32_t consumed;              /**< as last read from the ring */
    uint32_t data_head;             /**< bytes of data used, ever */
    uint32_t data_tail;             /**< of these, given back */
    uint32_t data_after[SHM_CELLS]; /**< data_head when the cell had been written */
    bool broken;                    /**< the consumer broke a rule: use it no more */
};

struct shm_consumer {
    struct shm_ring *ring;
    uint32_t taken;    /**< cells, ever */
    uint32_t released; /**< of these, given back */
    bool broken;       /**< the producer broke a rule: use it no more */
};

/** Room for the copy of one frame, or of its headers. */
struct shm_copy {
    alignas(64) uint8_t bytes[SHM_COPIED_BYTES];
};

/** Puts a frame of 1 to SHM_FRAME_BYTES bytes.
 *  @return false: no room now, or broken. */
bool shm_producer_put(struct shm_producer *producer, const struct lane_outgoing *frame);

/** To be called after putting: does the consumer want to be woken, and with which number? It has
 *  the same number until it has polled again, and needs to be woken once.
 *  @return an odd number; 0: it polls. */
uint32_t shm_producer_attention(const struct shm_producer *producer);

/** The consumer may not read our process's memory any more. */
void shm_producer_withdraw(const struct shm_producer *producer);

/** After reading: was that allowed until the end of it? If not, who knows what was read. */
bool shm_consumer_was_allowed(const struct shm_consumer *consumer);

/** Takes up to `count` frames; each uses one of `copies`. Writes all of `frames` but `from`. */
unsigned shm_consumer_take(struct shm_consumer *consumer, struct lane_incoming *frames,
                           struct shm_copy *copies, unsigned count);

/** Gives back all that was taken. */
void shm_consumer_release(struct shm_consumer *consumer);

/** Would nothing be taken? */
bool shm_consumer_is_empty(const struct shm_consumer *consumer);

/** Says that the ring is not polled any more. If it is not empty after this, that has to be taken
 *  back: the producer may not have noticed. */
void shm_consumer_sleep(const struct shm_consumer *consumer);

/** Says that the ring is polled again. */
void shm_consumer_wake(const struct shm_consumer *consumer);

#endif /* BEOWIRE_LANE_SHM_RING_H */
