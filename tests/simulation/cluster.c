/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster.h"

#include "endpoint/address.h"
#include "message/pull_path.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** A node looks around at least this often: how long a poll takes. */
#define STEP_NS 100u

/** Checking costs more than a step does. */
#define STEPS_PER_CHECK 8

/** What to say of the cluster that was opened last. */
static char seed_line[64];
static size_t seed_line_bytes;

/** Whatever ends the process (an assertion of the library, a sanitizer, a check here): which run it
 *  was has to be known. */
static void say_seed(int number)
{
    (void)!write(STDERR_FILENO, seed_line, seed_line_bytes);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static uint64_t cluster_random(void *context)
{
    struct cluster *cluster = context;

    return random_next(&cluster->random);
}

static uint64_t cluster_clock(void *context)
{
    return cluster_now(context);
}

void cluster_fail(const struct cluster *cluster, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(
        stderr, "simulation failed at %.6f ms, trace %016llx: ", (double)cluster_now(cluster) / 1e6,
        (unsigned long long)sim_wire_trace_hash(cluster->wire));
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    abort();
}

void cluster_open(struct cluster *cluster, const struct sim_options *wire)
{
    seed_line_bytes =
        (size_t)snprintf(seed_line, sizeof seed_line, "to repeat it: BEOWIRE_SEED=%llu\n",
                         (unsigned long long)wire->seed);
    (void)signal(SIGABRT, say_seed);
    *cluster = (struct cluster){.node_count = wire->nodes, .rails = wire->rails};
    cluster->nodes = calloc(wire->nodes, sizeof *cluster->nodes);
    if (cluster->nodes == NULL || sim_wire_open(wire, &cluster->wire) != 0) {
        abort();
    }
    random_seed(&cluster->random, ~wire->seed);
    cluster->options = (struct core_options){
        .operations = 512,
        .bundle = true,
        .peers = wire->nodes + 8,
        .peer_timeout_ns = UINT64_C(30000000000),
        .random = cluster_random,
        .random_context = cluster,
    };
}

void cluster_crash(struct cluster *cluster, uint32_t node)
{
    struct node *crashed = &cluster->nodes[node];

    core_close(&crashed->core);
    for (unsigned i = 0; i < crashed->lanes.count; i++) {
        crashed->lanes.lanes[i]->operations->close(crashed->lanes.lanes[i]);
    }
    crashed->lanes.count = 0;
}

void cluster_leave(struct cluster *cluster, uint32_t node)
{
    (void)core_say_goodbye(&cluster->nodes[node].core);
    cluster_crash(cluster, node);
}

void cluster_close(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].lanes.count > 0) {
            cluster_crash(cluster, i);
        }
    }
    sim_wire_close(cluster->wire);
    free(cluster->nodes);
}

void cluster_start(struct cluster *cluster, uint32_t node)
{
    struct node *started = &cluster->nodes[node];
    struct core_options options = cluster->options;

    for (uint32_t rail = 0; rail < cluster->rails; rail++) {
        if (sim_lane_open(cluster->wire, node, rail, &started->lanes.lanes[rail]) != 0) {
            cluster_fail(cluster, "node %u does not start", node);
        }
        started->lanes.count++;
    }
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(CLUSTER_ENDPOINT),
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(random_next(&cluster->random) | 1),
    };
    paths_publish(&started->lanes, &layout);
    memcpy(options.address.bytes, &layout, sizeof layout);
    options.lanes = started->lanes;
    if (core_open(&started->core, &options) != 0) {
        cluster_fail(cluster, "node %u does not open", node);
    }
}

uint64_t cluster_now(const struct cluster *cluster)
{
    return sim_wire_now(cluster->wire);
}

static uint64_t progress(struct cluster *cluster, struct node *node)
{
    while (core_receive(&node->core, cluster_clock, cluster) > 0) {
        /* until nothing is there */
    }
    core_timers(&node->core, cluster_now(cluster));
    return node->core.deadline_ns;
}

bool cluster_step(struct cluster *cluster, uint64_t until_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].lanes.count > 0) {
            uint64_t deadline_ns = progress(cluster, &cluster->nodes[i]);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
    }
    if (cluster->steps++ % STEPS_PER_CHECK == 0) {
        cluster_check(cluster);
    }
    uint64_t arrival_ns = sim_wire_next(cluster->wire);
    next_ns = arrival_ns < next_ns ? arrival_ns : next_ns;
    if (next_ns < cluster_now(cluster) + STEP_NS) {
        next_ns = cluster_now(cluster) + STEP_NS;
    }
    sim_wire_advance(cluster->wire, next_ns < until_ns ? next_ns : until_ns);
    return next_ns < until_ns;
}

void cluster_run(struct cluster *cluster, uint64_t until_ns)
{
    while (cluster_step(cluster, until_ns)) {
        /* on */
    }
}

struct core_peer *cluster_peer(struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct core_peer *peer = NULL;

    if (core_peer_add(&cluster->nodes[from].core, &cluster->nodes[to].core.options.address,
                      &peer) != 0) {
        cluster_fail(cluster, "node %u cannot know node %u", from, to);
    }
    return peer;
}

uint32_t cluster_node_of(const struct cluster *cluster, const struct core *core, uint32_t peer)
{
    const struct core_peer *found = core_peer_at(core, peer);

    return found != NULL ? sim_node_of(cluster->wire, &found->paths.at[found->paths.fast].to)
                         : UINT32_MAX;
}

int cluster_send(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    struct core *core = &cluster->nodes[from].core;
    int status = message_send(&core->messages, &to->message, tag, immediate, data, bytes, context);

    if (status == 0) {
        core_service(core, to, cluster_now(cluster));
        core_bulk(core, cluster_now(cluster));
    }
    return status;
}

int cluster_inject(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes)
{
    struct core *core = &cluster->nodes[from].core;
    int status = message_inject(&core->messages, &to->message, tag, immediate, data, bytes);

    if (status == -EAGAIN) {
        connection_ask(&to->connection, cluster_now(cluster));
    }
    core_service(core, to, cluster_now(cluster));
    return status;
}

int cluster_receive(struct cluster *cluster, uint32_t at, struct core_peer *from, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context)
{
    struct core *core = &cluster->nodes[at].core;
    struct message_peer *touched = NULL;
    int status = message_receive(&core->messages, from != NULL ? &from->message : NULL, tag, ignore,
                                 data, bytes, context, &touched);

    if (touched != NULL) {
        core_service(core, core->peers[touched->index], cluster_now(cluster));
        core_bulk(core, cluster_now(cluster));
    }
    return status;
}

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

/** Chunks that hold unmatched frames of a peer: only unmatched messages have any. */
static uint32_t chunks_held(const struct message_layer *layer, const struct message_peer *peer)
{
    uint32_t held = 0;
    const struct chunk *shared = NULL;

    for (const struct list *link = layer->unexpected.next; link != &layer->unexpected;
         link = link->next) {
        const struct inbound *inbound = LIST_ENTRY(link, struct inbound, arrival);
        held += inbound->peer == peer ? chunks_held_by(inbound) : 0;
        /* Messages of one bundle follow one another, and share a chunk. */
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
        flow->next - flow->first > FLOW_WINDOW_FRAMES) {
        cluster_fail(cluster, "flow: first %u highest %u next %u", flow->first, flow->highest,
                     flow->next);
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
        cluster_fail(cluster, "flow: of %u to %u, %u are said to be lost and %u to have arrived",
                     flow->first, flow->highest, flow->lost_frames, flow->delivered_frames);
    }
    for (unsigned i = 0; i < WINDOW_SET_WORDS; i++) {
        if ((flow->lost.words[i] & flow->delivered.words[i]) != 0) {
            cluster_fail(cluster, "flow: a frame has arrived and is lost");
        }
    }
}

/** Frames that came early: each once, in order, and where its sequence says. @return how many. */
static uint32_t check_reordered(const struct cluster *cluster, const struct message_peer *peer)
{
    const struct flow *flow = &peer->flow;
    uint32_t after = flow->expected; /* that one cannot be there: it would have been handed up */
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
        cluster_fail(cluster, "%u frames are kept, %u said to be", count, all_members(&flow->kept));
    }
    return count;
}

/** What a path is said to have outstanding is what the blocks of its peer's messages are. */
static void check_path(const struct cluster *cluster, const struct message_layer *layer,
                       const struct message_peer *peer, unsigned lane)
{
    uint64_t bytes = 0;
    uint32_t blocks = 0;

    for (const struct list *link = layer->pulls.next; link != &layer->pulls; link = link->next) {
        const struct pull *pull = LIST_ENTRY(link, struct pull, link);
        for (unsigned i = 0; i < PULL_BLOCKS && pull->peer == peer; i++) {
            const struct pull_block *block = &pull->block[i];
            if (block->active && block->lane == lane) {
                blocks++;
                bytes += block->accounted_bytes;
            }
        }
    }
    if (peer->pull_paths[lane].blocks != blocks ||
        peer->pull_paths[lane].outstanding_bytes != bytes) {
        cluster_fail(cluster, "peer %u, lane %u: %u blocks are outstanding, said to be %u",
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
                         "lane %u: %u blocks, %llu bytes are outstanding, said to be %u, %llu",
                         lane, blocks, (unsigned long long)bytes, layer->lanes[lane].blocks,
                         (unsigned long long)layer->lanes[lane].outstanding_bytes);
        }
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        pulls += core->peers[i]->message.pulls;
        requests += core->peers[i]->message.requests;
    }
    if (pulls != list_length(&layer->pulls) || requests != list_length(&layer->requests)) {
        cluster_fail(cluster, "%u pulls and %u requests, said to be %u and %u",
                     list_length(&layer->pulls), list_length(&layer->requests), pulls, requests);
    }
}

static void check_core(const struct cluster *cluster, const struct core *core)
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
        held_in_all += check_reordered(cluster, message); /* in what is reserved: `ahead` */
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
    if (free_chunks + held_in_all != layer->chunk_count) {
        cluster_fail(cluster, "%u chunks are free and %u held, of %u", free_chunks, held_in_all,
                     layer->chunk_count);
    }
    if (shared + layer->chunks_shared != MESSAGE_CHUNKS || ready != layer->ready_peers) {
        cluster_fail(cluster, "%u shared chunks used, %u left; %u peers ready of %u", shared,
                     layer->chunks_shared, layer->ready_peers, ready);
    }
}

void cluster_check(const struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].lanes.count > 0) {
            check_core(cluster, &cluster->nodes[i].core);
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

static void check_core_empty(const struct cluster *cluster, uint32_t node)
{
    const struct message_layer *layer = &cluster->nodes[node].core.messages;
    struct message_layer fresh;

    if (message_open(&fresh, layer->operations_each, cluster->options.peers,
                     cluster->nodes[node].lanes.lanes[0]->frame_bytes) != 0) {
        abort();
    }
    if (list_length(&layer->free_sends) != list_length(&fresh.free_sends) ||
        list_length(&layer->free_receives) != list_length(&fresh.free_receives) ||
        !list_is_empty(&layer->posted) || !list_is_empty(&layer->completed)) {
        cluster_fail(cluster, "node %u: operations are left", node);
    }
    if (!list_is_empty(&layer->unexpected) ||
        list_length(&layer->free_inbounds) != layer->inbounds_used) {
        cluster_fail(cluster, "node %u: messages are left", node);
    }
    if (!list_is_empty(&layer->pulls) || !list_is_empty(&layer->waiting_pulls) ||
        list_length(&layer->free_pulls) != PULLS_MAX ||
        list_length(&layer->free_requests) != PULL_REQUESTS) {
        cluster_fail(cluster, "node %u: pulls or requests are left", node);
    }
    if (frames_in(layer->frames.slim) != frames_in(fresh.frames.slim) ||
        frames_in(layer->frames.full) != frames_in(fresh.frames.full)) {
        cluster_fail(cluster, "node %u: frames are left", node);
    }
    message_close(&fresh);
}

void cluster_check_empty(const struct cluster *cluster)
{
    cluster_check(cluster);
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].lanes.count > 0) {
            check_core_empty(cluster, i);
        }
    }
}
