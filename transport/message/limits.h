/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits.h - the limits between ways to send a message, which `beowire tune` measures. Each end has
 * its own; two ends need not have the same.
 */
#ifndef BEOWIRE_MESSAGE_LIMITS_H
#define BEOWIRE_MESSAGE_LIMITS_H

#include "tuning.h"

#include <stdint.h>

struct message_limits {
    uint32_t eager_bytes;      /**< longer messages are announced (MESSAGE_EAGER_BYTES_MAX) */
    uint32_t eager_cut_frames; /**< as are those of more frames, if cards cut */
    uint32_t burst_frames;     /**< shorter bursts use the fast lane (CONVOY_FRAMES_MIN) */
    uint32_t bundle_bytes;     /**< longer messages are not bundled (BUNDLE_BYTES_MAX) */
    uint32_t hold_posts;       /**< first posts of a run, which are not held (core/hold.h) */
    uint32_t unasked_blocks;   /**< sent with an announcement (PULL_UNASKED_BLOCKS) */
    uint32_t blocks_together;  /**< requested by one PULL (PULL_BLOCKS_TOGETHER) */
    uint32_t read_bytes;       /**< both ends copy longer ones on a host (PULL_READ_BYTES_MAX) */
    uint32_t one_sided_bytes;  /**< longer ones are lent, if a lane can (ONE_SIDED_BYTES_MIN) */
};

#define MESSAGE_LIMITS_DEFAULT                                                                     \
    {                                                                                              \
        .eager_bytes = MESSAGE_EAGER_BYTES_MAX, .eager_cut_frames = MESSAGE_EAGER_CUT_FRAMES,      \
        .burst_frames = CONVOY_FRAMES_MIN, .bundle_bytes = BUNDLE_BYTES_MAX,                       \
        .hold_posts = HOLD_RUN_MIN, .unasked_blocks = PULL_UNASKED_BLOCKS,                         \
        .blocks_together = PULL_BLOCKS_TOGETHER, .read_bytes = PULL_READ_BYTES_MAX,                \
        .one_sided_bytes = ONE_SIDED_BYTES_MIN                                                     \
    }

/** Longest message sent without announcement to a peer that has others to receive. */
static inline uint32_t message_limits_busy(const struct message_limits *limits)
{
    return limits->eager_bytes < MESSAGE_EAGER_BUSY_BYTES_MAX ? limits->eager_bytes
                                                              : MESSAGE_EAGER_BUSY_BYTES_MAX;
}

/** Longest injected message of several frames, or injected put. */
static inline uint32_t message_limits_inject(const struct message_limits *limits)
{
    return limits->eager_bytes < MESSAGE_INJECT_BYTES_MAX ? limits->eager_bytes
                                                          : MESSAGE_INJECT_BYTES_MAX;
}

#endif /* BEOWIRE_MESSAGE_LIMITS_H */
