/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull_internal.h - shared by the files of pull/: pull.c (beginning and end), pull_ask.c (requests
 * and repeated requests), pull_data.c (received data) and pull_read.c (data read from the memory of
 * a sender on our host).
 */
#ifndef BEOWIRE_PULL_PULL_INTERNAL_H
#define BEOWIRE_PULL_PULL_INTERNAL_H

#include "pull/pull.h"
#include "pull/pull_path.h"

static inline uint64_t pull_block_bytes(const struct pull *pull)
{
    return (uint64_t)pull->segment_bytes * pull->block_segments;
}

/** Segments of a block, as bits. */
static inline uint64_t pull_all_segments(const struct pull *pull, uint32_t block)
{
    uint64_t left = pull->bytes - block * pull_block_bytes(pull);
    uint64_t segments = (left + pull->segment_bytes - 1) / pull->segment_bytes;

    segments = segments < pull->block_segments ? segments : pull->block_segments;
    return segments == 64 ? UINT64_MAX : (UINT64_C(1) << segments) - 1;
}

/** Bytes of this many full segments; the last one of a message may be shorter. */
static inline uint64_t pull_bytes_of(const struct pull *pull, uint64_t segments)
{
    return (uint64_t)__builtin_popcountll(segments) * pull->segment_bytes;
}

/** The next block of the message; its slot must be free. */
struct pull_block *pull_open_block(struct pull *pull);

/** Marks these missing segments of the block as requested; also for unasked ones. */
static inline void pull_mark_asked(struct message_layer *layer, struct pull *pull,
                                   struct pull_block *block, uint64_t wanted, unsigned lane,
                                   uint64_t now_ns)
{
    block->asked = wanted;
    pull_path_ask(layer, pull->peer, lane, block, pull_bytes_of(pull, wanted), now_ns);
}

/** When a block of the message must be read from the sender's memory, if no data arrives first;
 *  UINT64_MAX: never. */
uint64_t pull_read_due(const struct pull *pull);

/** The pull ends: if the sender sent all of it in time, it counts as present again. */
static inline void pull_note_presence(const struct pull *pull)
{
    if (!pull->sender_absent) {
        pull->peer->absences = 0;
    }
}

/** Reads a block that is due, which may end the pull. */
void pull_read(struct message_layer *layer, struct pull *pull);

/** The block is complete and no longer outstanding, which may end the pull. */
void pull_block_done(struct message_layer *layer, struct pull *pull, struct pull_block *block);

/** Begins messages that have waited for others to end, oldest first. */
void pull_begin_waiting(struct message_layer *layer, uint64_t now_ns);

/** Requests outstanding data of these lanes (bit i: lane i) again, except block `but` (may be
 *  NULL). */
void pull_ask_all_again(struct message_layer *layer, const struct message_peer *peer,
                        uint32_t lanes, const struct pull_block *but);

#endif /* BEOWIRE_PULL_PULL_INTERNAL_H */
