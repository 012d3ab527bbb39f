/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_queue.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

struct header {
    uint64_t release_ns;
    uint32_t length_bytes; /* of the frame */
    uint32_t skip;         /* 1: no frame, the rest of the ring is unused: go on at its start */
};

static_assert(sizeof(struct header) == 16, "the header sets the alignment of the ring");

static size_t entry_bytes(size_t length_bytes)
{
    const size_t unit = sizeof(struct header);
    return unit + (length_bytes + unit - 1) / unit * unit;
}

static struct header *header_at(const struct frame_queue *queue, uint64_t position)
{
    /* Positions are multiples of the header's size, and so is the capacity. */
    return (struct header *)(void *)(queue->bytes + position % queue->capacity);
}

int frame_queue_open(struct frame_queue *queue, size_t capacity_bytes)
{
    if (capacity_bytes == 0 || capacity_bytes % sizeof(struct header) != 0) {
        return -EINVAL;
    }
    void *memory = mmap(NULL, capacity_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    *queue = (struct frame_queue){.bytes = memory, .capacity = capacity_bytes};
    return 0;
}

void frame_queue_close(struct frame_queue *queue)
{
    (void)munmap(queue->bytes, queue->capacity);
    *queue = (struct frame_queue){0};
}

uint8_t *frame_queue_reserve(struct frame_queue *queue, size_t length_bytes)
{
    const size_t needed = entry_bytes(length_bytes);
    size_t until_end = queue->capacity - (size_t)(queue->tail % queue->capacity);
    size_t skipped = needed > until_end ? until_end : 0;
    if (queue->tail == queue->head && skipped > 0) {
        /* Empty: starting over at the front of the ring costs nothing. */
        queue->tail += skipped;
        queue->head = queue->tail;
        skipped = 0;
    }
    size_t free_bytes = queue->capacity - (size_t)(queue->tail - queue->head);
    if (skipped + needed > free_bytes) {
        return NULL;
    }
    if (skipped > 0) {
        *header_at(queue, queue->tail) = (struct header){.skip = 1};
        queue->tail += skipped;
    }
    return (uint8_t *)(header_at(queue, queue->tail) + 1);
}

void frame_queue_commit(struct frame_queue *queue, size_t length_bytes, uint64_t release_ns)
{
    *header_at(queue, queue->tail) =
        (struct header){.release_ns = release_ns, .length_bytes = (uint32_t)length_bytes};
    queue->tail += entry_bytes(length_bytes);
}

uint64_t frame_queue_begin(const struct frame_queue *queue)
{
    return queue->head;
}

bool frame_queue_next(const struct frame_queue *queue, uint64_t *cursor, struct queued_frame *frame)
{
    if (*cursor != queue->tail && header_at(queue, *cursor)->skip) {
        *cursor += queue->capacity - *cursor % queue->capacity;
    }
    if (*cursor == queue->tail) {
        return false;
    }
    const struct header *header = header_at(queue, *cursor);
    *frame = (struct queued_frame){
        .release_ns = header->release_ns,
        .bytes = (const uint8_t *)(header + 1),
        .length_bytes = header->length_bytes,
    };
    *cursor += entry_bytes(header->length_bytes);
    return true;
}

void frame_queue_remove_until(struct frame_queue *queue, uint64_t cursor)
{
    queue->head = cursor;
}
