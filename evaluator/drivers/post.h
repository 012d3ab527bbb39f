/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * post.h - a queue of posted messages, for drivers over a stream of bytes. Each moves as far as the
 * stream accepts or has bytes, one after the other.
 *
 *      first                    moving            end        numbers that only grow
 *        | complete, not reported | not complete    |
 */
#ifndef BEOWIRE_DRIVERS_POST_H
#define BEOWIRE_DRIVERS_POST_H

#include <errno.h>
#include <stdint.h>

/** As many as driver.h requires; a power of two. */
#define POST_SLOTS 64

struct post {
    union {
        const uint8_t *out;
        uint8_t *in;
    } at;          /**< the next byte */
    uint64_t left; /**< bytes not yet moved */
};

struct post_queue {
    struct post slots[POST_SLOTS];
    uint64_t first;
    uint64_t moving;
    uint64_t end;
};

/** Moves bytes of one message without advancing it. Returns their number; 0: none now; or a
 *  negative errno. */
typedef int64_t post_mover(void *session, const struct post *post);

/** The slot of a new message; NULL: no room. */
static inline struct post *post_new(struct post_queue *queue, uint64_t size)
{
    if (queue->end - queue->first == POST_SLOTS) {
        return NULL;
    }
    struct post *post = &queue->slots[queue->end++ % POST_SLOTS];
    post->left = size;
    return post;
}

/** Moves as much as is possible now. The number of bytes, or a negative errno. */
static inline int64_t post_push(struct post_queue *queue, post_mover *move, void *session)
{
    int64_t moved = 0;
    while (queue->moving != queue->end) {
        struct post *post = &queue->slots[queue->moving % POST_SLOTS];
        int64_t bytes = move(session, post);
        if (bytes < 0) {
            return bytes;
        }
        if (bytes == 0) {
            break;
        }
        moved += bytes;
        post->at.in += bytes;
        post->left -= (uint64_t)bytes;
        queue->moving += post->left == 0 ? 1 : 0;
    }
    return moved;
}

/** Removes the complete messages, and returns their number. */
static inline uint64_t post_ended(struct post_queue *queue)
{
    uint64_t ended = queue->moving - queue->first;
    queue->first = queue->moving;
    return ended;
}

/** Posts a send, and moves what it can at once. 0, -EAGAIN (no room), or an error. */
static inline int post_out(struct post_queue *queue, const void *data, uint64_t size,
                           post_mover *move, void *session)
{
    struct post *post = post_new(queue, size);
    if (post == NULL) {
        return -EAGAIN;
    }
    post->at.out = data;
    int64_t moved = post_push(queue, move, session);
    return moved < 0 ? (int)moved : 0;
}

/** Posts a receive. 0, or -EAGAIN (no room). */
static inline int post_in(struct post_queue *queue, void *data, uint64_t size)
{
    struct post *post = post_new(queue, size);
    if (post == NULL) {
        return -EAGAIN;
    }
    post->at.in = data;
    return 0;
}

#endif
