/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_queue.h - the posted messages of one direction, in order. *Copied* ones use buffers of the
 * driver, *direct* ones go from memory to memory. Those of one kind begin and end in order. One
 * that ends before an earlier one of the other kind is reported after it.
 *
 *      first              begun, ended, copied            end        numbers that only grow
 *        | not all done yet         | done up to there      |
 *
 * Pure.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_QUEUE_H
#define BEOWIRE_DRIVERS_VERBS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** As many as driver.h requires; a power of two. */
#define VERBS_WINDOW 64

struct verbs_region;

struct verbs_transfer {
    void *data;
    uint64_t size;
    struct verbs_region *region; /**< of a direct one that has begun */
    bool direct;
    bool done;
};

struct verbs_queue {
    struct verbs_transfer ring[VERBS_WINDOW];
    uint64_t first;
    uint64_t end;
    uint64_t copied; /**< copied ones before this are done */
    uint64_t begun;  /**< direct ones before this have begun */
    uint64_t ended;  /**< direct ones before this have ended */
};

static inline uint64_t verbs_queue_length(const struct verbs_queue *queue)
{
    return queue->end - queue->first;
}

/** False: there is no room. */
static inline bool verbs_queue_add(struct verbs_queue *queue, void *data, uint64_t size,
                                   bool direct)
{
    if (verbs_queue_length(queue) == VERBS_WINDOW) {
        return false;
    }
    queue->ring[queue->end++ % VERBS_WINDOW] =
        (struct verbs_transfer){.data = data, .size = size, .direct = direct};
    return true;
}

/** The first of the kind at or after the cursor; or NULL. */
static inline struct verbs_transfer *verbs_queue_at(struct verbs_queue *queue, uint64_t *cursor,
                                                    bool direct)
{
    if (*cursor < queue->first) {
        *cursor = queue->first;
    }
    while (*cursor != queue->end && queue->ring[*cursor % VERBS_WINDOW].direct != direct) {
        ++*cursor;
    }
    return *cursor == queue->end ? NULL : &queue->ring[*cursor % VERBS_WINDOW];
}

static inline struct verbs_transfer *verbs_queue_to_copy(struct verbs_queue *queue)
{
    return verbs_queue_at(queue, &queue->copied, false);
}

static inline struct verbs_transfer *verbs_queue_to_begin(struct verbs_queue *queue)
{
    return verbs_queue_at(queue, &queue->begun, true);
}

/** The next direct one to end; NULL: none under way. */
static inline struct verbs_transfer *verbs_queue_to_end(struct verbs_queue *queue)
{
    struct verbs_transfer *transfer = verbs_queue_at(queue, &queue->ended, true);
    return queue->ended < queue->begun ? transfer : NULL;
}

static inline void verbs_queue_copied(struct verbs_queue *queue)
{
    queue->ring[queue->copied++ % VERBS_WINDOW].done = true;
}

static inline void verbs_queue_begin(struct verbs_queue *queue, struct verbs_region *region)
{
    queue->ring[queue->begun++ % VERBS_WINDOW].region = region;
}

/** Returns its region. */
static inline struct verbs_region *verbs_queue_end(struct verbs_queue *queue)
{
    struct verbs_transfer *transfer = &queue->ring[queue->ended++ % VERBS_WINDOW];
    transfer->done = true;
    return transfer->region;
}

/** Removes the leading ones that are done. Returns their number. */
static inline uint64_t verbs_queue_settle(struct verbs_queue *queue)
{
    const uint64_t before = queue->first;
    while (queue->first != queue->end && queue->ring[queue->first % VERBS_WINDOW].done) {
        queue->first++;
    }
    return queue->first - before;
}

/** Removes the last one. Returns its region if it is under way, else NULL. */
static inline struct verbs_region *verbs_queue_drop(struct verbs_queue *queue)
{
    const uint64_t last = --queue->end;
    const struct verbs_transfer *transfer = &queue->ring[last % VERBS_WINDOW];
    struct verbs_region *region = transfer->done ? NULL : transfer->region;
    queue->copied = queue->copied > last ? last : queue->copied;
    queue->begun = queue->begun > last ? last : queue->begun;
    queue->ended = queue->ended > last ? last : queue->ended;
    return region;
}

#endif
