/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

#include "sizes.h"

#include <math.h>
#include <stdlib.h>

/** Nodes do not begin at the same nanosecond. */
#define SPREAD_NS 2000u

uint64_t traffic_wire_bytes(const struct traffic_options *options, uint64_t bytes)
{
    uint64_t full = bytes / options->segment_bytes;
    uint64_t rest = bytes % options->segment_bytes;
    uint64_t wire = full * network_wire_bytes(options->segment_bytes + options->head_bytes);

    return rest == 0 && full > 0 ? wire
                                 : wire + network_wire_bytes((uint32_t)rest + options->head_bytes);
}

static double wire_amount(void *context, uint64_t bytes)
{
    return (double)traffic_wire_bytes(context, bytes);
}

static void room(struct traffic *traffic, uint64_t count, uint64_t follow)
{
    traffic->messages = calloc(count, sizeof *traffic->messages);
    traffic->order = calloc(count, sizeof *traffic->order);
    traffic->follow = calloc(follow + 1, sizeof *traffic->follow);
    if (traffic->messages == NULL || traffic->order == NULL || traffic->follow == NULL) {
        abort();
    }
}

static struct traffic_message *add(struct traffic *traffic, uint32_t from, uint32_t to,
                                   uint64_t bytes)
{
    struct traffic_message *message = &traffic->messages[traffic->count++];

    *message = (struct traffic_message){
        .from = from, .to = to, .bytes = bytes, .after = TRAFFIC_NONE, .queued = TRAFFIC_NONE};
    traffic->longest = bytes > traffic->longest ? bytes : traffic->longest;
    return message;
}

static void plan_incast(struct traffic *traffic)
{
    const struct traffic_options *options = &traffic->options;

    room(traffic, (uint64_t)(options->nodes - 1) * options->rounds, 0);
    for (uint32_t from = 1; from < options->nodes; from++) {
        for (uint32_t round = 0; round < options->rounds; round++) {
            struct traffic_message *message = add(traffic, from, 0, options->bytes);
            message->after = round + 1 < options->rounds ? traffic->count : TRAFFIC_NONE;
            message->waits = round > 0;
        }
    }
}

static void plan_all(struct traffic *traffic)
{
    const struct traffic_options *options = &traffic->options;
    uint32_t others = options->nodes - 1;

    room(traffic, (uint64_t)options->nodes * others, 0);
    for (uint32_t from = 0; from < options->nodes; from++) {
        for (uint32_t i = 0; i < others; i++) {
            struct traffic_message *message =
                add(traffic, from, (from + 1 + i) % options->nodes, options->bytes);
            message->waits = i >= options->outstanding;
            if (i + options->outstanding < others) {
                message->after = traffic->count - 1 + options->outstanding;
            }
        }
    }
}

/** Has `other` wait until `message` is received. All calls for one message must be in a row. */
static void follow(struct traffic *traffic, uint32_t message, uint32_t other)
{
    if (traffic->messages[message].next_count++ == 0) {
        traffic->messages[message].next = traffic->follow_count;
    }
    traffic->follow[traffic->follow_count++] = other;
    traffic->messages[other].waits++;
}

static void plan_ring(struct traffic *traffic)
{
    uint32_t nodes = traffic->options.nodes;
    uint32_t steps = 2 * (nodes - 1);
    uint64_t bytes = (traffic->options.bytes + nodes - 1) / nodes;

    room(traffic, (uint64_t)steps * nodes, (uint64_t)steps * nodes);
    for (uint32_t i = 0; i < steps * nodes; i++) {
        (void)add(traffic, i % nodes, (i + 1) % nodes, bytes);
    }
    for (uint32_t i = 0; i < (steps - 1) * nodes; i++) {
        follow(traffic, i, (i / nodes + 1) * nodes + (i + 1) % nodes);
    }
}

/** Node n sends to its parent, n without its lowest bit, when all children have sent; then the
 * other way. The message up from n is n - 1; those down to it come behind all of them. */
static void plan_tree(struct traffic *traffic)
{
    uint32_t nodes = traffic->options.nodes;
    uint32_t ups = nodes - 1;

    /* A node has up to 32 children; only those of node 0 begin the way down of as many. */
    room(traffic, 2 * (uint64_t)ups, 2 * (uint64_t)ups + 32 * UINT64_C(32));
    for (uint32_t node = 1; node < nodes; node++) {
        (void)add(traffic, node, node & (node - 1), traffic->options.bytes);
    }
    for (uint32_t node = 1; node < nodes; node++) {
        (void)add(traffic, node & (node - 1), node, traffic->options.bytes);
    }
    for (uint32_t node = 1; node < nodes; node++) {
        uint32_t parent = node & (node - 1);
        if (parent != 0) {
            follow(traffic, node - 1, parent - 1);
        }
        for (uint32_t bit = 1; parent == 0 && bit < nodes; bit *= 2) {
            follow(traffic, node - 1, ups + bit - 1);
        }
    }
    for (uint32_t node = 1; node < nodes; node++) {
        for (uint32_t bit = 1; bit < (node & -node) && node + bit < nodes; bit *= 2) {
            follow(traffic, ups + node - 1, ups + node + bit - 1);
        }
    }
}

static void plan_sizes(struct traffic *traffic, struct random *random)
{
    struct traffic_options *options = &traffic->options;
    double bits = 8 * sizes_mean(options->distribution, wire_amount, options);
    double apart_ns =
        1e9 * bits * 100 / ((double)options->bits_per_s * options->nodes * options->load_percent);
    double at_ns = 0;

    room(traffic, options->messages, 0);
    for (uint32_t i = 0; i < options->messages; i++) {
        uint32_t from = (uint32_t)random_below(random, options->nodes);
        uint32_t to = (uint32_t)random_below(random, options->nodes - 1);
        at_ns -= apart_ns * log(((double)random_below(random, UINT32_MAX) + 1) / UINT32_MAX);
        add(traffic, from, to + (to >= from), sizes_draw(options->distribution, random))->at_ns =
            (uint64_t)at_ns;
    }
}

static const struct traffic_message *compared;

static int by_time(const void *one, const void *other)
{
    uint32_t first = *(const uint32_t *)one;
    uint32_t second = *(const uint32_t *)other;
    uint64_t first_ns = compared[first].at_ns;
    uint64_t second_ns = compared[second].at_ns;

    return first_ns != second_ns ? (first_ns < second_ns ? -1 : 1) : (first < second ? -1 : 1);
}

void traffic_open(struct traffic *traffic, const struct traffic_options *options, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    *traffic = (struct traffic){.options = *options};
    switch (options->kind) {
    case TRAFFIC_INCAST:
        plan_incast(traffic);
        break;
    case TRAFFIC_ALL:
        plan_all(traffic);
        break;
    case TRAFFIC_RING:
        plan_ring(traffic);
        break;
    case TRAFFIC_TREE:
        plan_tree(traffic);
        break;
    case TRAFFIC_SIZES:
        plan_sizes(traffic, &random);
        break;
    }
    uint32_t *spread_ns = calloc(options->nodes, sizeof *spread_ns);
    if (spread_ns == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < options->nodes; i++) {
        spread_ns[i] = (uint32_t)random_below(&random, SPREAD_NS);
    }
    for (uint32_t i = 0; i < traffic->count; i++) {
        struct traffic_message *message = &traffic->messages[i];
        if (message->waits == 0) {
            message->at_ns += options->kind == TRAFFIC_SIZES ? 0 : spread_ns[message->from];
            traffic->order[traffic->ordered++] = i;
        }
    }
    free(spread_ns);
    compared = traffic->messages;
    qsort(traffic->order, traffic->ordered, sizeof *traffic->order, by_time);
}

void traffic_close(struct traffic *traffic)
{
    free(traffic->messages);
    free(traffic->order);
    free(traffic->follow);
}
