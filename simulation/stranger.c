/* SPDX-License-Identifier: BSD-3-Clause */
#include "stranger.h"

#include "route/address.h"
#include "trace.h"

#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

/** The most bursts, and frames in one. */
#define BURSTS_MAX 100
/** It records one sealed frame in this many. */
#define HEARD_EVERY 3
#define BURST_FRAMES_MAX 16

/** One pause in this many is long: then peers that have ended are forgotten. */
#define LONG_PAUSE_EVERY 16
#define LONG_PAUSE_NS (2 * SECOND)

/** RESET is longer than the shortest frame that it answers. */
#define MOST_TIMES_AS_LONG 3

/* ---- listening, and judging --------------------------------------------------------------- */

static uint32_t type_of(const struct sim_event *event)
{
    return ((const struct frame_header *)(const void *)event->head)->type;
}

static bool *heard(const struct stranger *stranger, uint32_t at, uint32_t from)
{
    return &stranger->heard[(size_t)at * stranger->cluster->node_count + from];
}

/** @param known available bytes of the frame; zeros follow */
static void record(struct stranger *stranger, const struct sim_event *event, size_t known)
{
    struct stranger_record *record = &stranger->records[stranger->recorded++ % STRANGER_RECORDS];

    record->from = event->from;
    record->to = event->to;
    record->rail = event->rail;
    record->bytes = event->bytes;
    memcpy(record->data, event->head, known);
    memset(record->data + known, 0, event->bytes - known);
}

static bool is_sealed(const uint8_t *data)
{
    unsigned type = frame_type_of(data);
    size_t header_bytes = frame_header_bytes((enum frame_type)type);

    return !frame_is_never_sealed(type) && /* a checksum is shorter, and needs no secret */
           4 * (size_t)(*data % 16) == header_bytes + sizeof(struct frame_seal);
}

static void judge_answer(struct stranger *stranger, const struct sim_event *event)
{
    stranger->resets++;
    stranger->reset_bytes += event->bytes;
    if (type_of(event) != FRAME_RESET || stranger->resets > stranger->said ||
        stranger->reset_bytes > MOST_TIMES_AS_LONG * stranger->said_bytes) {
        cluster_fail(stranger->cluster,
                     "node %u sends a frame of type %u to a stranger: answer %llu to %llu frames",
                     event->from, type_of(event), (unsigned long long)stranger->resets,
                     (unsigned long long)stranger->said);
    }
}

/** A node has sent a frame. */
static void hear_sent(struct stranger *stranger, const struct sim_event *event)
{
    uint32_t type = type_of(event);

    if (event->to == stranger->place) {
        judge_answer(stranger, event);
        return;
    }
    if (event->to >= stranger->cluster->node_count) {
        return;
    }
    if (type == FRAME_CONNECT || type == FRAME_ACCEPT) {
        record(stranger, event, frame_head_bytes((enum frame_type)type));
    } else if (type != FRAME_RESET && !*heard(stranger, event->from, event->to)) {
        cluster_fail(stranger->cluster,
                     "node %u sends a frame of type %u to node %u, which has not answered it",
                     event->from, type, event->to);
    }
}

/** A frame arrives at a node. One with the right key is honest, or a copy of an honest one. */
static void hear_delivered(struct stranger *stranger, const struct sim_event *event)
{
    const struct frame_header *header = (const struct frame_header *)(const void *)event->head;
    uint32_t type = type_of(event);

    if (event->from == stranger->place) {
        stranger->said += type != FRAME_CONNECT && type != FRAME_RESET && type != FRAME_CLOSE;
        stranger->said_bytes += event->bytes;
    } else if (type != FRAME_CONNECT && type != FRAME_RESET &&
               map_find(&stranger->cluster->nodes[event->to].core.by_key, from_le32(header->key)) !=
                   MAP_NONE) {
        *heard(stranger, event->to, event->from) = true;
        if (is_sealed(event->head) && random_below(&stranger->random, HEARD_EVERY) == 0) {
            record(stranger, event, event->bytes);
        }
    }
}

/** A sim_observer. */
static void observe(void *context, const struct sim_event *event)
{
    struct stranger *stranger = context;

    if (stranger->cluster->trace != NULL) {
        trace_frame(stranger->cluster->trace, event);
    }
    if (event->kind == SIM_SENT) {
        hear_sent(stranger, event);
    } else if (event->kind == SIM_DELIVERED) {
        hear_delivered(stranger, event);
    }
}

/** Does or did the incarnation belong to this node? */
static bool is_of_node(const struct stranger *stranger, uint64_t incarnation, uint32_t node)
{
    const struct stranger_node *known = &stranger->nodes[node];

    for (uint32_t i = 0; i < known->generations; i++) {
        if (known->incarnations[i] == incarnation) {
            return true;
        }
    }
    return false;
}

void stranger_check(const struct stranger *stranger)
{
    const struct cluster *cluster = stranger->cluster;
    uint32_t endpoints = 0;

    for (uint32_t node = 0; node < cluster->node_count; node++) {
        endpoints += stranger->nodes[node].generations;
    }
    for (uint32_t at = 0; at < cluster->node_count; at++) {
        const struct core *core = &cluster->nodes[at].core;
        if (!cluster_is_up(cluster, at)) {
            continue;
        }
        for (uint32_t i = 0; i < core->peer_count; i++) {
            const struct core_peer *peer = core->peers[i];
            uint32_t node = cluster_node_of(cluster, core, peer->message.handle);
            if (node >= cluster->node_count || !is_of_node(stranger, peer->incarnation, node)) {
                cluster_fail(cluster, "node %u has a peer that is a stranger, at place %u", at,
                             node);
            }
        }
        if (core->peer_count >= endpoints) {
            cluster_fail(cluster, "node %u has %u peers, of %u endpoints", at, core->peer_count,
                         endpoints);
        }
    }
}

/** Learns the endpoints. A new one has received nothing yet. */
static void learn(struct stranger *stranger)
{
    const struct cluster *cluster = stranger->cluster;

    for (uint32_t node = 0; node < cluster->node_count; node++) {
        struct stranger_node *known = &stranger->nodes[node];
        if (!cluster_is_up(cluster, node) ||
            known->generations == cluster->nodes[node].generation) {
            continue;
        }
        if (known->generations == STRANGER_GENERATIONS) {
            cluster_fail(cluster, "node %u has been started too often", node);
        }
        if (known->generations > 0) {
            memset(heard(stranger, node, 0), 0, cluster->node_count * sizeof *stranger->heard);
        }
        known->incarnations[known->generations++] = cluster->nodes[node].incarnation;
    }
}

/* ---- sending ------------------------------------------------------------------------------ */

/** A frame to be forged. */
struct forgery {
    struct sim_event event;
    uint8_t data[FRAME_BYTES_MAX];
};

static void guess(struct stranger *stranger, void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) {
        ((uint8_t *)data)[at] = (uint8_t)random_below(&stranger->random, 256);
    }
}

/** An incarnation of this node, which is public; or 0, or anything. */
static uint64_t some_incarnation(struct stranger *stranger, uint32_t node)
{
    switch (random_below(&stranger->random, 4)) {
    case 0:
        return 0;
    case 1:
        return random_next(&stranger->random);
    default:
        return node < stranger->cluster->node_count ? stranger->cluster->nodes[node].incarnation
                                                    : random_next(&stranger->random);
    }
}

/** The body of a CONNECT or ACCEPT that is right except for what cannot be guessed. */
static void write_connect(struct stranger *stranger, const struct sim_event *event,
                          struct frame_connect *body, uint32_t bytes)
{
    uint64_t incarnation = some_incarnation(stranger, event->from);
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = (uint8_t)stranger->cluster->rails,
        .endpoint = to_le16(CLUSTER_ENDPOINT),
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(incarnation),
    };

    for (uint32_t rail = 0; rail < stranger->cluster->rails; rail++) {
        const struct lane_address at = sim_address(event->from, rail);
        memcpy(layout.rail[rail].mac, at.bytes, sizeof layout.rail[rail].mac);
    }
    guess(stranger, body, sizeof *body);
    body->incarnation = to_le64(incarnation);
    body->expected_incarnation = to_le64(some_incarnation(stranger, event->to));
    body->frame_bytes = to_le16((uint16_t)bytes);
    body->job_key = to_le64(random_below(&stranger->random, 2));
    memcpy(body->place, &layout, sizeof body->place);
}

/** A well-formed frame of this type. */
static uint32_t write_frame(struct stranger *stranger, enum frame_type type,
                            struct forgery *forgery)
{
    struct random *random = &stranger->random;
    uint32_t most = stranger->cluster->frame_bytes;
    uint32_t head_bytes = (uint32_t)frame_head_bytes(type);
    uint32_t key = (uint32_t)random_next(random);
    uint8_t *body = forgery->data + sizeof(struct frame_header);

    if (type == FRAME_DATA) {
        struct frame_data data = frame_encode_data(CLUSTER_ENDPOINT, key, 0);
        memcpy(forgery->data, &data, sizeof data);
        return head_bytes + (uint32_t)random_below(random, most - head_bytes);
    }
    uint32_t payload_bytes =
        type > FRAME_SEQUENCED ? (uint32_t)random_below(random, most - head_bytes) : 0;
    guess(stranger, body, head_bytes - sizeof(struct frame_header));
    frame_encode(forgery->data, &(struct frame_fields){
                                    .type = type,
                                    .destination = CLUSTER_ENDPOINT,
                                    .source = CLUSTER_ENDPOINT,
                                    .key = type == FRAME_CONNECT || type == FRAME_RESET ? 0 : key,
                                    .sequence = (uint32_t)random_below(random, 64),
                                    .payload_bytes = (uint16_t)payload_bytes,
                                });
    frame_stamp(forgery->data, (uint16_t)random_below(random, 2),
                (uint32_t)random_below(random, 64), (uint16_t)random_below(random, 256));
    if (type == FRAME_CONNECT || type == FRAME_ACCEPT) {
        write_connect(stranger, &forgery->event, (struct frame_connect *)(void *)body, most);
        return most;
    }
    return head_bytes + payload_bytes;
}

/** Sends a frame of any type, or none, from its own place or a node's. Half of them are
 *  CONNECTs. */
static void forge(struct stranger *stranger)
{
    static struct forgery forgery; /* too large for the stack; not kept */
    struct random *random = &stranger->random;
    const struct cluster *cluster = stranger->cluster;
    bool own = random_below(random, 2) == 0;
    bool asks = random_below(random, 2) == 0;
    enum frame_type type =
        asks ? FRAME_CONNECT : (enum frame_type)random_below(random, FRAME_TYPES);

    forgery.event = (struct sim_event){
        .from = own ? stranger->place : (uint32_t)random_below(random, cluster->node_count),
        .to = (uint32_t)random_below(random, cluster->node_count),
        .rail = (uint32_t)random_below(random, cluster->rails),
        .head = forgery.data,
    };
    memset(forgery.data, (int)random_below(random, 256), cluster->frame_bytes);
    if (frame_type_name(type) != NULL) {
        forgery.event.bytes = write_frame(stranger, type, &forgery);
    } else {
        uint32_t least = sizeof(struct frame_header);
        forgery.event.bytes = least + (uint32_t)random_below(random, cluster->frame_bytes - least);
        guess(stranger, forgery.data, forgery.event.bytes);
    }
    sim_wire_forge(cluster->wire, &forgery.event);
}

/** Claims that the receiver of this sealed frame does not know the connection. */
static void deny(struct stranger *stranger, const struct stranger_record *record)
{
    const struct frame_header *header = (const struct frame_header *)(const void *)record->data;
    uint8_t data[sizeof(struct frame_header) + sizeof(struct frame_reset)];
    const struct frame_reset body = {.echoed_key = header->key,
                                     .reason = to_le32(FRAME_RESET_UNKNOWN)};

    frame_encode(data, &(struct frame_fields){.type = FRAME_RESET,
                                              .destination = CLUSTER_ENDPOINT,
                                              .source = CLUSTER_ENDPOINT});
    memcpy(data + sizeof *header, &body, sizeof body);
    sim_wire_forge(stranger->cluster->wire, &(struct sim_event){.from = record->to,
                                                                .to = record->from,
                                                                .rail = record->rail,
                                                                .bytes = sizeof data,
                                                                .head = data});
}

/** Repeats a recorded frame, unchanged or altered. */
static void replay(struct stranger *stranger)
{
    static uint8_t data[FRAME_BYTES_MAX];
    struct random *random = &stranger->random;
    uint64_t known = stranger->recorded < STRANGER_RECORDS ? stranger->recorded : STRANGER_RECORDS;
    const struct stranger_record *record = &stranger->records[random_below(random, known)];
    bool sealed = is_sealed(record->data);

    if (sealed && stranger->resets_allowed && random_below(random, 4) == 0) {
        deny(stranger, record);
        return;
    }
    memcpy(data, record->data, record->bytes);
    if (sealed && random_below(random, 2) == 0) {
        /* Bytes after the header may be padding of any value. Those that describe memory must not
         * change, for the sake of the wire's hash. */
        unsigned type = frame_type_of(data);
        bool says = type == FRAME_ANNOUNCE || type == FRAME_OFFER || type == FRAME_GRANT;
        uint64_t least = says ? offsetof(struct frame_header, flags) : 0;
        uint64_t at = least + random_below(random, FRAME_PADDED_BYTES - least);
        data[at] ^= (uint8_t)(1u << random_below(random, 8));
        stranger->altered++;
    }
    sim_wire_forge(stranger->cluster->wire, &(struct sim_event){.from = record->from,
                                                                .to = record->to,
                                                                .rail = record->rail,
                                                                .bytes = record->bytes,
                                                                .head = data});
    stranger->replayed++;
}

static void burst(struct stranger *stranger)
{
    struct random *random = &stranger->random;
    uint64_t frames = 1 + random_below(random, BURST_FRAMES_MAX);
    bool is_long = random_below(random, LONG_PAUSE_EVERY) == 0;

    for (; frames > 0; frames--) {
        if (stranger->on_path && stranger->recorded > 0 && random_below(random, 4) == 0) {
            replay(stranger);
        } else {
            forge(stranger);
        }
    }
    stranger->next_ns = cluster_now(stranger->cluster) + 1000 +
                        random_below(random, is_long ? LONG_PAUSE_NS : stranger->pause_ns);
    stranger->bursts_left--;
}

/* ---- all of it ----------------------------------------------------------------------------- */

struct stranger *stranger_open(struct cluster *cluster, uint64_t duration_ns, uint64_t seed)
{
    struct stranger *stranger = calloc(1, sizeof *stranger);
    uint32_t nodes = cluster->node_count;

    if (stranger == NULL) {
        abort();
    }
    stranger->cluster = cluster;
    random_seed(&stranger->random, seed ^ UINT64_C(0x574A46E4));
    stranger->place = nodes;
    stranger->on_path = random_below(&stranger->random, 2) == 0;
    stranger->bursts_left = 1 + (uint32_t)random_below(&stranger->random, BURSTS_MAX);
    stranger->pause_ns = 1 + duration_ns / 8;
    stranger->next_ns = cluster_now(cluster);
    stranger->nodes = calloc(nodes, sizeof *stranger->nodes);
    stranger->heard = calloc((size_t)nodes * nodes, sizeof *stranger->heard);
    if (stranger->nodes == NULL || stranger->heard == NULL) {
        abort();
    }
    for (unsigned i = 0; i < STRANGER_RECORDS; i++) {
        stranger->records[i].data = malloc(cluster->frame_bytes);
        if (stranger->records[i].data == NULL) {
            abort();
        }
    }
    sim_wire_observe(cluster->wire, observe, stranger);
    return stranger;
}

void stranger_close(struct stranger *stranger)
{
    sim_wire_observe(stranger->cluster->wire, NULL, NULL);
    for (unsigned i = 0; i < STRANGER_RECORDS; i++) {
        free(stranger->records[i].data);
    }
    free(stranger->nodes);
    free(stranger->heard);
    free(stranger);
}

uint64_t stranger_step(struct stranger *stranger)
{
    learn(stranger);
    if (stranger->bursts_left > 0 && cluster_now(stranger->cluster) >= stranger->next_ns) {
        burst(stranger);
        stranger_check(stranger);
    }
    return stranger->bursts_left > 0 ? stranger->next_ns : UINT64_MAX;
}
