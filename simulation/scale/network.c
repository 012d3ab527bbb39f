/* SPDX-License-Identifier: BSD-3-Clause */
#include "network.h"

#include "tuning.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define NODE UINT32_MAX

/** Frames for which a card has room, as common drivers have set it. */
#define CARD_FRAMES_MOST 256u

static uint32_t leaves_of(const struct network_options *options)
{
    return options->leaf_nodes == 0
               ? 1
               : (options->nodes + options->leaf_nodes - 1) / options->leaf_nodes;
}

static uint32_t spines_of(const struct network_options *options)
{
    return options->leaf_nodes == 0 ? 0 : options->spines;
}

uint32_t network_sources(const struct network_options *options)
{
    return 2 * options->nodes + 2 * leaves_of(options) * spines_of(options) + 1;
}

static uint32_t leaf_of(const struct network *network, uint32_t node)
{
    return network->options.leaf_nodes == 0 ? 0 : node / network->options.leaf_nodes;
}

static void *make(uint64_t count, size_t bytes)
{
    void *made = calloc(count, bytes);

    if (made == NULL) {
        abort();
    }
    return made;
}

void network_open(struct network *network, const struct network_options *options,
                  struct schedule *schedule, uint32_t source)
{
    uint32_t nodes = options->nodes;
    uint32_t leaves = leaves_of(options);
    uint32_t spines = spines_of(options);

    *network = (struct network){
        .options = *options,
        .schedule = schedule,
        .source = source,
        .link_count = network_sources(options) - 1,
        .switch_count = leaves + spines,
    };
    network->links = make(network->link_count, sizeof *network->links);
    network->waiting = make(nodes, sizeof *network->waiting);
    network->switches = make(network->switch_count, sizeof *network->switches);
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t leaf = leaf_of(network, node);
        network->links[node] =
            (struct network_link){.of = NODE, .to = leaf, .bits_per_s = options->bits_per_s};
        network->links[nodes + node] =
            (struct network_link){.of = leaf, .to = NODE, .bits_per_s = options->bits_per_s};
    }
    for (uint32_t i = 0; i < leaves * spines; i++) {
        uint32_t leaf = i / spines;
        uint32_t spine = leaves + i % spines;
        network->links[2 * nodes + i] =
            (struct network_link){.of = leaf, .to = spine, .bits_per_s = options->spine_bits_per_s};
        network->links[2 * nodes + leaves * spines + i] =
            (struct network_link){.of = spine, .to = leaf, .bits_per_s = options->spine_bits_per_s};
    }
}

static void free_list(struct network_frame *frame)
{
    while (frame != NULL) {
        struct network_frame *next = frame->next;
        free(frame);
        frame = next;
    }
}

void network_close(struct network *network)
{
    for (uint32_t i = 0; i < network->link_count; i++) {
        free_list(network->links[i].queue.first);
    }
    for (uint32_t i = 0; i < network->options.nodes; i++) {
        free_list(network->waiting[i].first);
    }
    free_list(network->between.first);
    free_list(network->free);
    free(network->links);
    free(network->waiting);
    free(network->switches);
}

struct network_frame *network_take(struct network *network)
{
    struct network_frame *frame = network->free;

    if (frame != NULL) {
        network->free = frame->next;
        return frame;
    }
    size_t bytes = sizeof *frame + network->options.frame_bytes;
    network->memory += bytes;
    return make(1, bytes);
}

void network_give_back(struct network *network, struct network_frame *frame)
{
    frame->next = network->free;
    network->free = frame;
}

static void append(struct network_queue *queue, struct network_frame *frame)
{
    frame->next = NULL;
    if (queue->first == NULL) {
        queue->first = frame;
    } else {
        queue->last->next = frame;
    }
    queue->last = frame;
    queue->frames++;
    queue->bytes += network_wire_bytes(frame->bytes);
}

static struct network_frame *take_first(struct network_queue *queue)
{
    struct network_frame *frame = queue->first;

    queue->first = frame->next;
    queue->frames--;
    queue->bytes -= network_wire_bytes(frame->bytes);
    return frame;
}

/** Begins to send the first frame of the queue. What is left of a nanosecond counts for the next
 * frame, if that follows without a pause. */
static void begin(struct network *network, uint32_t index, uint64_t now_ns)
{
    struct network_link *link = &network->links[index];
    uint64_t work = network_wire_bytes(link->queue.first->bytes) * 8 * SECOND_NS + link->rest;

    link->rest = work % link->bits_per_s;
    schedule_set(network->schedule, network->source + index, now_ns + work / link->bits_per_s);
}

static void enqueue(struct network *network, uint32_t index, struct network_frame *frame,
                    uint64_t now_ns)
{
    struct network_link *link = &network->links[index];

    frame->link = index;
    append(&link->queue, frame);
    link->most = link->queue.bytes > link->most ? link->queue.bytes : link->most;
    if (link->queue.frames == 1) {
        link->rest = 0;
        begin(network, index, now_ns);
    }
}

bool network_has_room(const struct network *network, uint32_t node, bool direct)
{
    return direct ? network->links[node].queue.frames < CARD_FRAMES_MOST
                  : network->waiting[node].bytes < LANE_BULK_BUFFER_BYTES;
}

/** Moves frames that wait into the card, up to its limit. */
static void fill_card(struct network *network, uint32_t node, uint64_t now_ns)
{
    while (network->waiting[node].first != NULL &&
           network->links[node].queue.bytes < network->options.card_bytes) {
        enqueue(network, node, take_first(&network->waiting[node]), now_ns);
    }
}

void network_send(struct network *network, struct network_frame *frame, uint64_t now_ns)
{
    uint32_t node = frame->from;

    network->counters.sent++;
    if (frame->direct) {
        enqueue(network, node, frame, now_ns);
    } else {
        append(&network->waiting[node], frame);
        fill_card(network, node, now_ns);
    }
}

/** The link on which a frame leaves a switch. */
static uint32_t way_of(const struct network *network, const struct network_frame *frame,
                       uint32_t at)
{
    const struct network_options *options = &network->options;
    uint32_t leaves = leaves_of(options);
    uint32_t spines = spines_of(options);
    uint32_t leaf = leaf_of(network, frame->to);
    uint64_t pair = ((uint64_t)frame->from << 32 | frame->to) * UINT64_C(0x9E3779B97F4A7C15);

    if (at == leaf) {
        return options->nodes + frame->to;
    }
    return at < leaves ? 2 * options->nodes + at * spines + (uint32_t)((pair >> 32) % spines)
                       : 2 * options->nodes + leaves * spines + leaf * spines + at - leaves;
}

/** A frame has arrived at a switch. */
static void switch_frame(struct network *network, uint32_t at, struct network_frame *frame,
                         uint64_t now_ns)
{
    const struct network_options *options = &network->options;
    struct network_switch *here = &network->switches[at];
    uint32_t index = way_of(network, frame, at);
    uint64_t bytes = network_wire_bytes(frame->bytes);
    uint64_t left = options->buffer_bytes - here->used;
    uint64_t queued = network->links[index].queue.bytes;

    if (bytes > left ||
        (options->alpha_percent != 0 && (queued + bytes) * 100 > left * options->alpha_percent)) {
        network->counters.dropped++;
        network->counters.dropped_of_tcp += frame->of_tcp;
        network_give_back(network, frame);
        return;
    }
    here->used += bytes;
    here->most = here->used > here->most ? here->used : here->most;
    enqueue(network, index, frame, now_ns);
}

static void sent(struct network *network, uint32_t index, uint64_t now_ns)
{
    struct network_link *link = &network->links[index];
    bool freed = link->of == NODE &&
                 (link->queue.frames == CARD_FRAMES_MOST / 2 || network->waiting[index].frames > 0);
    struct network_frame *frame = take_first(&link->queue);
    uint32_t bytes = network_wire_bytes(frame->bytes);

    link->passed += bytes;
    if (link->of != NODE) {
        network->switches[link->of].used -= bytes;
    }
    if (link->queue.frames > 0) {
        begin(network, index, now_ns);
    }
    frame->at_ns = now_ns + network->options.delay_ns;
    append(&network->between, frame);
    if (network->between.frames == 1) {
        schedule_set(network->schedule, network->source + network->link_count, frame->at_ns);
    }
    if (freed) {
        fill_card(network, index, now_ns);
        network->room(network->context, index, now_ns);
    }
}

static void arrived(struct network *network, uint64_t now_ns)
{
    while (network->between.first != NULL && network->between.first->at_ns <= now_ns) {
        struct network_frame *frame = take_first(&network->between);
        uint32_t to = network->links[frame->link].to;
        if (to == NODE) {
            network->counters.delivered++;
            network->deliver(network->context, frame, now_ns);
        } else {
            switch_frame(network, to, frame, now_ns);
        }
    }
    if (network->between.first != NULL) {
        schedule_set(network->schedule, network->source + network->link_count,
                     network->between.first->at_ns);
    }
}

void network_due(struct network *network, uint32_t source, uint64_t now_ns)
{
    uint32_t index = source - network->source;

    if (index < network->link_count) {
        sent(network, index, now_ns);
    } else {
        arrived(network, now_ns);
    }
}

uint64_t network_time(const struct network *network, uint64_t bytes)
{
    uint64_t rate = network->options.bits_per_s;

    return bytes / rate * 8 * SECOND_NS + (bytes % rate * 8 * SECOND_NS + rate - 1) / rate;
}
