/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's side of long messages. */
#include "message/pull.h"

#include "message/internal.h"

#include <assert.h>

static_assert(PULL_BLOCKS >= 2 && PULL_BLOCKS <= 64, "a few blocks at once");

static uint64_t block_bytes(const struct pull *pull)
{
    return (uint64_t)pull->segment_bytes * pull->block_segments;
}

/** Segments of a block, as bits. */
static uint64_t all_segments(const struct pull *pull, uint32_t block)
{
    uint64_t left = pull->bytes - block * block_bytes(pull);
    uint64_t segments = (left + pull->segment_bytes - 1) / pull->segment_bytes;

    segments = segments < pull->block_segments ? segments : pull->block_segments;
    return segments == 64 ? UINT64_MAX : (UINT64_C(1) << segments) - 1;
}

static unsigned count_of(uint64_t segments)
{
    return (unsigned)__builtin_popcountll(segments);
}

static uint64_t bytes_of(const struct pull *pull, uint64_t segments)
{
    return (uint64_t)count_of(segments) * pull->segment_bytes;
}

/* ---- paths --------------------------------------------------------------------------------- */

static uint64_t timeout_of(const struct pull_path *path)
{
    uint64_t timeout_ns =
        path->srtt_ns == 0 ? PULL_TIMEOUT_FIRST_NS : path->srtt_ns + 4 * path->rttvar_ns;

    return timeout_ns > PULL_TIMEOUT_MIN_NS ? timeout_ns : PULL_TIMEOUT_MIN_NS;
}

static uint64_t timeout_after(const struct pull_path *path, unsigned attempts)
{
    uint64_t timeout_ns = timeout_of(path) << (attempts < 10 ? attempts : 10);

    return timeout_ns < PULL_TIMEOUT_MAX_NS ? timeout_ns : PULL_TIMEOUT_MAX_NS;
}

/** A block has come whole at the first attempt: how long it took, and how fast they come. */
static void measure(struct pull_path *path, uint64_t asked_ns, uint64_t now_ns, uint64_t bytes)
{
    uint64_t sample_ns = now_ns - asked_ns;
    uint64_t since_ns = now_ns - (path->last_ns > asked_ns ? path->last_ns : asked_ns);
    uint64_t rate = bytes * 1000 / (since_ns > 0 ? since_ns : 1); /* bytes a microsecond */

    if (path->srtt_ns == 0) {
        path->srtt_ns = sample_ns > 0 ? sample_ns : 1;
        path->rttvar_ns = sample_ns / 2;
        path->rate = rate > 0 ? (uint32_t)rate : 1;
    } else {
        uint64_t deviation =
            sample_ns > path->srtt_ns ? sample_ns - path->srtt_ns : path->srtt_ns - sample_ns;
        path->rttvar_ns = (3 * path->rttvar_ns + deviation) / 4;
        path->srtt_ns = (7 * path->srtt_ns + sample_ns) / 8;
        path->rate = (uint32_t)((7 * (uint64_t)path->rate + rate) / 8);
        path->rate += path->rate == 0;
    }
    path->timeouts = 0;
    path->last_ns = now_ns;
}

static bool has_room(const struct message_layer *layer, const struct message_peer *peer,
                     unsigned lane, uint64_t bytes)
{
    uint64_t out = layer->lanes[lane].outstanding_bytes;

    return (peer->bulk_lanes >> lane & 1) != 0 &&
           (out == 0 || out + bytes <= layer->lanes[lane].capacity_bytes);
}

/** The lane on which a block would be here first: what is out on it before, by its rate. A silent
 *  one is tried again when its time has come. @return LANES_MAX: none has room. */
static unsigned choose_lane(const struct message_layer *layer, const struct message_peer *peer,
                            uint64_t bytes, uint64_t now_ns, bool any)
{
    unsigned best = LANES_MAX;
    uint64_t best_time = UINT64_MAX;
    uint64_t rate_max = 1;

    for (unsigned i = 0; i < LANES_MAX; i++) {
        rate_max = peer->pull_paths[i].rate > rate_max ? peer->pull_paths[i].rate : rate_max;
    }
    for (unsigned i = 0; i < LANES_MAX; i++) {
        const struct pull_path *path = &peer->pull_paths[i];
        if ((any ? (peer->bulk_lanes >> i & 1) != 0 : has_room(layer, peer, i, bytes)) &&
            now_ns >= path->silent_until_ns) {
            uint64_t rate = path->rate != 0 ? path->rate : rate_max;
            uint64_t time = (path->outstanding_bytes + bytes) / rate;
            if (time < best_time) {
                best_time = time;
                best = i;
            }
        }
    }
    if (best == LANES_MAX && peer->bulk_lanes != 0) {
        /* All are silent: the one that has been so for the longest time. */
        uint64_t until_ns = UINT64_MAX;
        for (unsigned i = 0; i < LANES_MAX; i++) {
            if ((any ? (peer->bulk_lanes >> i & 1) != 0 : has_room(layer, peer, i, bytes)) &&
                peer->pull_paths[i].silent_until_ns < until_ns) {
                until_ns = peer->pull_paths[i].silent_until_ns;
                best = i;
            }
        }
    }
    return best;
}

uint8_t pull_best_lane(const struct message_layer *layer, const struct message_peer *peer,
                       uint64_t bytes)
{
    return (uint8_t)choose_lane(layer, peer, bytes, UINT64_MAX, true);
}

static void account(struct message_layer *layer, struct pull *pull, struct pull_block *block)
{
    uint64_t bytes = bytes_of(pull, block->missing);

    block->accounted_bytes = bytes;
    pull->peer->pull_paths[block->lane].outstanding_bytes += bytes;
    layer->lanes[block->lane].outstanding_bytes += bytes;
}

static void unaccount(struct message_layer *layer, struct pull *pull, struct pull_block *block)
{
    pull->peer->pull_paths[block->lane].outstanding_bytes -= block->accounted_bytes;
    layer->lanes[block->lane].outstanding_bytes -= block->accounted_bytes;
    block->accounted_bytes = 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

/** The block's missing segments are (as good as) asked for. */
static void mark_asked(struct message_layer *layer, struct pull *pull, struct pull_block *block,
                       unsigned lane, uint64_t now_ns)
{
    block->lane = (uint8_t)lane;
    block->asked = block->missing;
    block->asked_ns = now_ns;
    block->again = false;
    block->serial = ++pull->peer->pull_paths[lane].serial;
    account(layer, pull, block);
}

static struct pull_block *open_block(struct pull *pull)
{
    struct pull_block *block = &pull->block[pull->next_block % PULL_BLOCKS];

    *block = (struct pull_block){
        .index = pull->next_block,
        .missing = all_segments(pull, pull->next_block),
        .active = true,
    };
    pull->next_block++;
    return block;
}

static void begin(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                  uint8_t lane, uint64_t now_ns)
{
    struct pull *pull = LIST_ENTRY(layer->free_pulls.next, struct pull, link);

    list_remove(&pull->link);
    *pull = (struct pull){
        .peer = inbound->peer,
        .inbound = inbound,
        .message = inbound->name,
        .bytes = inbound->expected_bytes,
        .segment_bytes = inbound->segment_bytes,
    };
    pull->block_segments = pull_block_segments(pull->segment_bytes);
    pull->blocks = (uint32_t)((pull->bytes + block_bytes(pull) - 1) / block_bytes(pull));
    inbound->pull = pull;
    list_append(&layer->pulls, &pull->link);
    while (pull->next_block < pull->blocks && pull->next_block < PULL_BLOCKS &&
           pull->next_block * block_bytes(pull) < unasked) {
        mark_asked(layer, pull, open_block(pull), lane, now_ns);
    }
    layer->pulls_changed = true;
}

void pull_start(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                uint8_t lane, uint64_t now_ns)
{
    if (list_is_empty(&layer->free_pulls)) {
        list_append(&layer->waiting_pulls, &inbound->waiting);
        return;
    }
    begin(layer, inbound, unasked, lane, now_ns);
}

void pull_stop(struct message_layer *layer, struct inbound *inbound)
{
    struct pull *pull = inbound->pull;

    list_remove(&inbound->waiting);
    if (pull == NULL) {
        return;
    }
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        if (pull->block[i].active) {
            unaccount(layer, pull, &pull->block[i]);
        }
    }
    inbound->pull = NULL;
    list_remove(&pull->link);
    list_prepend(&layer->free_pulls, &pull->link);
    layer->pulls_changed = true; /* its room is free for others */
}

/* ---- asking -------------------------------------------------------------------------------- */

static void fill_ask(const struct pull *pull, const struct pull_block *block, struct pull_ask *ask)
{
    *ask = (struct pull_ask){
        .peer = pull->peer,
        .message = pull->message,
        .lane = block->lane,
        .offset = block->index * block_bytes(pull),
        .wanted = block->missing,
    };
}

/** When a block is taken for lost if nothing comes: a block waits its turn behind others, so it is
 *  the whole path that has to be silent. */
static uint64_t due_of(const struct pull *pull, const struct pull_block *block)
{
    const struct pull_path *path = &pull->peer->pull_paths[block->lane];
    uint64_t heard_ns = path->heard_ns > block->asked_ns ? path->heard_ns : block->asked_ns;

    return heard_ns + timeout_after(path, block->attempts);
}

/** A block is taken for lost: perhaps its path is dead. */
static void note_silence(struct pull *pull, struct pull_block *block, uint64_t now_ns)
{
    struct pull_path *path = &pull->peer->pull_paths[block->lane];

    block->attempts = block->attempts < UINT8_MAX ? (uint8_t)(block->attempts + 1) : UINT8_MAX;
    if (block->asked_ns < path->timed_out_ns) {
        return; /* of the same silence */
    }
    path->timed_out_ns = now_ns;
    if (++path->timeouts >= PULL_PATIENCE_TIMEOUTS) {
        path->silent_until_ns = now_ns + PULL_SILENCE_NS;
        path->timeouts = 0;
    }
}

/** The first block of the pull that has to be asked for again. */
static bool ask_again(struct message_layer *layer, struct pull *pull, uint64_t now_ns,
                      struct pull_ask *ask)
{
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *block = &pull->block[i];
        if (!block->active) {
            continue;
        }
        bool silent = now_ns >= due_of(pull, block);
        if (!block->again && !silent) {
            continue;
        }
        if (silent) {
            note_silence(pull, block, now_ns);
            layer->counters.pull_timeouts++;
        }
        unaccount(layer, pull, block);
        unsigned lane =
            choose_lane(layer, pull->peer, bytes_of(pull, block->missing), now_ns, true);
        if (lane == LANES_MAX) {
            lane = block->lane;
        }
        mark_asked(layer, pull, block, lane, now_ns);
        block->repeated = true;
        layer->counters.pulls_repeated++;
        fill_ask(pull, block, ask);
        return true;
    }
    return false;
}

static bool ask_next(struct message_layer *layer, struct pull *pull, uint64_t now_ns,
                     struct pull_ask *ask)
{
    if (pull->next_block == pull->blocks || pull->block[pull->next_block % PULL_BLOCKS].active) {
        return false;
    }
    uint64_t bytes = bytes_of(pull, all_segments(pull, pull->next_block));
    unsigned lane = choose_lane(layer, pull->peer, bytes, now_ns, false);
    if (lane == LANES_MAX) {
        return false;
    }
    struct pull_block *block = open_block(pull);
    mark_asked(layer, pull, block, lane, now_ns);
    fill_ask(pull, block, ask);
    return true;
}

bool pull_ask(struct message_layer *layer, uint64_t now_ns, struct pull_ask *ask)
{
    if (!layer->pulls_changed && now_ns < layer->pulls_deadline_ns) {
        return false;
    }
    while (!list_is_empty(&layer->waiting_pulls) && !list_is_empty(&layer->free_pulls)) {
        struct inbound *inbound = LIST_ENTRY(layer->waiting_pulls.next, struct inbound, waiting);
        list_remove(&inbound->waiting);
        begin(layer, inbound, 0, 0, now_ns);
    }
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *pull = LIST_ENTRY(link, struct pull, link);
        if (ask_again(layer, pull, now_ns, ask) || ask_next(layer, pull, now_ns, ask)) {
            /* The next request is for another message, so that all get their turn. */
            list_remove(link);
            list_append(&layer->pulls, link);
            return true;
        }
    }
    layer->pulls_changed = false;
    layer->pulls_deadline_ns = UINT64_MAX;
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        const struct pull *pull = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; i < PULL_BLOCKS; i++) {
            const struct pull_block *block = &pull->block[i];
            uint64_t due_ns = block->active ? due_of(pull, block) : UINT64_MAX;
            if (due_ns < layer->pulls_deadline_ns) {
                layer->pulls_deadline_ns = due_ns;
            }
        }
    }
    return false;
}

uint64_t pull_deadline(const struct message_layer *layer)
{
    return layer->pulls_changed ? 0 : layer->pulls_deadline_ns;
}

/* ---- data ---------------------------------------------------------------------------------- */

static struct pull *find_pull(struct message_layer *layer, const struct message_peer *peer,
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

/** Data of `block` has come: whatever was asked for earlier over the same lane, by this pull, and
 *  is not here, was lost. */
static void notice_losses(struct message_layer *layer, struct pull *pull,
                          const struct pull_block *block)
{
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *other = &pull->block[i];
        if (other->active && !other->again && other->lane == block->lane &&
            sequence_before(other->serial, block->serial)) {
            other->again = true;
            layer->pulls_changed = true;
        }
    }
}

static void finish_block(struct message_layer *layer, struct pull *pull, struct pull_block *block,
                         uint64_t now_ns)
{
    struct pull_path *path = &pull->peer->pull_paths[block->lane];

    unaccount(layer, pull, block);
    if (!block->repeated) {
        measure(path, block->asked_ns, now_ns, bytes_of(pull, all_segments(pull, block->index)));
    }
    block->active = false;
    pull->blocks_done++;
    layer->pulls_changed = true;
    if (pull->blocks_done == pull->blocks) {
        inbound_pulled(layer, pull->inbound);
    }
}

enum pull_verdict pull_data(struct message_layer *layer, struct message_peer *peer,
                            const struct frame *frame, uint8_t lane, uint64_t now_ns)
{
    struct pull *pull = find_pull(layer, peer, from_le32(frame->data->message));
    uint64_t offset = from_le64(frame->data->offset);

    if (pull == NULL) {
        return PULL_UNKNOWN;
    }
    uint64_t segment = offset / pull->segment_bytes;
    uint64_t index = segment / pull->block_segments;
    uint64_t whole = pull->inbound->bytes; /* the sender cuts the message, not what is wanted */
    uint64_t left = offset < whole ? whole - offset : 0;
    if (offset % pull->segment_bytes != 0 || left == 0 ||
        frame->payload_bytes != (left < pull->segment_bytes ? left : pull->segment_bytes)) {
        return PULL_INVALID;
    }
    struct pull_block *block = &pull->block[index % PULL_BLOCKS];
    uint64_t bit = UINT64_C(1) << segment % pull->block_segments;
    if (!block->active || block->index != index || (block->missing & bit) == 0) {
        return PULL_DUPLICATE;
    }
    operation_copy_in(pull->inbound->operation, offset, frame->payload, frame->payload_bytes);
    pull->inbound->received += frame->payload_bytes;
    block->missing &= ~bit;
    peer->pull_paths[lane].heard_ns = now_ns;
    if (block->lane == lane) {
        notice_losses(layer, pull, block);
        /* The last segment that was asked for is here, and others are not. */
        if (block->missing != 0 && bit > block->missing &&
            (block->asked & ~(bit | (bit - 1))) == 0) {
            block->again = true;
            layer->pulls_changed = true;
        }
    }
    if (block->missing == 0) {
        finish_block(layer, pull, block, now_ns);
    }
    return PULL_PLACED;
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
            if (block->active && block->lane == lane && block->missing != 0 &&
                (first == NULL || sequence_before(block->serial, first->serial))) {
                first = block;
                found = pull;
            }
        }
    }
    if (found == NULL) {
        return false;
    }
    unsigned from = (unsigned)__builtin_ctzll(first->missing);
    uint64_t run = first->missing >> from;
    unsigned frames = ~run == 0 ? 64 : (unsigned)__builtin_ctzll(~run);
    uint64_t offset = first->index * block_bytes(found) + (uint64_t)from * found->segment_bytes;
    uint64_t end = offset + (uint64_t)frames * found->segment_bytes;
    if (end > found->inbound->bytes) {
        end = found->inbound->bytes;
    }
    if (end > found->inbound->operation->capacity) {
        return false; /* the last segment does not fit the buffer */
    }
    *expectation = (struct lane_expectation){
        .target = found->inbound->operation->target + offset,
        .frames = frames,
        .head_bytes = (uint32_t)(sizeof(struct frame_header) + sizeof(struct frame_data)),
        .payload_bytes = found->segment_bytes,
        .bytes = end - offset,
        .message = found->message,
        .offset = offset,
    };
    *peer = found->peer;
    return true;
}
