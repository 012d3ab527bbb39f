/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants of every node, whatever the wire does: cluster_check(). */
#include "cluster.h"

#include "pull/pull_path.h"

#include <stdlib.h>

/** The longest that messages are held: the allowed time and until the next poll, or until the
 *  keeper's. */
#define HELD_MOST_NS (HOLD_NS + HOLD_GAP_NS + KEEPER_HURRY_NS + 1000u)

/* ---- what must hold ------------------------------------------------------------------------ */

static uint32_t list_length(const struct list *head)
{
    uint32_t length = 0;

    for (const struct list *link = head->next; link != head; link = link->next) {
        length++;
    }
    return length;
}

static uint32_t chunks_held_by(const struct inbound *inbound)
{
    uint32_t held = 0;

    for (const struct chunk *chunk = inbound->chunks; chunk != NULL; chunk = chunk->next) {
        held++;
    }
    return held;
}

/** Chunks of the peer's requests for memory: to be answered, offered, pulled by the peer, or with a
 *  pending notification. */
static uint32_t chunks_of_requests(const struct message_layer *layer,
                                   const struct message_peer *peer)
{
    uint32_t held = 0;

    held += peer->put != NULL ? chunks_held_by(peer->put) : 0;
    for (const struct list *link = peer->dones.next; link != &peer->dones; link = link->next) {
        held += chunks_held_by(LIST_ENTRY(link, struct inbound, done));
    }
    for (const struct list *link = peer->inbound.next; link != &peer->inbound; link = link->next) {
        const struct inbound *inbound = LIST_ENTRY(link, struct inbound, of_peer);
        held += inbound->target != NULL ? chunks_held_by(inbound) : 0;
    }
    for (const struct list *link = layer->served.next; link != &layer->served; link = link->next) {
        const struct operation *served = LIST_ENTRY(link, struct operation, link);
        held += served->peer == peer ? chunks_held_by(served->context) : 0;
    }
    for (const struct list *link = layer->notices.next; link != &layer->notices;
         link = link->next) {
        const struct inbound *inbound = LIST_ENTRY(link, struct inbound, arrival);
        held += inbound->peer == peer ? chunks_held_by(inbound) : 0;
    }
    return held;
}

/** Chunks of a peer's unmatched frames: only unmatched messages and requests have any. */
static uint32_t chunks_held(const struct message_layer *layer, const struct message_peer *peer)
{
    uint32_t held = chunks_of_requests(layer, peer);
    const struct chunk *shared = NULL;

    for (const struct list *link = layer->unexpected.next; link != &layer->unexpected;
         link = link->next) {
        const struct inbound *inbound = LIST_ENTRY(link, struct inbound, arrival);
        held += inbound->peer == peer ? chunks_held_by(inbound) : 0;
        /* Messages of one bundle are adjacent, and share a chunk. */
        held += inbound->peer == peer && inbound->shared != NULL && inbound->shared != shared;
        shared = inbound->shared;
    }
    return held;
}

static uint32_t members(const struct window_set *set, uint32_t from, uint32_t end)
{
    uint32_t count = 0;

    for (uint32_t at = window_set_next(set, from, end); at != end;
         at = window_set_next(set, at + 1, end)) {
        count++;
    }
    return count;
}

static uint32_t all_members(const struct window_set *set)
{
    return members(set, 0, FLOW_WINDOW_FRAMES);
}

static void check_flow(const struct cluster *cluster, const struct flow *flow)
{
    if (flow->highest - flow->first > flow->next - flow->first ||
        flow->next - flow->first > FLOW_WINDOW_FRAMES || flow->released != flow->first) {
        cluster_fail(cluster, "flow: released %u first %u highest %u next %u", flow->released,
                     flow->first, flow->highest, flow->next);
    }
    uint32_t needs_credit = flow->highest;
    while (needs_credit != flow->first && flow_ring_at(flow, needs_credit - 1)->exempt) {
        needs_credit--;
    }
    if (needs_credit != flow->first && sequence_before(flow->limit, needs_credit)) {
        cluster_fail(cluster, "flow: sent up to %u, credit up to %u", flow->highest, flow->limit);
    }
    if (sequence_before(flow->granted, flow->expected) ||
        flow->seen - flow->expected > FLOW_WINDOW_FRAMES) {
        cluster_fail(cluster, "flow: expects %u, saw %u, granted %u", flow->expected, flow->seen,
                     flow->granted);
    }
    if (all_members(&flow->lost) != flow->lost_frames ||
        members(&flow->lost, flow->first, flow->highest) != flow->lost_frames ||
        all_members(&flow->delivered) != flow->delivered_frames ||
        members(&flow->delivered, flow->first, flow->highest) != flow->delivered_frames) {
        cluster_fail(cluster, "flow: of %u to %u, %u are counted as lost and %u as arrived",
                     flow->first, flow->highest, flow->lost_frames, flow->delivered_frames);
    }
    for (unsigned i = 0; i < WINDOW_SET_WORDS; i++) {
        if ((flow->lost.words[i] & flow->delivered.words[i]) != 0) {
            cluster_fail(cluster, "flow: a frame has arrived and is lost");
        }
    }
}

/** Frames that came early: each once, in order, and at the place of its sequence number. @return
 *  their number. */
static uint32_t check_reordered(const struct cluster *cluster, const struct message_peer *peer)
{
    const struct flow *flow = &peer->flow;
    uint32_t after = flow->expected; /* it cannot be kept: it would have been delivered */
    uint32_t count = 0;

    for (const struct chunk *chunk = peer->reordered; chunk != NULL; chunk = chunk->next) {
        if (!sequence_before(after, chunk->sequence) ||
            !sequence_before(chunk->sequence, flow->seen) ||
            !window_set_has(&flow->kept, chunk->sequence)) {
            cluster_fail(cluster, "frame %u is kept after %u, of %u to %u", chunk->sequence, after,
                         flow->expected, flow->seen);
        }
        after = chunk->sequence;
        count++;
    }
    if (all_members(&flow->kept) != count) {
        cluster_fail(cluster, "%u frames are kept, but %u counted", count,
                     all_members(&flow->kept));
    }
    return count;
}

/** The blocks counted as outstanding on a path must be those of its peer's messages. */
static void check_path(const struct cluster *cluster, const struct message_layer *layer,
                       const struct message_peer *peer, unsigned lane)
{
    uint64_t bytes = 0;
    uint32_t blocks = 0;

    for (const struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        const struct pull *pull = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; i < PULL_BLOCKS && pull->peer == peer; i++) {
            const struct pull_block *block = &pull->block[i];
            if (block->active && block->missing == 0) {
                cluster_fail(cluster, "block %u of a message is complete, but not done",
                             block->index);
            }
            if (pull_is_out(block) && block->lane == lane) {
                blocks++;
                bytes += block->accounted_bytes;
            }
        }
    }
    if (peer->pull_paths[lane].blocks != blocks ||
        peer->pull_paths[lane].outstanding_bytes != bytes) {
        cluster_fail(cluster, "peer %u, lane %u: %u blocks are outstanding, but %u counted",
                     peer->index, lane, blocks, peer->pull_paths[lane].blocks);
    }
}

static void check_pulls(const struct cluster *cluster, const struct core *core)
{
    const struct message_layer *layer = &core->messages;
    uint32_t pulls = 0;
    uint32_t requests = 0;

    for (unsigned lane = 0; lane < core->options.lanes.count; lane++) {
        uint64_t bytes = 0;
        uint32_t blocks = 0;
        for (uint32_t i = 0; i < core->peer_count; i++) {
            const struct message_peer *peer = &core->peers[i]->message;
            const struct pull_path *path = &peer->pull_paths[lane];
            check_path(cluster, layer, peer, lane);
            blocks += path->blocks;
            bytes += pull_path_is_quiet(path) ? 0 : path->outstanding_bytes;
        }
        if (layer->lanes[lane].blocks != blocks || layer->lanes[lane].outstanding_bytes != bytes) {
            cluster_fail(cluster,
                         "lane %u: %u blocks, %llu bytes are outstanding, but %u, %llu counted",
                         lane, blocks, (unsigned long long)bytes, layer->lanes[lane].blocks,
                         (unsigned long long)layer->lanes[lane].outstanding_bytes);
        }
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        pulls += core->peers[i]->message.pulls;
        requests += core->peers[i]->message.requests;
    }
    if (pulls != list_length(&layer->pulls) || requests != list_length(&layer->requests)) {
        cluster_fail(cluster, "%u pulls and %u requests, but %u and %u counted",
                     list_length(&layer->pulls), list_length(&layer->requests), pulls, requests);
    }
}

static void check_core(struct cluster *cluster, const struct core *core)
{
    const struct message_layer *layer = &core->messages;
    uint32_t shared = 0;
    uint32_t held_in_all = 0;
    uint32_t ready = 0;
    uint32_t free_chunks = layer->chunk_count - layer->chunks_used;

    check_pulls(cluster, core);
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct core_peer *peer = core->peers[i];
        const struct message_peer *message = &peer->message;
        uint32_t held = chunks_held(layer, message);
        uint32_t ahead = 0;
        held_in_all += check_reordered(cluster, message); /* in the reserve: `ahead` */
        if (message->ready) {
            check_flow(cluster, &message->flow);
            ahead = message->flow.granted - message->flow.expected;
            ready++;
        } else if (peer->credit_reserved && peer->connection.state != CONNECTION_FAILED) {
            ahead = peer->first_credit;
        }
        if (message->chunks != held + ahead) {
            cluster_fail(cluster, "peer %u uses %u chunks, but holds %u and has credit %u", i,
                         message->chunks, held, ahead);
        }
        held_in_all += held;
        shared += message->chunks > MESSAGE_PEER_CHUNKS ? message->chunks - MESSAGE_PEER_CHUNKS : 0;
    }
    for (const struct chunk *chunk = layer->free_chunks; chunk != NULL; chunk = chunk->next) {
        free_chunks++;
    }
    if (free_chunks + held_in_all != layer->chunk_count + layer->chunks_added) {
        cluster_fail(cluster, "%u chunks are free and %u held, of %u", free_chunks, held_in_all,
                     layer->chunk_count + layer->chunks_added);
    }
    cluster->chunks_peak = held_in_all > cluster->chunks_peak ? held_in_all : cluster->chunks_peak;
    if (shared + layer->chunks_shared + layer->chunks_unmade !=
            MESSAGE_CHUNKS + layer->chunks_added ||
        ready != layer->ready_peers) {
        cluster_fail(cluster, "%u shared chunks used, %u left; %u peers ready of %u", shared,
                     layer->chunks_shared, layer->ready_peers, ready);
    }
}

/** A frame that can be sent must be sent, unless it is held, the peer is silent, or the lane has no
 *  room, in which case the next poll tries again. */
static void check_leaving(struct cluster *cluster, uint32_t node)
{
    const struct core *core = &cluster->nodes[node].core;

    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct message_peer *peer = &core->peers[i]->message;
        if (peer->ready && !peer->gathering && flow_waits_for_lane(&peer->flow) &&
            !core_is_silent(core->peers[i]) &&
            core->deadline_ns > cluster_node_now(cluster, node)) {
            cluster_fail(cluster, "node %u: a frame could leave, and nobody sends it", node);
        }
    }
}

static void check_node(struct cluster *cluster, uint32_t node)
{
    cluster->nodes[node].unchecked = false;
    if (cluster_is_up(cluster, node)) {
        check_core(cluster, &cluster->nodes[node].core);
        check_leaving(cluster, node);
    }
}

void cluster_check(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        check_node(cluster, i);
    }
}

void cluster_check_held(struct cluster *cluster, uint32_t node)
{
    struct node *at = &cluster->nodes[node];

    if (!cluster_is_up(cluster, node) || !core_has_held(&at->core)) {
        at->held_since_ns = 0;
    } else if (at->held_since_ns == 0) {
        at->held_since_ns = cluster_now(cluster);
    } else if (cluster_now(cluster) > at->held_since_ns + HELD_MOST_NS) {
        cluster_fail(cluster, "node %u: held messages were not sent in time", node);
    }
}

void cluster_check_some(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].unchecked) {
            check_node(cluster, i);
        }
    }
}

static uint32_t frames_in(const struct flow_frame *list)
{
    uint32_t count = 0;

    for (; list != NULL; list = list->next) {
        count++;
    }
    return count;
}

void cluster_check_node_empty(struct cluster *cluster, uint32_t node)
{
    const struct message_layer *layer = &cluster->nodes[node].core.messages;
    struct message_layer fresh;

    if (message_open(&fresh, layer->operations_each, cluster->options.peers,
                     cluster->nodes[node].lanes.lanes[0]->frame_bytes) != 0) {
        abort();
    }
    if (list_length(&layer->free_sends) != layer->sends_used ||
        list_length(&layer->free_receives) != layer->receives_used ||
        !list_is_empty(&layer->posted) || !list_is_empty(&layer->completed)) {
        cluster_fail(cluster, "node %u: operations are left over", node);
    }
    if (!list_is_empty(&layer->unexpected) ||
        list_length(&layer->free_inbounds) != layer->inbounds_used) {
        cluster_fail(cluster, "node %u: messages are left over", node);
    }
    if (!list_is_empty(&layer->pulls) || !list_is_empty(&layer->waiting_pulls) ||
        list_length(&layer->free_pulls) != PULLS_MAX + PULLS_SPARE ||
        list_length(&layer->free_requests) != PULL_REQUESTS) {
        cluster_fail(cluster, "node %u: pulls or requests are left over", node);
    }
    if (!list_is_empty(&layer->served) || !list_is_empty(&layer->notices) ||
        list_length(&layer->free_served) != layer->served_used) {
        cluster_fail(cluster, "node %u: requests for memory are left over", node);
    }
    if (frames_in(layer->frames.slim) != frames_in(fresh.frames.slim) ||
        frames_in(layer->frames.full) != frames_in(fresh.frames.full)) {
        cluster_fail(cluster, "node %u: frames are left over", node);
    }
    message_close(&fresh);
}

void cluster_check_empty(struct cluster *cluster)
{
    cluster_check(cluster);
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster_is_up(cluster, i)) {
            cluster_check_node_empty(cluster, i);
        }
    }
}
