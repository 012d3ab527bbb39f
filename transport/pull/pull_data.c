/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: received data, and what it shows to be lost. */
#include "lane/copy.h"
#include "message/internal.h"
#include "pull/pull_internal.h"

#include <assert.h>

static struct pull *find_pull(const struct message_layer *layer, const struct message_peer *peer,
                              uint32_t message)
{
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *pull = LIST_ENTRY(link, struct pull, link);
        if (pull->message == message && pull->peer == peer) {
            return pull;
        }
    }
    return NULL;
}

bool pull_awaits(const struct message_layer *layer, const struct message_peer *peer,
                 uint32_t message)
{
    return find_pull(layer, peer, message) != NULL;
}

/** The first data of `block` has arrived: earlier requests on the same lane, of any message, that
 *  have not arrived are lost. Unasked blocks are ordered only among themselves, because requests
 *  may have been on their way when they were sent. */
static void notice_losses(struct message_layer *layer, const struct pull *pull,
                          const struct pull_block *block)
{
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *earlier = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; earlier->peer == pull->peer && i < PULL_BLOCKS; i++) {
            struct pull_block *other = &earlier->block[i];
            if (pull_is_out(other) && !other->again && other->lane == block->lane &&
                sequence_before(other->serial, block->serial) &&
                (other->unasked || !block->unasked)) {
                pull_path_yield(layer, pull->peer, other, earlier->segment_bytes);
                other->again = true;
                layer->pulls_changed = true;
            }
        }
    }
}

/** All of the block that was requested has come. */
static void settle(struct message_layer *layer, const struct pull *pull, struct pull_block *block,
                   uint64_t now_ns)
{
    struct pull_path *path = &pull->peer->pull_paths[block->lane];
    struct message_lane *lane = &layer->lanes[block->lane];

    pull_rate_measure(&path->rate, block->accounted_bytes, now_ns);
    pull_rate_measure(&lane->rate, block->accounted_bytes, now_ns);
    if (lane->best_rate < lane->rate.bytes_per_us) {
        lane->best_rate = lane->rate.bytes_per_us;
    }
    if (!layer->pulls_crowd && pull_path_is_limited(layer, pull->peer)) {
        layer->pull_window_bytes += block->accounted_bytes;
    }
    pull_path_recover(layer, path, block, pull->segment_bytes);
    pull_path_settle(layer, pull->peer, block);
    if (!block->repeated && !block->unasked) {
        pull_path_time(path, block->asked_ns, now_ns);
        if (pull_path_is_in_crowd(layer, pull->peer)) {
            rtt_sample(&layer->pull_rtt, now_ns, rtt_between(block->asked_ns, now_ns));
        }
    }
    layer->pulls_changed = true;
}

/** Data of the block has arrived over the requested lane, with `last` (a bit) its last segment:
 *  detects losses. */
static void draw_conclusions(struct message_layer *layer, struct pull *pull,
                             struct pull_block *block, uint64_t last)
{
    struct pull_path *path = &pull->peer->pull_paths[block->lane];

    uint32_t *heard = block->unasked ? &path->heard_unasked : &path->heard_serial;
    if (!block->repeated && sequence_before(*heard, block->serial)) { /* otherwise it may be old */
        *heard = block->serial;
        notice_losses(layer, pull, block);
    }
    /* The last requested segment has arrived, and others have not. */
    if ((block->missing & block->asked) != 0 && (block->asked & ~(last | (last - 1))) == 0) {
        pull_path_yield(layer, pull->peer, block, pull->segment_bytes);
        block->again = true;
        layer->pulls_changed = true;
    }
}

/** Copies data to its place, as far as there is room, unless it is there already. */
static void place(const struct pull *pull, uint64_t offset, const uint8_t *payload, uint64_t bytes)
{
    uint64_t room = offset < pull->capacity ? pull->capacity - offset : 0;

    if (room > 0 && payload != pull->target + offset) {
        copy_bytes(pull->target + offset, payload, bytes < room ? bytes : room);
    }
}

/** Takes data within one block. @return false: nothing new. */
static bool take(struct message_layer *layer, struct pull *pull, uint64_t offset,
                 const uint8_t *payload, uint64_t bytes, uint8_t lane, uint64_t now_ns)
{
    uint64_t first = offset / pull->segment_bytes;
    uint64_t index = first / pull->block_segments;
    unsigned within = (unsigned)(first % pull->block_segments);
    unsigned count = (unsigned)((bytes + pull->segment_bytes - 1) / pull->segment_bytes);
    uint64_t came = (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << within;
    struct pull_block *block = &pull->block[index % PULL_BLOCKS];

    if (!block->active || block->index != index || (block->missing & came) == 0) {
        return false;
    }
    for (uint64_t missing = block->missing & came; missing != 0;) {
        unsigned begin = (unsigned)__builtin_ctzll(missing);
        uint64_t run = missing >> begin;
        unsigned segments = ~run == 0 ? 64 : (unsigned)__builtin_ctzll(~run);
        uint64_t at = (uint64_t)(begin - within) * pull->segment_bytes;
        uint64_t length = (uint64_t)segments * pull->segment_bytes;
        length = length < bytes - at ? length : bytes - at;
        place(pull, offset + at, payload + at, length);
        pull->inbound->received += length;
        missing &= begin + segments == 64 ? 0 : UINT64_MAX << (begin + segments);
    }
    block->missing &= ~came;
    assert(pull->inbound->received <= pull->inbound->bytes); /* each byte counts once */
    if (block->lane == lane) {
        draw_conclusions(layer, pull, block, UINT64_C(1) << (within + count - 1));
    }
    if (pull_is_out(block) && (block->missing & block->asked) == 0) {
        settle(layer, pull, block, now_ns);
    }
    if (block->missing == 0) { /* perhaps by an earlier request, while none was outstanding */
        pull_block_done(layer, pull, block);
    }
    return true;
}

/** Bytes of the message in a DATA frame: a segment, or several joined by a lane. Segments are those
 *  of the message, not of its wanted part. @return 0: it violates the protocol. */
static uint64_t bytes_of(const struct pull *pull, const struct frame *frame, uint64_t offset)
{
    uint64_t left = offset < pull->inbound->bytes ? pull->inbound->bytes - offset : 0;
    uint64_t one = left < pull->segment_bytes ? left : pull->segment_bytes;
    uint64_t bytes = frame->payload_bytes;

    if (left == 0 || frame_data_has(frame, one)) {
        return one;
    }
    return bytes == left || (bytes < left && bytes % pull->segment_bytes == 0) ? bytes : 0;
}

enum pull_verdict pull_data(struct message_layer *layer, struct message_peer *peer,
                            const struct frame *frame, uint8_t lane, uint64_t now_ns)
{
    uint32_t message = from_le32(frame->data->message);
    struct pull *pull = find_pull(layer, peer, message);
    bool any = false;

    if (pull == NULL) {
        return PULL_UNKNOWN;
    }
    uint64_t offset = frame_data_segment(frame->data) * (uint64_t)pull->segment_bytes;
    uint64_t bytes = bytes_of(pull, frame, offset);
    if (bytes == 0) {
        return PULL_INVALID;
    }
    if (pull_path_heard(layer, peer, lane, now_ns)) {
        const struct pull_block *block =
            &pull->block[offset / pull_block_bytes(pull) % PULL_BLOCKS];
        pull_ask_all_again(layer, peer, UINT32_C(1) << lane, block); /* it is back */
    }
    for (uint64_t done = 0; done < bytes && pull != NULL;) {
        uint64_t at = offset + done;
        uint64_t room = pull_block_bytes(pull) - at % pull_block_bytes(pull);
        uint64_t now = bytes - done < room ? bytes - done : room;
        any |= take(layer, pull, at, frame->payload + done, now, lane, now_ns);
        done += now;
        pull = done < bytes ? find_pull(layer, peer, message) : NULL; /* it may have ended */
    }
    return any ? PULL_PLACED : PULL_DUPLICATE;
}

/** Bytes of the next block, if it is expected, too, nothing of it has arrived, and it fits into the
 *  buffer: the end of a message comes in batches that do not end with blocks. */
static uint64_t bytes_after(const struct pull *pull, const struct pull_block *block)
{
    const struct pull_block *next = &pull->block[(block->index + 1) % PULL_BLOCKS];
    uint64_t begin = (block->index + 1) * pull_block_bytes(pull);
    uint64_t left = pull->inbound->bytes - begin;
    uint64_t bytes = left < pull_block_bytes(pull) ? left : pull_block_bytes(pull);
    bool expected = pull_is_out(next) && next->asked == next->missing &&
                    next->index == block->index + 1 && next->lane == block->lane &&
                    next->missing == pull_all_segments(pull, next->index);

    return expected && begin + bytes <= pull->capacity ? bytes : 0;
}

/** How soon data of the block is likely: 0: it has begun to arrive; 1: requested; 2: lost, must be
 *  requested again first. */
static unsigned wait_of(const struct pull_block *block)
{
    return block->again ? 2 : ((block->asked & ~block->missing) != 0 ? 0 : 1);
}

/** Is data of block `one` likely to arrive before that of `other`? In the order of requests; the
 *  order between unasked and requested blocks is unknown. */
static bool is_sooner(const struct pull_block *one, const struct pull_block *other)
{
    unsigned one_waits = wait_of(one);
    unsigned other_waits = wait_of(other);

    return one_waits != other_waits ? one_waits < other_waits
                                    : sequence_before(one->serial, other->serial);
}

bool pull_expect(const struct message_layer *layer, uint8_t lane,
                 struct lane_expectation *expectation, const struct message_peer **peer)
{
    const struct pull *found = NULL;
    const struct pull_block *first = NULL;

    for (const struct list *link = layer->pulls.next; link != &layer->pulls && found == NULL;
         link = link->next) {
        const struct pull *pull = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; i < PULL_BLOCKS; i++) {
            const struct pull_block *block = &pull->block[i];
            if (pull_is_out(block) && block->lane == lane &&
                (first == NULL || is_sooner(block, first))) {
                first = block;
                found = pull;
            }
        }
    }
    if (found == NULL) {
        return false;
    }
    uint64_t missing = first->missing & first->asked;
    unsigned from = (unsigned)__builtin_ctzll(missing);
    uint64_t run = missing >> from;
    unsigned frames = ~run == 0 ? 64 : (unsigned)__builtin_ctzll(~run);
    uint64_t offset =
        first->index * pull_block_bytes(found) + (uint64_t)from * found->segment_bytes;
    uint64_t end = offset + (uint64_t)frames * found->segment_bytes;
    if (end > found->inbound->bytes) {
        end = found->inbound->bytes;
    }
    if (end > found->capacity) {
        return false; /* the last segment does not fit into the buffer */
    }
    if (end == (first->index + 1) * pull_block_bytes(found)) {
        end += bytes_after(found, first);
    }
    *expectation = (struct lane_expectation){
        .target = found->target + offset,
        .frames = frames,
        .head_bytes = (uint32_t)sizeof(struct frame_data),
        .payload_bytes = found->segment_bytes,
        .bytes = end - offset,
        .message = found->message,
        .offset = offset,
    };
    *peer = found->peer;
    return true;
}
