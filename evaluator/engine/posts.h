/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posts.h - the posted sends and receives of a pattern (driver.h: post_send()). At most RUN_WINDOW
 * of each are posted at a time; they complete in order.
 */
#ifndef BEOWIRE_ENGINE_POSTS_H
#define BEOWIRE_ENGINE_POSTS_H

#include "run.h"

struct posts {
    struct run *run;
    uint64_t sending;   /**< posted and not complete */
    uint64_t receiving; /**< posted and not complete */
    uint64_t sent;      /**< complete */
    uint64_t received;  /**< complete */
};

/** Posts a message of `size` bytes; while the driver has no room, makes progress on the posted
 *  ones. 0, a driver's error, or -ECANCELED if the run should end. */
int posts_send(struct posts *posts, const uint8_t *data, uint64_t size);
int posts_receive(struct posts *posts, uint8_t *data, uint64_t size);

/** The same, but returns -EAGAIN if there is no room: for patterns in which both ends send, and
 *  each must keep receiving so that the other gets room. */
int posts_try_send(struct posts *posts, const uint8_t *data, uint64_t size);

/** Makes progress on posted messages; with `wait`, until one has completed. */
int posts_progress(struct posts *posts, bool wait);

/** Waits until all posted messages are complete. */
int posts_settle(struct posts *posts);

#endif
