/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster.h"

#include "route/address.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/** A node polls at least this often, which is the duration of a poll. */
#define STEP_NS 100u

/** An application computes for less than 2 to this power, in ns. */
#define COMPUTING_BITS 24

/** Checking costs more than a step. */
#define STEPS_PER_CHECK 8

static void (*report_failure)(const char *what);

static uint64_t cluster_random(void *context)
{
    struct cluster *cluster = context;

    return random_next(&cluster->random);
}

/** A node's clock, as the core asks for it. */
struct node_clock {
    const struct cluster *cluster;
    uint32_t node;
};

static uint64_t node_clock(void *context)
{
    const struct node_clock *clock = context;

    return cluster_node_now(clock->cluster, clock->node);
}

void cluster_on_failure(void (*report)(const char *what))
{
    report_failure = report;
}

void cluster_fail(const struct cluster *cluster, const char *format, ...)
{
    va_list arguments;
    char failure[512];
    int bytes =
        snprintf(failure, sizeof failure, "at %.6f ms: ", (double)cluster_now(cluster) / 1e6);

    va_start(arguments, format);
    (void)vsnprintf(failure + bytes, sizeof failure - (size_t)bytes, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fprintf(stderr, "simulation of seed %llu failed %s\n", (unsigned long long)cluster->seed,
                  failure);
    if (report_failure != NULL) {
        report_failure(failure);
    }
    abort();
}

void cluster_trace(const struct cluster *cluster, const char *format, ...)
{
    va_list arguments;

    if (cluster->trace == NULL) {
        return;
    }
    (void)fprintf(cluster->trace, "%llu ", (unsigned long long)cluster_now(cluster));
    va_start(arguments, format);
    (void)vfprintf(cluster->trace, format, arguments);
    va_end(arguments);
    (void)fputc('\n', cluster->trace);
}

void cluster_note(struct cluster *cluster, uint64_t number)
{
    cluster->hash = (cluster->hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    cluster->hash ^= cluster->hash >> 32;
}

uint64_t cluster_hash(const struct cluster *cluster)
{
    return cluster->hash ^ sim_wire_trace_hash(cluster->wire);
}

void cluster_open(struct cluster *cluster, const struct sim_options *wire)
{
    *cluster = (struct cluster){
        .seed = wire->seed,
        .node_count = wire->nodes,
        .rails = wire->rails,
        .whole_rails = wire->cutting != 0 ? (uint32_t)__builtin_ctz(wire->cutting) : wire->rails,
        .frame_bytes = wire->frame_bytes};
    cluster->nodes = calloc(wire->nodes, sizeof *cluster->nodes);
    if (cluster->nodes == NULL || sim_wire_open(wire, &cluster->wire) != 0) {
        abort();
    }
    random_seed(&cluster->random, ~wire->seed);
    random_seed(&cluster->work, wire->seed ^ UINT64_C(0xC0717));
    cluster->options = (struct core_options){
        .operations = 512,
        .hold = true,
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

void cluster_secret(struct cluster *cluster, uint8_t secret[ADDRESS_SECRET_BYTES])
{
    do {
        for (unsigned at = 0; at < ADDRESS_SECRET_BYTES; at += sizeof(uint64_t)) {
            uint64_t number = random_next(&cluster->random);
            memcpy(secret + at, &number, sizeof number);
        }
    } while (proof_incarnation(secret) == 0 || !proof_secret_is_known(secret));
}

void cluster_start(struct cluster *cluster, uint32_t node)
{
    struct node *started = &cluster->nodes[node];
    struct core_options options = cluster->options;
    uint8_t secret[ADDRESS_SECRET_BYTES];

    cluster_secret(cluster, secret);
    started->incarnation = proof_incarnation(secret);
    started->generation++;
    started->paused_until_ns = 0;
    started->computes_until_ns = 0;
    started->held_since_ns = 0;
    for (uint32_t rail = 0; rail < cluster->rails; rail++) {
        if (sim_lane_open(cluster->wire, node, rail, &started->lanes.lanes[rail]) != 0) {
            cluster_fail(cluster, "node %u does not start", node);
        }
        /* Like Ethernet frames and UDP: one has the lower latency, the other takes bursts. */
        started->lanes.lanes[rail]->takes_trains = rail % 2 == 1 && rail < cluster->whole_rails;
        started->lanes.count++;
    }
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(CLUSTER_ENDPOINT),
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(started->incarnation),
    };
    memcpy(layout.secret, secret, sizeof layout.secret);
    paths_publish(&started->lanes, &layout);
    memcpy(options.address.bytes, &layout, sizeof layout);
    options.lanes = started->lanes;
    options.checksums = cluster_checks(cluster, node);
    options.authenticate = cluster->sealing != 0 && node % cluster->sealing == 0;
    if (core_open(&started->core, &options) != 0) {
        cluster_fail(cluster, "node %u does not open", node);
    }
}

bool cluster_cuts(const struct cluster *cluster)
{
    return cluster->whole_rails < cluster->rails;
}

uint64_t cluster_now(const struct cluster *cluster)
{
    return sim_wire_now(cluster->wire);
}

uint64_t cluster_node_now(const struct cluster *cluster, uint32_t node)
{
    return cluster_now(cluster) + cluster->nodes[node].clock_ahead_ns;
}

bool cluster_runs(const struct cluster *cluster, uint32_t node)
{
    return cluster_is_up(cluster, node) &&
           cluster_now(cluster) >= cluster->nodes[node].paused_until_ns &&
           cluster_now(cluster) >= cluster->nodes[node].computes_until_ns;
}

void cluster_jump_clock(struct cluster *cluster, uint32_t node, uint64_t by_ns)
{
    cluster->nodes[node].clock_ahead_ns += by_ns;
}

void cluster_pause(struct cluster *cluster, uint32_t node, uint64_t until_ns)
{
    struct node *paused = &cluster->nodes[node];

    paused->paused_until_ns =
        until_ns > paused->paused_until_ns ? until_ns : paused->paused_until_ns;
}

static bool has_arrived(const struct node *node)
{
    for (unsigned i = 0; i < node->lanes.count; i++) {
        if (sim_has_arrived(node->lanes.lanes[i])) {
            return true;
        }
    }
    return false;
}

/** Receives what has arrived, as polling does, or the keeper while the application computes. */
static void look(struct cluster *cluster, struct node *node)
{
    struct node_clock clock = {.cluster = cluster, .node = (uint32_t)(node - cluster->nodes)};
    bool found = false;

    node->unchecked = true;
    while (core_receive(&node->core, node_clock, &clock) > 0) {
        found = true;
    }
    core_timers(&node->core, node_clock(&clock));
    if (core_asks_looks(&node->core)) {
        core_look_held(&node->core, !found, node_clock(&clock));
    }
}

/** While the application computes, only the keeper makes progress, if it has to. @return as
 *  progress(). */
static uint64_t compute(struct cluster *cluster, struct node *node)
{
    if (cluster_now(cluster) >= node->keeper_at_ns) {
        look(cluster, node);
        node->kept++;
        if (core_has_held(&node->core)) { /* something arrived, so the poll counts */
            core_look_held(&node->core, true,
                           cluster_node_now(cluster, (uint32_t)(node - cluster->nodes)));
        }
        node->keeper_at_ns = UINT64_MAX;
    }
    return node->keeper_at_ns < node->computes_until_ns ? node->keeper_at_ns
                                                        : node->computes_until_ns;
}

/** Lets a node do what is due. @return when it must be called next. */
static uint64_t progress(struct cluster *cluster, uint32_t index)
{
    struct node *node = &cluster->nodes[index];
    uint64_t now_ns = cluster_node_now(cluster, index);

    if (cluster_now(cluster) < node->paused_until_ns) {
        if (node->held_since_ns != 0) {
            node->held_since_ns = node->paused_until_ns;
        }
        return node->paused_until_ns;
    }
    if (cluster_now(cluster) < node->computes_until_ns) {
        return compute(cluster, node);
    }
    if (has_arrived(node) || now_ns >= node->core.deadline_ns || core_has_held(&node->core)) {
        look(cluster, node);
    }
    if (core_has_held(&node->core)) {
        return cluster_now(cluster) + HOLD_GAP_NS + 1; /* the next poll is early enough */
    }
    if (node->core.deadline_ns == UINT64_MAX) {
        return UINT64_MAX;
    }
    return node->core.deadline_ns > node->clock_ahead_ns
               ? node->core.deadline_ns - node->clock_ahead_ns
               : 0;
}

bool cluster_step(struct cluster *cluster, uint64_t until_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (cluster_is_up(cluster, i)) {
            uint64_t deadline_ns = progress(cluster, i);
            cluster_check_held(cluster, i);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
    }
    if (cluster->steps++ % STEPS_PER_CHECK == 0) {
        cluster_check_some(cluster);
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
    }
}

struct core_peer *cluster_peer(struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct core_peer *peer = NULL;

    if (core_peer_add(&cluster->nodes[from].core, &cluster->nodes[to].core.options.address,
                      &peer) != 0) {
        cluster_fail(cluster, "node %u cannot add node %u as a peer", from, to);
    }
    return peer;
}

uint32_t cluster_node_of(const struct cluster *cluster, const struct core *core, uint32_t peer)
{
    const struct core_peer *found = core_peer_at(core, peer);

    return found != NULL
               ? sim_node_of(cluster->wire, &found->route.paths.to[found->route.paths.fast])
               : UINT32_MAX;
}

void cluster_service(struct cluster *cluster, uint32_t at, struct core_peer *to)
{
    struct core *core = &cluster->nodes[at].core;

    core_service(core, to, cluster_node_now(cluster, at));
    core_bulk(core, cluster_node_now(cluster, at));
}

/** The application has posted something; sometimes it then computes for a while. */
static void posted(struct cluster *cluster, uint32_t at)
{
    struct node *node = &cluster->nodes[at];
    bool held = core_has_held(&node->core);

    node->unchecked = true;
    node->held += held && node->held_since_ns == 0;
    node->held_since_ns = !held                      ? 0
                          : node->held_since_ns != 0 ? node->held_since_ns
                                                     : cluster_now(cluster);
    if (cluster->computing != 0 && random_below(&cluster->work, cluster->computing) == 0) {
        uint64_t most_ns = UINT64_C(1) << random_below(&cluster->work, COMPUTING_BITS);
        node->computes_until_ns = cluster_now(cluster) + random_below(&cluster->work, most_ns);
        node->keeper_at_ns = held ? cluster_now(cluster) + KEEPER_HURRY_NS : UINT64_MAX;
        node->computed++;
    }
}

static int post(struct cluster *cluster, uint32_t from, struct core_peer *to,
                const struct core_post *message)
{
    struct node_clock clock = {.cluster = cluster, .node = from};
    int status = core_post(&cluster->nodes[from].core, to, message, node_clock, &clock);

    posted(cluster, from);
    return status;
}

int cluster_send(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                 uint32_t immediate, const void *data, uint64_t bytes, void *context)
{
    return post(cluster, from, to,
                &(struct core_post){.how = CORE_SEND,
                                    .tag = tag,
                                    .immediate = immediate,
                                    .data = data,
                                    .bytes = bytes,
                                    .context = context});
}

int cluster_send_confirmed(struct cluster *cluster, uint32_t from, struct core_peer *to,
                           uint64_t tag, uint32_t immediate, const void *data, uint64_t bytes,
                           void *context)
{
    return post(cluster, from, to,
                &(struct core_post){.how = CORE_SEND_CONFIRMED,
                                    .tag = tag,
                                    .immediate = immediate,
                                    .data = data,
                                    .bytes = bytes,
                                    .context = context});
}

int cluster_inject(struct cluster *cluster, uint32_t from, struct core_peer *to, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes)
{
    return post(
        cluster, from, to,
        &(struct core_post){
            .how = CORE_INJECT, .tag = tag, .immediate = immediate, .data = data, .bytes = bytes});
}

/** A receive was posted: `touched` may have something to send. */
static void service(struct cluster *cluster, uint32_t at, const struct message_peer *touched)
{
    if (touched != NULL) {
        cluster_service(cluster, at, cluster->nodes[at].core.peers[touched->index]);
    }
}

int cluster_receive(struct cluster *cluster, uint32_t at, struct core_peer *from, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context)
{
    struct message_peer *touched = NULL;
    int status =
        message_receive(&cluster->nodes[at].core.messages, from != NULL ? &from->message : NULL,
                        tag, ignore, data, bytes, context, &touched);

    service(cluster, at, touched);
    if (touched == NULL && status == 0 && from != NULL &&
        !core_watch(&cluster->nodes[at].core, from)) {
        core_connect(&cluster->nodes[at].core, from, cluster_node_now(cluster, at));
    }
    return status;
}

bool cluster_take(struct cluster *cluster, uint32_t at, struct beowire_completion *completion)
{
    struct core *core = &cluster->nodes[at].core;

    if (!message_complete(&core->messages, completion)) {
        return false;
    }
    struct core_peer *touched = core_taken(core, completion);
    if (touched != NULL) {
        core_service(core, touched, cluster_node_now(cluster, at));
    }
    return true;
}

int cluster_receive_claimed(struct cluster *cluster, uint32_t at, beowire_message message,
                            void *data, uint64_t bytes, void *context)
{
    struct message_peer *touched = NULL;
    int status = message_receive_claimed(&cluster->nodes[at].core.messages, message, data, bytes,
                                         context, &touched);

    service(cluster, at, touched);
    return status;
}
