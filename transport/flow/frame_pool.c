/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_pool.h"

#include "lane/lane.h"

#include <errno.h>
#include <sys/mman.h>

#define CACHE_LINE_BYTES 64

static_assert(FRAME_POOL_SLIM_BYTES >= FRAME_SEQUENCED_HEAD_BYTES_MAX, "every head fits");

static size_t stride_of(uint32_t head_bytes)
{
    size_t bytes = sizeof(struct flow_frame) + LANE_HEADROOM + head_bytes;

    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/** Carves `count` frames out of `memory`; the list ends up in rising order. */
static struct flow_frame *carve(uint8_t *memory, uint32_t count, size_t stride)
{
    struct flow_frame *list = NULL;

    for (uint32_t i = count; i-- > 0;) {
        struct flow_frame *frame = (struct flow_frame *)(void *)(memory + i * stride);
        frame->next = list;
        frame->head = (uint8_t *)(frame + 1) + LANE_HEADROOM;
        list = frame;
    }
    return list;
}

int frame_pool_open(struct frame_pool *pool, uint32_t slim, uint32_t full, uint32_t frame_bytes)
{
    size_t slim_stride = stride_of(FRAME_POOL_SLIM_BYTES);
    size_t full_stride = stride_of(frame_bytes);
    size_t bytes = slim * slim_stride + full * full_stride;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        return -ENOMEM;
    }
    *pool = (struct frame_pool){.memory = memory, .memory_bytes = bytes, .full_bytes = frame_bytes};
    pool->full_begin = pool->memory + slim * slim_stride;
    pool->slim = carve(pool->memory, slim, slim_stride);
    pool->full = carve(pool->memory + slim * slim_stride, full, full_stride);
    return 0;
}

void frame_pool_close(struct frame_pool *pool)
{
    if (pool->memory != NULL) {
        munmap(pool->memory, pool->memory_bytes);
    }
    *pool = (struct frame_pool){0};
}
