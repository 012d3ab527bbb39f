/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posts.h - what a pattern has begun to send and to receive, over a driver that can (driver.h:
 * post_send()). No more than RUN_WINDOW of each are ever posted; they end in order.
 */
#ifndef BEOWIRE_ENGINE_POSTS_H
#define BEOWIRE_ENGINE_POSTS_H

#include "run.h"

struct posts {
    struct run *run;
    uint64_t sending;   /**< begun and not ended */
    uint64_t receiving; /**< begun and not ended */
    uint64_t sent;      /**< ended */
    uint64_t received;  /**< ended */
};

/** Begins one message of `size` bytes; where the driver has no room for it now, moves on what is
 *  posted until it has. 0, a driver's error, or -ECANCELED when the run should end. */
int posts_send(struct posts *posts, const uint8_t *data, uint64_t size);
int posts_receive(struct posts *posts, uint8_t *data, uint64_t size);

/** The same, but says -EAGAIN where there is no room now: for patterns in which both ends send, and
 *  each has to go on receiving so that the other gets room. */
int posts_try_send(struct posts *posts, const uint8_t *data, uint64_t size);

/** Moves on what is posted; with `wait`, until something of it has ended. */
int posts_progress(struct posts *posts, bool wait);

/** Waits until all that is posted has ended. */
int posts_settle(struct posts *posts);

#endif
