/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_pool.h - buffers for outgoing frames, all allocated when the endpoint opens.
 *
 * Two sizes: *slim* frames hold a head and a few bytes (data stays with the user), *full* ones hold
 * a whole frame of the lane (data is copied). Memory that is never used is never touched.
 * Not thread-safe.
 */
#ifndef BEOWIRE_FLOW_FRAME_POOL_H
#define BEOWIRE_FLOW_FRAME_POOL_H

#include "flow/flow.h"

/** Bytes of a slim frame's head: the longest of headers, and small messages beside them. */
#define FRAME_POOL_SLIM_BYTES 112

struct frame_pool {
    struct flow_frame *slim; /**< free ones */
    struct flow_frame *full;
    uint8_t *memory;
    size_t memory_bytes;
    const uint8_t *full_begin; /**< start of the full frames */
    uint32_t full_bytes;       /**< longest head of a full frame */
};

/** @return 0, or -ENOMEM. */
int frame_pool_open(struct frame_pool *pool, uint32_t slim, uint32_t full, uint32_t frame_bytes);

void frame_pool_close(struct frame_pool *pool);

/** A frame whose head has room for `bytes`; NULL if none is free or `bytes` is too long. */
static inline struct flow_frame *frame_pool_take(struct frame_pool *pool, size_t bytes)
{
    struct flow_frame **list = bytes <= FRAME_POOL_SLIM_BYTES ? &pool->slim : &pool->full;
    struct flow_frame *frame = *list;

    if (frame == NULL || (list == &pool->full && bytes > pool->full_bytes)) {
        return NULL;
    }
    *list = frame->next;
    frame->next = NULL;
    frame->owner = NULL;
    frame->exempt = false;
    frame->lent = false;
    frame->payload = NULL;
    frame->payload_bytes = 0;
    return frame;
}

/** Are `count` full frames and a slim one free? Reads each, which brings it into the cache. */
static inline bool frame_pool_has(const struct frame_pool *pool, uint32_t count)
{
    const struct flow_frame *frame = pool->full;

    while (frame != NULL && count > 1) {
        frame = frame->next;
        count--;
    }
    return frame != NULL && pool->slim != NULL;
}

static inline void frame_pool_give(struct frame_pool *pool, struct flow_frame *frame)
{
    struct flow_frame **list =
        (const uint8_t *)frame < pool->full_begin ? &pool->slim : &pool->full;

    frame->next = *list;
    *list = frame;
}

#endif /* BEOWIRE_FLOW_FRAME_POOL_H */
