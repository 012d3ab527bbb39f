/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull_path.h - the paths from a peer, one for each lane: over which data is requested, how much at
 * once, and when a request counts as lost. For the files of message/.
 *
 * A path on which nothing has come for the timeout is *silent*. At the first silence, frames may
 * have been lost, so everything is requested again. After PULL_PATIENCE_SILENCES silences in a row
 * the lane or the peer may have died. Then one block at a time is requested, at intervals that
 * double, so that a dead peer costs little and its outstanding data takes no room from others. The
 * first frame that comes ends this. If there is another path, blocks move to it at the first
 * silence.
 *
 * An endpoint with more than PULL_FREE_PEERS peers on other hosts does not know how many will send
 * to it next, and a port of a switch has room for few blocks. So it requests PULL_BEGIN_BYTES of
 * one sender, and as much more as has come. While more than PULL_CROWD_PEERS send (a *crowd*), it
 * requests little, in small pieces, and of each an equal share. In an all-to-all, senders then
 * serve many receivers at the same time, and none of these waits for one sender. All their paths
 * are timed together, too.
 *
 * If requested blocks are lost, the buffer of a switch is full, perhaps for others as well. Then
 * less is requested over this path, in pieces, and more again while blocks come
 * (PULL_YIELD_PERCENT). A crowd requests little anyway. Silence is no sign of a full buffer: a peer
 * that computes is silent, too. What comes unasked has its own limit, `unasked_credit`.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_PULL_PULL_PATH_H
#define BEOWIRE_PULL_PULL_PATH_H

#include "message/state.h"

/** A receiver's state of the path from a peer over one lane. */
struct pull_path {
    uint32_t srtt_ns; /**< from PULL to the whole block, smoothed; 0: none measured */
    uint32_t rttvar_ns;
    uint64_t heard_ns;   /**< when data last came */
    uint64_t silence_ns; /**< when a silence was last noticed */
    uint64_t avoid_ns;   /**< silent: avoid the path until then, if there is another */
    struct pull_rate rate;
    uint32_t outstanding_bytes; /**< requested: at most PULLS_PER_PEER * PULL_BLOCKS blocks */
    uint32_t serial;            /**< of the block requested last */
    uint32_t heard_serial;      /**< the latest with data received */
    uint32_t heard_unasked;     /**< the same for unasked blocks */
    uint32_t most_bytes;        /**< the most that was outstanding */
    uint32_t window_bytes;      /**< so much is requested at once, as learnt from losses; 0: as much
                                     as there is room for */
    uint32_t yielded_serial;    /**< the last block requested before the window was reduced */
    uint16_t blocks;            /**< outstanding */
    uint8_t silences;           /**< in a row, since data came last */
};

static_assert(sizeof(struct pull_path) == MESSAGE_PATH_BYTES, "what callers make room for");

/** Was it silent so often that one block at a time is requested? */
static inline bool pull_path_is_quiet(const struct pull_path *path)
{
    return path->silences >= PULL_PATIENCE_SILENCES;
}

/** Has segments of it been requested that have not all come? */
static inline bool pull_is_out(const struct pull_block *block)
{
    return block->accounted_bytes > 0;
}

/** Has it as many requests as it may have, so that other peers come first? */
bool pull_path_is_full(const struct pull_path *path);

/** Are requests to the peer limited, because many others may send over the same switch? */
bool pull_path_is_limited(const struct message_layer *layer, const struct message_peer *peer);

/** Are they, and several such peers send now? */
bool pull_path_is_in_crowd(const struct message_layer *layer, const struct message_peer *peer);

/** A first message of a peer is pulled, or its last one is not any more. */
void pull_path_begin_peer(struct message_layer *layer, struct message_peer *peer);
void pull_path_end_peer(struct message_layer *layer, struct message_peer *peer);

/** Has this peer of a crowd all requests that are its share? */
bool pull_path_has_share(const struct message_layer *layer, const struct message_peer *peer);

/** The most to request together of a block of this peer. */
uint64_t pull_path_bytes(const struct message_layer *layer, const struct message_peer *peer);

/** Segments of the block, `bytes` bytes, are requested over the lane. */
void pull_path_ask(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                   struct pull_block *block, uint64_t bytes, uint64_t now_ns);

/** The block has come, is not wanted any more, or is about to be requested again. */
void pull_path_settle(struct message_layer *layer, struct message_peer *peer,
                      struct pull_block *block);

/** Data has come over the lane. @return true: it was quiet until now. */
bool pull_path_heard(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                     uint64_t now_ns);

/** Nothing has come over the lane for the timeout. */
void pull_path_silent(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                      uint64_t now_ns);

/** Part of the block is lost: data that was requested later has come. Requests less, once for all
 *  that was requested before. */
void pull_path_yield(const struct message_layer *layer, struct message_peer *peer,
                     const struct pull_block *block, uint32_t segment_bytes);

/** A block comes, and is still accounted: as much as the window may be requested, a little more. */
void pull_path_recover(const struct message_layer *layer, struct pull_path *path,
                       const struct pull_block *block, uint32_t segment_bytes);

/** Measures the time of a block that came completely at the first attempt. */
void pull_path_time(struct pull_path *path, uint64_t asked_ns, uint64_t now_ns);

/** Data has come: measures the rate, of a path or a lane. */
void pull_rate_measure(struct pull_rate *rate, uint64_t bytes, uint64_t now_ns);

/** When the block counts as lost if nothing comes. */
uint64_t pull_path_due(const struct message_layer *layer, const struct pull_path *path,
                       const struct pull_block *block);

/** The lane on which these bytes would arrive first. `for_more`: only a lane with room for more
 *  requests that is not in `closed` (bit i: lane i).
 *  @return LANES_MAX: there is none. */
unsigned pull_path_choose(const struct message_layer *layer, const struct message_peer *peer,
                          uint64_t bytes, uint64_t now_ns, bool for_more, uint32_t closed);

#endif /* BEOWIRE_PULL_PULL_PATH_H */
