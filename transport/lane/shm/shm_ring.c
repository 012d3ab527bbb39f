/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ring.h"

#include "lane/copy.h"

#include <string.h>

static_assert((SHM_CELLS & (SHM_CELLS - 1)) == 0, "counts of cells wrap around");
static_assert((SHM_DATA_BYTES & (SHM_DATA_BYTES - 1)) == 0, "counts of bytes wrap around");
static_assert(SHM_DATA_BYTES >= 2 * (SHM_FRAME_BYTES + SHM_LINE_BYTES),
              "the longest frame finds room wherever the last one ended");
static_assert(SHM_FRAME_BYTES <= UINT16_MAX, "a length has 16 bits");

#define LENGTH_SHIFT 32
#define ROUND_SHIFT 48

/** 1 in the first round, because the memory is initially 0. */
static uint64_t round_of(uint32_t cell)
{
    return (uint16_t)(cell / SHM_CELLS + 1);
}

static uint32_t lines_up(uint32_t bytes)
{
    return (bytes + SHM_LINE_BYTES - 1) & ~(SHM_LINE_BYTES - 1);
}

/* ---- producer ------------------------------------------------------------------------------ */

/** Reads what the consumer has returned. @return false: it claims more than it had. */
static bool learn_consumed(struct shm_producer *producer)
{
    /* Acquire: pairs with the release in shm_consumer_release(): its reads are before our writes.
     */
    uint32_t consumed = __atomic_load_n(&producer->ring->consumed, __ATOMIC_ACQUIRE);

    if (consumed - producer->consumed > producer->written - producer->consumed) {
        producer->broken = true;
        return false;
    }
    if (consumed != producer->consumed) {
        producer->data_tail = producer->data_after[(consumed - 1) % SHM_CELLS];
        producer->consumed = consumed;
    }
    return true;
}

/** Finds `bytes` contiguous bytes of data. @return false: no room. */
static bool find_room(struct shm_producer *producer, uint32_t bytes, uint32_t *start)
{
    uint32_t head = producer->data_head;

    if (head % SHM_DATA_BYTES + bytes > SHM_DATA_BYTES) {
        head += SHM_DATA_BYTES - head % SHM_DATA_BYTES;
    }
    if (head + bytes - producer->data_tail > SHM_DATA_BYTES) {
        return false;
    }
    *start = head;
    return true;
}

/** Copies a head and a payload that together fit into a cell. */
static void copy_short(uint8_t *to, const struct lane_outgoing *frame)
{
    memcpy(to, frame->head, frame->head_bytes);
    if (frame->payload_bytes > 0) {
        copy_bytes(to + frame->head_bytes, frame->payload, frame->payload_bytes);
    }
}

bool shm_producer_put(struct shm_producer *producer, const struct lane_outgoing *frame)
{
    uint32_t bytes = frame->head_bytes + frame->payload_bytes;
    uint32_t offset = 0;

    if (producer->broken ||
        (producer->written - producer->consumed == SHM_CELLS &&
         (!learn_consumed(producer) || producer->written - producer->consumed == SHM_CELLS))) {
        return false;
    }
    struct shm_cell *cell = &producer->ring->cells[producer->written % SHM_CELLS];
    if (bytes <= SHM_INLINE_BYTES) {
        copy_short(cell->bytes, frame);
    } else {
        uint32_t head_room = lines_up(frame->head_bytes);
        uint32_t room = head_room + lines_up(frame->payload_bytes);
        uint32_t start = 0;
        if (!find_room(producer, room, &start) &&
            (!learn_consumed(producer) || !find_room(producer, room, &start))) {
            return false;
        }
        offset = start % SHM_DATA_BYTES + head_room - frame->head_bytes;
        copy_short(producer->ring->data + offset, frame);
        producer->data_head = start + room;
    }
    producer->data_after[producer->written % SHM_CELLS] = producer->data_head;
    uint64_t control =
        round_of(producer->written) << ROUND_SHIFT | (uint64_t)bytes << LENGTH_SHIFT | offset;
    /* Release: pairs with the acquire in control_of(): whoever sees it sees the frame. */
    __atomic_store_n(&cell->control, control, __ATOMIC_RELEASE);
    producer->written++;
    return true;
}

void shm_producer_withdraw(const struct shm_producer *producer)
{
    /* Before the application changes its memory after getting it back. */
    __atomic_store_n(&producer->ring->withdrawn, 1, __ATOMIC_SEQ_CST);
}

uint32_t shm_producer_attention(const struct shm_producer *producer)
{
    /* Dekker's pattern with shm_consumer_sleep(), see the header. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint32_t attention = __atomic_load_n(&producer->ring->attention, __ATOMIC_RELAXED);

    return attention % 2 == 1 ? attention : 0;
}

/* ---- consumer ------------------------------------------------------------------------------ */

static uint64_t control_of(const struct shm_consumer *consumer, uint32_t cell)
{
    return __atomic_load_n(&consumer->ring->cells[cell % SHM_CELLS].control, __ATOMIC_ACQUIRE);
}

static bool is_filled(uint64_t control, uint32_t cell)
{
    return control >> ROUND_SHIFT == round_of(cell);
}

/** A frame at `data` that is too long to be copied as a whole: copies its headers. */
static void take_long(struct lane_incoming *frame, struct shm_copy *copy, const uint8_t *data)
{
    const struct frame_header *header = (const struct frame_header *)(const void *)copy->bytes;

    memcpy(copy->bytes, data, SHM_COPIED_BYTES);
    frame->data = copy->bytes;
    frame->payload = data + frame_head_bytes((enum frame_type)header->type);
}

unsigned shm_consumer_take(struct shm_consumer *consumer, struct lane_incoming *frames,
                           struct shm_copy *copies, unsigned count)
{
    unsigned taken = 0;

    while (taken < count && !consumer->broken) {
        uint64_t control = control_of(consumer, consumer->taken);
        if (!is_filled(control, consumer->taken) ||
            consumer->taken - consumer->released == SHM_CELLS) {
            break;
        }
        const struct shm_cell *cell = &consumer->ring->cells[consumer->taken % SHM_CELLS];
        uint32_t bytes = (uint16_t)(control >> LENGTH_SHIFT);
        uint32_t offset = (uint32_t)control;
        struct lane_incoming *frame = &frames[taken];
        frame->bytes = bytes;
        frame->payload = NULL;
        frame->data = copies[taken].bytes;
        if (bytes <= SHM_INLINE_BYTES) {
            /* All of it, because a copy of constant length is a few instructions. */
            memcpy(copies[taken].bytes, cell->bytes, SHM_INLINE_BYTES);
        } else if (bytes > SHM_FRAME_BYTES || offset > SHM_DATA_BYTES - bytes) {
            consumer->broken = true;
            break;
        } else if (bytes <= SHM_COPIED_BYTES) {
            memcpy(copies[taken].bytes, consumer->ring->data + offset, bytes);
        } else {
            take_long(frame, &copies[taken], consumer->ring->data + offset);
        }
        consumer->taken++;
        taken++;
    }
    return taken;
}

bool shm_consumer_was_allowed(const struct shm_consumer *consumer)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* after the reads */
    return __atomic_load_n(&consumer->ring->withdrawn, __ATOMIC_SEQ_CST) == 0;
}

void shm_consumer_release(struct shm_consumer *consumer)
{
    if (consumer->released != consumer->taken) {
        consumer->released = consumer->taken;
        /* Release: our reads of cells and data come before the producer writes them again. */
        __atomic_store_n(&consumer->ring->consumed, consumer->taken, __ATOMIC_RELEASE);
    }
}

bool shm_consumer_is_empty(const struct shm_consumer *consumer)
{
    return consumer->broken || !is_filled(control_of(consumer, consumer->taken), consumer->taken);
}

/** Only we write `attention`; a producer that does so harms only itself. */
static uint32_t own_attention(const struct shm_consumer *consumer)
{
    return __atomic_load_n(&consumer->ring->attention, __ATOMIC_RELAXED);
}

void shm_consumer_sleep(const struct shm_consumer *consumer)
{
    __atomic_store_n(&consumer->ring->attention, own_attention(consumer) | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* Dekker's pattern, see the header */
}

void shm_consumer_wake(const struct shm_consumer *consumer)
{
    __atomic_store_n(&consumer->ring->attention, (own_attention(consumer) | 1) + 1,
                     __ATOMIC_RELAXED);
}
