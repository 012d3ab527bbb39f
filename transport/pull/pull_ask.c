/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: requests, their lanes, and repeated requests. */
#include "message/internal.h"
#include "pull/one_sided.h"
#include "pull/pull_internal.h"

/** The first of these segments of a block, as many as are requested together. */
static uint64_t piece_of(const struct message_layer *layer, const struct pull *pull,
                         uint64_t missing)
{
    uint64_t most = pull_path_bytes(layer, pull->peer) / pull->segment_bytes;
    uint64_t later = missing;

    do {
        later &= later - 1;
    } while (most-- > 1 && later != 0);
    return missing & ~later;
}

/** @param since_ns when this request was first made */
static void fill_ask(struct pull *pull, const struct pull_block *block, uint64_t since_ns,
                     struct pull_ask *ask)
{
    *ask = (struct pull_ask){
        .peer = pull->peer,
        .pull = pull,
        .since_ns = since_ns,
        .message = pull->message,
        .lane = block->lane,
        .offset = block->index * pull_block_bytes(pull),
        .wanted = block->asked,
    };
}

/** The block's path is silent. */
static void notice_silence(struct message_layer *layer, const struct pull *pull,
                           struct pull_block *block, uint64_t now_ns)
{
    struct message_peer *peer = pull->peer;
    uint32_t lane = UINT32_C(1) << block->lane;

    pull_path_silent(layer, peer, block->lane, now_ns);
    layer->counters.pull_timeouts++;
    unsigned other =
        pull_path_choose(layer, peer, pull_bytes_of(pull, block->missing), now_ns, false, lane);
    if (peer->pull_paths[block->lane].silences == 1 ||
        (other != LANES_MAX && peer->pull_paths[other].silences == 0)) {
        pull_ask_all_again(layer, peer, lane, NULL);
    }
    block->again = true;
}

/** Is the block, or a part of it, lost, or its request not sent? A path also falls silent because
 *  requests are refused for long, so that others are tried. */
static bool is_lost(struct message_layer *layer, const struct pull *pull, struct pull_block *block,
                    uint64_t now_ns)
{
    const struct pull_path *path = &pull->peer->pull_paths[block->lane];

    if ((!block->again || block->refused) && now_ns >= pull_path_due(layer, path, block)) {
        bool refused = block->refused;
        block->refused = false;
        if (!pull_path_is_quiet(path) && sequence_before(block->serial, path->heard_serial)) {
            if (!refused) {
                pull_path_yield(layer, pull->peer, block, pull->segment_bytes);
            }
            block->again = true; /* only this block */
        } else {
            notice_silence(layer, pull, block, now_ns);
        }
    }
    return block->again;
}

/** May a request be for several blocks? Not if the buffer is shorter than the message, because of
 *  the last block only a part is wanted then. */
static bool may_ask_for_more(const struct message_layer *layer, const struct pull *pull,
                             const struct pull_ask *ask)
{
    return !pull_path_is_in_crowd(layer, pull->peer) &&
           ask->more + 1 < layer->limits.blocks_together &&
           pull->bytes + pull->inbound->tail_bytes == pull->inbound->bytes;
}

/** Adds the following blocks that were refused, too. */
static void ask_for_refused(struct message_layer *layer, struct pull *pull, uint32_t index,
                            uint64_t now_ns, struct pull_ask *ask)
{
    while (may_ask_for_more(layer, pull, ask)) {
        struct pull_block *block = &pull->block[++index % PULL_BLOCKS];
        if (!pull_is_out(block) || !block->refused || block->index != index ||
            block->missing != pull_all_segments(pull, index)) {
            return;
        }
        pull_path_settle(layer, pull->peer, block);
        pull_mark_asked(layer, pull, block, block->missing, ask->lane, now_ns);
        ask->more++;
    }
}

/** The first block of the pull that must be requested again. */
static bool ask_again(struct message_layer *layer, struct pull *pull, uint64_t now_ns,
                      struct pull_ask *ask)
{
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *block = &pull->block[i];
        if (!pull_is_out(block) || !is_lost(layer, pull, block, now_ns)) {
            continue;
        }
        bool refused = block->refused;
        uint64_t since_ns = refused ? block->asked_ns : now_ns;
        pull_path_settle(layer, pull->peer, block);
        uint64_t wanted = piece_of(layer, pull, block->missing);
        unsigned lane =
            pull_path_choose(layer, pull->peer, pull_bytes_of(pull, wanted), now_ns, false, 0);
        pull_mark_asked(layer, pull, block, wanted, lane != LANES_MAX ? lane : block->lane, now_ns);
        block->repeated |= !refused;
        layer->counters.pulls_repeated += !refused;
        fill_ask(pull, block, since_ns, ask);
        if (refused) {
            ask_for_refused(layer, pull, block->index, now_ns, ask);
        }
        return true;
    }
    return false;
}

static bool has_free_slot(const struct pull *pull, uint32_t block)
{
    return block < pull->blocks && block - pull->next_block < PULL_BLOCKS &&
           !pull->block[block % PULL_BLOCKS].active;
}

/** Is it better to wait until more blocks can be requested together? Only if there are more, and
 *  enough others are outstanding. */
static bool is_worth_waiting(const struct message_layer *layer, const struct pull *pull)
{
    uint32_t lanes = pull->peer->bulk_lanes; /* several lanes take turns */
    uint32_t together = (lanes & (lanes - 1)) == 0 ? layer->limits.blocks_together : 1;
    uint32_t left = pull->blocks - pull->next_block;
    uint32_t under_way = 0;
    uint32_t free = 0;

    while (free < together && has_free_slot(pull, pull->next_block + free)) {
        free++;
    }
    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        under_way += pull->block[i].active && !pull->block[i].again;
    }
    return free < together && free < left && under_way >= PULL_BLOCKS / 2;
}

/** Requests the following blocks together with this one, as long as this is the best lane for them.
 */
static void ask_for_more(struct message_layer *layer, struct pull *pull, uint64_t now_ns,
                         uint32_t closed, struct pull_ask *ask)
{
    while (may_ask_for_more(layer, pull, ask) && has_free_slot(pull, pull->next_block)) {
        uint64_t bytes = pull_bytes_of(pull, pull_all_segments(pull, pull->next_block));
        if (pull_path_choose(layer, pull->peer, bytes, now_ns, true, closed) != ask->lane) {
            return;
        }
        struct pull_block *block = pull_open_block(pull);
        pull_mark_asked(layer, pull, block, block->missing, ask->lane, now_ns);
        ask->more++;
    }
}

/** The first block of which further segments may be requested, or NULL. */
static struct pull_block *unfinished(struct pull *pull)
{
    struct pull_block *first = NULL;

    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *block = &pull->block[i];
        if (block->active && !pull_is_out(block) &&
            (first == NULL || block->index < first->index)) {
            first = block;
        }
    }
    return first;
}

/** Requests the next blocks if a lane has room for them. `closed`: lanes for which other messages
 *  have waited longer; adds those for which this one must wait. */
static bool ask_next(struct message_layer *layer, struct pull *pull, uint64_t now_ns,
                     uint32_t *closed, struct pull_ask *ask)
{
    if (pull_path_has_share(layer, pull->peer)) {
        return false;
    }
    struct pull_block *block = unfinished(pull);

    if (block == NULL &&
        (!has_free_slot(pull, pull->next_block) || is_worth_waiting(layer, pull))) {
        return false;
    }
    uint64_t wanted = piece_of(
        layer, pull, block != NULL ? block->missing : pull_all_segments(pull, pull->next_block));
    uint64_t bytes = pull_bytes_of(pull, wanted);
    unsigned lane = pull_path_choose(layer, pull->peer, bytes, now_ns, true, *closed);
    if (lane == LANES_MAX) {
        for (unsigned i = 0; i < LANES_MAX; i++) {
            uint32_t bit = pull->peer->bulk_lanes & UINT32_C(1) << i;
            *closed |= bit == 0 || pull_path_is_full(&pull->peer->pull_paths[i]) ? 0 : bit;
        }
        return false;
    }
    block = block != NULL ? block : pull_open_block(pull);
    pull_mark_asked(layer, pull, block, wanted, lane, now_ns);
    fill_ask(pull, block, now_ns, ask);
    if (wanted == pull_all_segments(pull, block->index)) {
        ask_for_more(layer, pull, now_ns, *closed, ask);
    }
    return true;
}

/** Reads a block of a message whose sender is late; only one, because others wait as well. */
static void read_due(struct message_layer *layer, uint64_t now_ns)
{
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *pull = LIST_ENTRY(link, struct pull, link);
        if (now_ns >= pull_read_due(pull)) {
            pull_read(layer, pull);
            return;
        }
    }
}

/** When the pull may next have a request or a read, if no frame arrives. */
static uint64_t deadline_of(const struct message_layer *layer, const struct pull *pull)
{
    uint64_t deadline_ns = pull_read_due(pull);

    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        const struct pull_block *block = &pull->block[i];
        if (pull_is_out(block)) {
            uint64_t due_ns = pull_path_due(layer, &pull->peer->pull_paths[block->lane], block);
            deadline_ns = due_ns < deadline_ns ? due_ns : deadline_ns;
        }
    }
    return deadline_ns;
}

void pull_instead(struct message_layer *layer, struct inbound *inbound, uint64_t now_ns)
{
    layer->counters.one_sided_failed++;
    inbound->address = 0;
    pull_start(layer, inbound, 0, 0, now_ns);
}

/** Gives up reads that take too long, and pulls their messages. @return the next deadline;
 *  UINT64_MAX: none. */
static uint64_t reads_overdue(struct message_layer *layer, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (struct list *link = layer->reads.next, *next = NULL; link != &layer->reads; link = next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, waiting);
        next = link->next;
        if (now_ns >= inbound->one_sided_due_ns) {
            one_sided_stop(layer, inbound);
            pull_instead(layer, inbound, now_ns);
        } else if (inbound->one_sided_due_ns < next_ns) {
            next_ns = inbound->one_sided_due_ns;
        }
    }
    return next_ns;
}

bool pull_ask(struct message_layer *layer, uint64_t now_ns, struct pull_ask *ask)
{
    uint32_t closed = 0;

    if (!layer->pulls_changed && now_ns < layer->pulls_deadline_ns) {
        return false;
    }
    if (layer->pull_freed) {
        pull_begin_waiting(layer, now_ns);
    }
    read_due(layer, now_ns);
    uint64_t overdue_ns = reads_overdue(layer, now_ns);
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        struct pull *pull = LIST_ENTRY(link, struct pull, link);
        if (!pull->refused &&
            (ask_again(layer, pull, now_ns, ask) || ask_next(layer, pull, now_ns, &closed, ask))) {
            /* The next request is for another message, so that all get their turn. */
            list_remove(link);
            list_append(&layer->pulls, link);
            return true;
        }
    }
    layer->pulls_changed = false;
    layer->pulls_deadline_ns = overdue_ns;
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        uint64_t due_ns = deadline_of(layer, LIST_ENTRY(link, struct pull, link));
        layer->pulls_deadline_ns =
            due_ns < layer->pulls_deadline_ns ? due_ns : layer->pulls_deadline_ns;
    }
    return false;
}

uint64_t pull_deadline(const struct message_layer *layer)
{
    return layer->pulls_changed ? 0 : layer->pulls_deadline_ns;
}

void pull_refused(struct message_layer *layer, const struct pull_ask *ask)
{
    struct pull *pull = ask->pull;
    uint32_t first = (uint32_t)(ask->offset / pull_block_bytes(pull));

    for (unsigned i = 0; i < PULL_BLOCKS; i++) {
        struct pull_block *block = &pull->block[i];
        if (pull_is_out(block) && block->index - first <= ask->more) {
            block->again = block->refused = true;
            block->asked_ns = ask->since_ns;
        }
    }
    pull->refused = layer->pulls_refused = true;
}

void pull_retry(struct message_layer *layer)
{
    if (!layer->pulls_refused) {
        return;
    }
    for (struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        LIST_ENTRY(link, struct pull, link)->refused = false;
    }
    layer->pulls_refused = false;
    layer->pulls_changed = true;
}
