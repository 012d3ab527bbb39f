/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits.h - where one way to send a message gives way to another: the crossovers that
 * `beowire tune` measures. All are the affair of one end: two need not have the same.
 */
#ifndef BEOWIRE_MESSAGE_LIMITS_H
#define BEOWIRE_MESSAGE_LIMITS_H

#include "tuning.h"

#include <stdint.h>

struct message_limits {
    uint32_t eager_bytes; /**< longer messages are announced (MESSAGE_EAGER_BYTES_MAX) */
    uint32_t
        eager_cut_frames;    /**< nor what takes more, where cards cut (MESSAGE_EAGER_CUT_FRAMES) */
    uint32_t burst_frames;   /**< fewer take the fast lane each (CONVOY_FRAMES_MIN) */
    uint32_t bundle_bytes;   /**< longer messages are not bundled (BUNDLE_BYTES_MAX) */
    uint32_t hold_posts;     /**< so many posts of a run leave as they come (core/hold.h) */
    uint32_t unasked_blocks; /**< sent with an announcement (PULL_UNASKED_BLOCKS) */
    uint32_t blocks_together; /**< that one PULL asks for (PULL_BLOCKS_TOGETHER) */
    uint32_t read_bytes;      /**< longer ones of our host both ends copy (PULL_READ_BYTES_MAX) */
    uint32_t one_sided_bytes; /**< so long ones are lent, where a lane can (ONE_SIDED_BYTES_MIN) */
};

#define MESSAGE_LIMITS_DEFAULT                                                                     \
    {                                                                                              \
        .eager_bytes = MESSAGE_EAGER_BYTES_MAX, .eager_cut_frames = MESSAGE_EAGER_CUT_FRAMES,      \
        .burst_frames = CONVOY_FRAMES_MIN, .bundle_bytes = BUNDLE_BYTES_MAX,                       \
        .hold_posts = HOLD_RUN_MIN, .unasked_blocks = PULL_UNASKED_BLOCKS,                         \
        .blocks_together = PULL_BLOCKS_TOGETHER, .read_bytes = PULL_READ_BYTES_MAX,                \
        .one_sided_bytes = ONE_SIDED_BYTES_MIN                                                     \
    }

/** Longest message that is sent at once to whoever has more to receive already. */
static inline uint32_t message_limits_busy(const struct message_limits *limits)
{
    return limits->eager_bytes < MESSAGE_EAGER_BUSY_BYTES_MAX ? limits->eager_bytes
                                                              : MESSAGE_EAGER_BUSY_BYTES_MAX;
}

/** Longest message of several frames, and put, that is injected. */
static inline uint32_t message_limits_inject(const struct message_limits *limits)
{
    return limits->eager_bytes < MESSAGE_INJECT_BYTES_MAX ? limits->eager_bytes
                                                          : MESSAGE_INJECT_BYTES_MAX;
}

#endif /* BEOWIRE_MESSAGE_LIMITS_H */
