/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull_path.h - the ways from a peer, one a lane: over which its data is asked for, how much at
 * once, and when what was asked for is taken for lost. For the files of message/.
 *
 * A path on which nothing has come for the timeout is *silent*. Once: perhaps frames were lost, so
 * all that was asked for is asked for again. PULL_PATIENCE_SILENCES times in a row: perhaps the
 * lane or the peer has died. Then one block at a time is asked for, at intervals that double, so
 * that a dead peer costs next to nothing, and what it owes takes no room from others; the first
 * frame that comes puts an end to that. If there is another path, blocks move to it at the first
 * silence.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_MESSAGE_PULL_PATH_H
#define BEOWIRE_MESSAGE_PULL_PATH_H

#include "message/state.h"

/** What a receiver knows of the way from a peer over one lane. */
struct pull_path {
    uint64_t srtt_ns; /**< from PULL to the whole block, smoothed; 0: none measured */
    uint64_t rttvar_ns;
    uint64_t heard_ns;          /**< data came last */
    uint64_t silence_ns;        /**< a silence was noticed last */
    uint64_t avoid_ns;          /**< silent: until then, if there is another */
    uint64_t rate_ns;           /**< since then the rate is measured, ... */
    uint64_t rate_bytes;        /**< ... and so much has come */
    uint32_t outstanding_bytes; /**< asked for: at most PULLS_MAX * PULL_BLOCKS blocks */
    uint32_t rate;              /**< bytes a microsecond, smoothed; 0: none measured */
    uint32_t serial;            /**< of the block that was asked for last */
    uint32_t heard_serial;      /**< the latest of which data has come */
    uint32_t heard_unasked;     /**< the latest of those that come unasked */
    uint16_t blocks;            /**< outstanding */
    uint8_t silences;           /**< in a row, since data came last */
};

static_assert(sizeof(struct pull_path) == MESSAGE_PATH_BYTES, "what callers make room for");

/** Has it been silent so often that one block at a time is asked for? */
static inline bool pull_path_is_quiet(const struct pull_path *path)
{
    return path->silences >= PULL_PATIENCE_SILENCES;
}

/** The block's missing segments, `bytes` bytes, are asked for over the lane. */
void pull_path_ask(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                   struct pull_block *block, uint64_t bytes, uint64_t now_ns);

/** The block is here, or not waited for any more, or about to be asked for again. */
void pull_path_settle(struct message_layer *layer, struct message_peer *peer,
                      struct pull_block *block);

/** Data has come over the lane. @return true: it was quiet until now. */
bool pull_path_heard(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                     uint64_t now_ns);

/** Nothing has come over the lane for the timeout. */
void pull_path_silent(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                      uint64_t now_ns);

/** Times a block that has come whole at the first attempt. */
void pull_path_time(struct pull_path *path, uint64_t asked_ns, uint64_t now_ns);

/** Notes that a block of so many bytes has come: how fast they come. */
void pull_path_measure(struct pull_path *path, uint64_t bytes, uint64_t now_ns);

/** When the block is taken for lost if nothing comes. */
uint64_t pull_path_due(const struct pull_path *path, const struct pull_block *block);

/** The lane on which so many bytes would be here first. `for_more`: only one on which there is room
 *  to ask for more, and that is not in `closed` (bit i: lane i).
 *  @return LANES_MAX: there is none. */
unsigned pull_path_choose(const struct message_layer *layer, const struct message_peer *peer,
                          uint64_t bytes, uint64_t now_ns, bool for_more, uint32_t closed);

#endif /* BEOWIRE_MESSAGE_PULL_PATH_H */
