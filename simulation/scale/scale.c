/* SPDX-License-Identifier: BSD-3-Clause */
#include "scale.h"

#include "tcp.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Receives that each node has posted: for a message of each of its peers, up to this number. */
#define RECEIVES 200u

/** The tag of messages that only make connections. */
#define WARM_TAG (UINT64_C(1) << 63)

/** Connections are made one after the other, with pauses; then nothing happens for a while. */
#define WARM_PAUSE_NS 3000u
#define WARM_QUIET_NS UINT64_C(1000000)

/** Two nodes that will talk, and exchange an empty message first. */
struct pair {
    uint32_t from;
    uint32_t to;
};

/** Messages that a node could not post yet: their numbers, linked by `queued`. */
struct backlog {
    uint32_t first;
    uint32_t last;
};

struct scale {
    const struct scale_options *options;
    struct scale_result *result;
    struct schedule schedule;
    struct network network;
    struct hosts hosts;
    struct traffic traffic;
    struct backlog *backlogs; /**< by node */
    struct tcp_flow *flows;
    uint32_t clock; /**< source: the next message, or connection, is due */
    struct pair *pairs;
    uint32_t pair_count;
    uint32_t warmed;   /**< of these */
    uint32_t next;     /**< in `order`, or of the pairs */
    uint64_t began_ns; /**< 0: connections are being made */
    uint64_t ended_ns;
    uint64_t bytes_received;
    uint64_t half_ns; /**< when half of all bytes were received */
    uint8_t *source;
    uint8_t *sink;
};

static void *make(uint64_t count, size_t bytes)
{
    void *made = calloc(count > 0 ? count : 1, bytes);

    if (made == NULL) {
        abort();
    }
    return made;
}

static void note(struct scale *scale, uint64_t number)
{
    uint64_t hash = (scale->result->hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);

    scale->result->hash = hash ^ hash >> 32;
}

/* ---- messages ------------------------------------------------------------------------------- */

/** A message waits for no other any more: its sender is to post it. */
static void enqueue(struct scale *scale, uint32_t number, uint64_t now_ns)
{
    struct traffic_message *message = &scale->traffic.messages[number];
    struct backlog *backlog = &scale->backlogs[message->from];

    message->at_ns = now_ns;
    message->queued = TRAFFIC_NONE;
    if (backlog->first == TRAFFIC_NONE) {
        backlog->first = number;
    } else {
        scale->traffic.messages[backlog->last].queued = number;
    }
    backlog->last = number;
    schedule_by(&scale->schedule, message->from, now_ns);
}

static void waits_less(struct scale *scale, uint32_t number, uint64_t now_ns)
{
    if (--scale->traffic.messages[number].waits == 0) {
        enqueue(scale, number, now_ns);
    }
}

static void post_backlog(struct scale *scale, struct host *host)
{
    struct backlog *backlog = &scale->backlogs[host->node];

    while (backlog->first != TRAFFIC_NONE) {
        struct traffic_message *message = &scale->traffic.messages[backlog->first];
        int status =
            host_post(host, message->to, backlog->first, scale->source, message->bytes, message);
        if (status == -EAGAIN) {
            return;
        }
        if (status != 0) {
            abort();
        }
        backlog->first = message->queued;
    }
}

static void post_receive(struct scale *scale, struct host *host)
{
    struct message_peer *touched = NULL;

    if (message_receive(&host->core.messages, NULL, 0, UINT64_MAX, scale->sink,
                        scale->traffic.longest, NULL, &touched) != 0) {
        abort();
    }
    if (touched != NULL) {
        core_service(&host->core, host->core.peers[touched->index], host->clock_ns);
        core_bulk(&host->core, host->clock_ns);
    }
}

static void received(struct scale *scale, struct host *host,
                     const struct beowire_completion *completion)
{
    post_receive(scale, host);
    if (completion->tag == WARM_TAG) {
        scale->warmed++;
        return;
    }
    struct traffic_message *message = &scale->traffic.messages[completion->tag];
    if (completion->bytes != message->bytes || message->done_ns != 0) {
        abort();
    }
    message->done_ns = host->clock_ns;
    note(scale, completion->tag ^ message->done_ns << 20);
    scale->result->received++;
    scale->bytes_received += message->bytes;
    scale->ended_ns = message->done_ns > scale->ended_ns ? message->done_ns : scale->ended_ns;
    if (scale->half_ns == 0 && scale->bytes_received * 2 >= scale->result->bytes) {
        scale->half_ns = host->clock_ns;
        for (uint32_t i = 0; i < scale->options->tcp; i++) {
            /* Segments received, for now; at the end it becomes a share. */
            scale->result->tcp_share +=
                (double)(scale->flows[i].to == 0) * (double)scale->flows[i].expected;
        }
        scale->result->own_share = (double)scale->bytes_received;
    }
    for (uint32_t i = 0; i < message->next_count; i++) {
        waits_less(scale, scale->traffic.follow[message->next + i], host->clock_ns);
    }
}

static void take_completions(struct scale *scale, struct host *host)
{
    struct beowire_completion completion;

    while (message_complete(&host->core.messages, &completion)) {
        if (completion.status != 0) {
            (void)fprintf(stderr, "beowire-simulate: an operation of node %u failed: %s\n",
                          host->node, strerror(-completion.status));
            exit(1);
        }
        if (completion.operation == BEOWIRE_RECEIVE) {
            received(scale, host, &completion);
            continue;
        }
        const struct traffic_message *message = completion.context;
        if (message != NULL && message->after != TRAFFIC_NONE) {
            waits_less(scale, message->after, host->clock_ns);
        }
    }
}

/* ---- what happens -------------------------------------------------------------------------- */

static void run_host(struct scale *scale, uint32_t node, uint64_t now_ns)
{
    struct host *host = &scale->hosts.host[node];

    if (!host_begin(host, now_ns)) {
        return;
    }
    host_progress(host);
    take_completions(scale, host);
    post_backlog(scale, host);
    host_end(host);
}

static void warm(struct scale *scale, uint64_t now_ns)
{
    const struct pair *pair = &scale->pairs[scale->next++];
    struct host *host = &scale->hosts.host[pair->from];

    host->clock_ns = host->clock_ns > now_ns ? host->clock_ns : now_ns;
    if (host_post(host, pair->to, WARM_TAG, NULL, 0, NULL) != 0) {
        abort();
    }
    schedule_by(&scale->schedule, pair->from, host->clock_ns);
    if (scale->next < scale->pair_count) {
        schedule_set(&scale->schedule, scale->clock, now_ns + WARM_PAUSE_NS);
    }
}

static void begin_traffic(struct scale *scale, uint64_t now_ns)
{
    const struct scale_options *options = scale->options;

    assert(options->nodes > 1);
    scale->began_ns = now_ns;
    scale->next = 0;
    scale->network.counters = (struct network_counters){0};
    for (uint32_t i = 0; i < options->nodes; i++) {
        for (unsigned j = 0; j < HOST_LANES; j++) {
            scale->hosts.host[i].lanes[j].lane.sent_frames = 0;
        }
    }
    for (uint32_t i = 0; i < scale->network.link_count; i++) {
        scale->network.links[i].passed = 0;
        scale->network.links[i].most = 0;
    }
    for (uint32_t i = 0; i < scale->network.switch_count; i++) {
        scale->network.switches[i].most = 0;
    }
    for (uint32_t i = 0; i < options->tcp; i++) {
        tcp_start(&scale->flows[i], &scale->network, i, options->nodes + i, i % options->nodes,
                  scale->clock + 1 + i, now_ns);
    }
    if (options->traffic.kind == TRAFFIC_INCAST) {
        for (uint32_t i = 0; i < options->tcp; i++) {
            scale->flows[i].to = 0;
        }
    }
    schedule_set(&scale->schedule, scale->clock,
                 now_ns + scale->traffic.messages[scale->traffic.order[0]].at_ns);
}

static void post_due(struct scale *scale, uint64_t now_ns)
{
    const struct traffic *traffic = &scale->traffic;

    while (scale->next < traffic->ordered) {
        uint32_t number = traffic->order[scale->next];
        uint64_t at_ns = scale->began_ns + traffic->messages[number].at_ns;
        if (at_ns > now_ns) {
            schedule_set(&scale->schedule, scale->clock, at_ns);
            return;
        }
        scale->next++;
        enqueue(scale, number, now_ns);
    }
}

static void deliver(void *context, struct network_frame *frame, uint64_t now_ns)
{
    struct scale *scale = context;

    if (frame->of_tcp) {
        tcp_frame(&scale->flows[tcp_number(frame)], frame, now_ns);
        network_give_back(&scale->network, frame);
    } else {
        host_deliver(&scale->hosts.host[frame->to], frame, now_ns);
    }
}

static void card_has_room(void *context, uint32_t node, uint64_t now_ns)
{
    struct scale *scale = context;

    if (node < scale->options->nodes) {
        host_has_room(&scale->hosts.host[node], now_ns);
    }
}

static void happens(struct scale *scale, uint32_t source, uint64_t now_ns)
{
    if (source < scale->options->nodes) {
        run_host(scale, source, now_ns);
    } else if (source < scale->clock) {
        network_due(&scale->network, source, now_ns);
    } else if (source > scale->clock) {
        tcp_due(&scale->flows[source - scale->clock - 1], now_ns);
    } else if (scale->began_ns != 0) {
        post_due(scale, now_ns);
    } else if (scale->next < scale->pair_count) {
        warm(scale, now_ns);
    } else {
        begin_traffic(scale, now_ns);
    }
}

static void live(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    uint32_t source = 0;
    uint64_t now_ns = 0;

    schedule_set(&scale->schedule, scale->clock, 1);
    while (scale->result->received < scale->traffic.count &&
           schedule_take(&scale->schedule, &source, &now_ns)) {
        if (scale->began_ns != 0 && now_ns - scale->began_ns > options->limit_ns) {
            return;
        }
        scale->result->events++;
        happens(scale, source, now_ns);
        if (scale->began_ns == 0 && scale->warmed == scale->pair_count &&
            scale->next == scale->pair_count) {
            scale->warmed = UINT32_MAX; /* so this is done once */
            scale->result->set_up_ns = now_ns;
            schedule_set(&scale->schedule, scale->clock, now_ns + WARM_QUIET_NS);
        }
    }
}

/* ---- beginning and end --------------------------------------------------------------------- */

static int by_pair(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(struct pair));
}

/** The pairs of nodes that will talk, each once; and how many peers each node has. */
static uint32_t *find_pairs(struct scale *scale)
{
    const struct traffic *traffic = &scale->traffic;
    uint32_t *peers = make(scale->options->nodes, sizeof *peers);
    uint32_t count = 0;

    scale->pairs = make(traffic->count, sizeof *scale->pairs);
    for (uint32_t i = 0; i < traffic->count; i++) {
        uint32_t from = traffic->messages[i].from;
        uint32_t to = traffic->messages[i].to;
        scale->pairs[i] = from < to ? (struct pair){from, to} : (struct pair){to, from};
    }
    qsort(scale->pairs, traffic->count, sizeof *scale->pairs, by_pair);
    for (uint32_t i = 0; i < traffic->count; i++) {
        if (count == 0 || by_pair(&scale->pairs[count - 1], &scale->pairs[i]) != 0) {
            scale->pairs[count++] = scale->pairs[i];
            peers[scale->pairs[i].from]++;
            peers[scale->pairs[i].to]++;
        }
    }
    scale->pair_count = scale->options->cold ? 0 : count;
    for (uint32_t i = 0; i < scale->options->nodes; i++) {
        peers[i] += 8;
    }
    return peers;
}

/** Resident memory of the process, in bytes. */
static uint64_t resident(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        line[0] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    const char *pages = strchr(line, ' '); /* the second number: resident pages */
    return pages != NULL ? strtoull(pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/** The least time from posting a message to receiving it, with nothing else on the way. */
static uint64_t least_ns(const struct scale *scale, const struct traffic_message *message)
{
    const struct scale_options *options = scale->options;
    const struct traffic_options *traffic = &options->traffic;
    const struct network_options *network = &options->network;
    uint64_t wire = traffic_wire_bytes(traffic, message->bytes);
    uint64_t full = network_wire_bytes(traffic->segment_bytes + traffic->head_bytes);
    uint64_t one = wire < full ? wire : full;
    bool far = network->leaf_nodes != 0 &&
               message->from / network->leaf_nodes != message->to / network->leaf_nodes;
    uint64_t step_ns = network_time(&scale->network, full);
    uint64_t frames = (wire + full - 1) / full;
    uint64_t busy_ns = network_time(&scale->network, wire);

    if (options->host.frame_ns > step_ns) {
        busy_ns += (frames - 1) * (options->host.frame_ns - step_ns);
    }
    return busy_ns + network_time(&scale->network, one) + 2 * options->host.frame_ns +
           (far ? 4 : 2) * network->delay_ns +
           (far ? 2 * one * 8 * UINT64_C(1000000000) / network->spine_bits_per_s : 0);
}

struct sample {
    uint64_t bytes;
    double slowdown;
};

static int by_bytes(const void *one, const void *other)
{
    const struct sample *first = one;
    const struct sample *second = other;

    return first->bytes != second->bytes         ? (first->bytes < second->bytes ? -1 : 1)
           : first->slowdown != second->slowdown ? (first->slowdown < second->slowdown ? -1 : 1)
                                                 : 0;
}

static int by_slowdown(const void *one, const void *other)
{
    const struct sample *first = one;
    const struct sample *second = other;

    return first->slowdown < second->slowdown ? -1 : first->slowdown > second->slowdown;
}

/** If messages come at random, leaves out the first and the last tenth: during these the network is
 * not yet, or no longer, as busy as it should be. */
static void judge_slowdown(struct scale *scale)
{
    const struct traffic *traffic = &scale->traffic;
    bool random = traffic->options.kind == TRAFFIC_SIZES;
    uint32_t from = random ? traffic->count / 10 : 0;
    uint32_t to = random ? traffic->count - traffic->count / 10 : traffic->count;
    struct sample *samples = make(to - from, sizeof *samples);
    uint32_t count = 0;

    for (uint32_t i = from; i < to; i++) {
        const struct traffic_message *message = &traffic->messages[i];
        if (message->done_ns != 0) {
            samples[count++] = (struct sample){
                .bytes = message->bytes,
                .slowdown =
                    (double)(message->done_ns - message->at_ns) / (double)least_ns(scale, message),
            };
        }
    }
    qsort(samples, count, sizeof *samples, by_bytes);
    for (uint32_t tenth = 0; tenth < SCALE_TENTHS; tenth++) {
        uint32_t first = (uint32_t)((uint64_t)count * tenth / SCALE_TENTHS);
        uint32_t some = (uint32_t)((uint64_t)count * (tenth + 1) / SCALE_TENTHS) - first;
        struct scale_tenth *judged = &scale->result->tenths[tenth];
        if (some == 0) {
            continue;
        }
        judged->messages = some;
        judged->shortest = samples[first].bytes;
        judged->longest = samples[first + some - 1].bytes;
        qsort(samples + first, some, sizeof *samples, by_slowdown);
        judged->median = samples[first + some / 2].slowdown;
        judged->p99 = samples[first + (uint32_t)((uint64_t)some * 99 / 100)].slowdown;
    }
    free(samples);
}

/** Jain's index of the bytes a second of each direction of each pair, from when its first message
 * was posted until its last was received. */
static double fairness_of(const struct scale *scale)
{
    const struct traffic *traffic = &scale->traffic;
    struct rate {
        struct pair pair;
        uint64_t bytes;
        uint64_t from_ns;
        uint64_t to_ns;
    } *rates = make(traffic->count, sizeof *rates);
    double sum = 0;
    double squares = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < traffic->count; i++) {
        const struct traffic_message *message = &traffic->messages[i];
        rates[i] = (struct rate){
            {message->from, message->to}, message->bytes, message->at_ns, message->done_ns};
    }
    qsort(rates, traffic->count, sizeof *rates, by_pair);
    for (uint32_t i = 0, next = 0; i < traffic->count; i = next) {
        struct rate all = rates[i];
        for (next = i + 1; next < traffic->count && by_pair(&rates[next], &all) == 0; next++) {
            all.bytes += rates[next].bytes;
            all.from_ns = rates[next].from_ns < all.from_ns ? rates[next].from_ns : all.from_ns;
            all.to_ns = rates[next].to_ns > all.to_ns ? rates[next].to_ns : all.to_ns;
        }
        if (all.to_ns > all.from_ns) {
            double rate = (double)all.bytes / (double)(all.to_ns - all.from_ns);
            sum += rate;
            squares += rate * rate;
            count++;
        }
    }
    free(rates);
    return squares > 0 ? sum * sum / (count * squares) : 0;
}

/** The least time in which the busiest link of a node can carry its messages. */
static uint64_t best_ns(const struct scale *scale)
{
    const struct scale_options *options = scale->options;
    uint64_t *in = make(options->nodes, sizeof *in);
    uint64_t *out = make(options->nodes, sizeof *out);
    uint64_t most = 0;

    for (uint32_t i = 0; i < scale->traffic.count; i++) {
        in[scale->traffic.messages[i].to] += scale->traffic.messages[i].bytes;
        out[scale->traffic.messages[i].from] += scale->traffic.messages[i].bytes;
    }
    for (uint32_t i = 0; i < options->nodes; i++) {
        most = in[i] > most ? in[i] : most;
        most = out[i] > most ? out[i] : most;
    }
    free(in);
    free(out);
    uint32_t full = options->host.frame_bytes;
    return network_time(&scale->network, most * network_wire_bytes(full) / full);
}

static void count_frames(struct scale *scale)
{
    struct scale_result *result = scale->result;
    uint64_t data_sent = 0;
    uint64_t data_placed = 0;

    for (uint32_t i = 0; i < scale->options->nodes; i++) {
        const struct host *host = &scale->hosts.host[i];
        const struct core_counters *counters = &host->core.counters;
        for (unsigned j = 0; j < HOST_LANES; j++) {
            result->frames += host->lanes[j].lane.sent_frames;
        }
        result->dropped_host += host->dropped;
        data_sent += host->core.messages.counters.data_frames_sent;
        data_placed += counters->received[FRAME_DATA] - counters->dropped_data_duplicate -
                       counters->dropped_data_unknown;
        for (uint32_t j = 0; j < host->core.peer_count; j++) {
            result->again += host->core.peers[j]->message.flow.retransmitted_frames;
        }
    }
    result->again += data_sent - data_placed;
    result->dropped = scale->network.counters.dropped - scale->network.counters.dropped_of_tcp;
    for (uint32_t i = 0; i < scale->network.switch_count; i++) {
        uint64_t most = scale->network.switches[i].most;
        result->buffer_most = most > result->buffer_most ? most : result->buffer_most;
    }
    for (uint32_t i = 0; i < scale->options->nodes; i++) {
        uint64_t most = network_port(&scale->network, i)->most;
        result->queue_most = most > result->queue_most ? most : result->queue_most;
    }
}

static void judge_shares(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    uint32_t flows = 0;

    for (uint32_t i = 0; i < options->tcp; i++) {
        flows += scale->flows[i].to == 0;
        scale->result->tcp_again += scale->flows[i].sent_again;
    }
    if (flows == 0 || scale->half_ns == 0) {
        return;
    }
    uint32_t own = options->nodes - 1;
    double seconds = (double)(scale->half_ns - scale->began_ns) / 1e9;
    double one = (double)options->network.bits_per_s / 8 * seconds / (flows + own) *
                 TCP_SEGMENT_BYTES / network_wire_bytes(TCP_FRAME_BYTES);
    scale->result->tcp_share *= TCP_SEGMENT_BYTES / (one * flows);
    scale->result->own_share /= one * own;
}

static void judge(struct scale *scale)
{
    struct scale_result *result = scale->result;

    result->time_ns = scale->ended_ns - scale->began_ns;
    result->best_ns = best_ns(scale);
    result->fairness = fairness_of(scale);
    judge_slowdown(scale);
    count_frames(scale);
    judge_shares(scale);
}

bool scale_run(const struct scale_options *options, struct scale_result *result)
{
    struct scale scale = {.options = options, .result = result};
    struct network_options network = options->network;
    const uint32_t nodes = options->nodes;

    assert(nodes > 1);
    *result = (struct scale_result){0};
    network.nodes = options->nodes + options->tcp;
    traffic_open(&scale.traffic, &options->traffic, options->seed);
    uint32_t *peers = find_pairs(&scale);
    result->messages = scale.traffic.count;
    for (uint32_t i = 0; i < scale.traffic.count; i++) {
        result->bytes += scale.traffic.messages[i].bytes;
    }
    scale.source = make(scale.traffic.longest, 1);
    scale.sink = make(scale.traffic.longest, 1);
    memset(scale.sink, 1, scale.traffic.longest);
    scale.flows = make(options->tcp, sizeof *scale.flows);
    scale.backlogs = make(options->nodes, sizeof *scale.backlogs);
    scale.clock = options->nodes + network_sources(&network);
    schedule_open(&scale.schedule, scale.clock + 1 + options->tcp);
    network_open(&scale.network, &network, &scale.schedule, options->nodes);
    scale.network.deliver = deliver;
    scale.network.room = card_has_room;
    scale.network.context = &scale;
    uint64_t before = resident();
    hosts_open(&scale.hosts, &options->host, options->nodes, peers, &scale.network, ~options->seed);
    for (uint32_t i = 0; i < options->nodes; i++) {
        scale.backlogs[i] = (struct backlog){TRAFFIC_NONE, TRAFFIC_NONE};
        for (uint32_t j = 0; j < RECEIVES; j++) {
            post_receive(&scale, &scale.hosts.host[i]);
        }
    }
    live(&scale);
    uint64_t own = before + scale.network.memory;
    uint64_t after = resident();
    result->memory_bytes = after > own ? (after - own) / nodes : 0;
    judge(&scale);
    hosts_close(&scale.hosts);
    network_close(&scale.network);
    schedule_close(&scale.schedule);
    traffic_close(&scale.traffic);
    free(scale.flows);
    free(scale.backlogs);
    free(scale.pairs);
    free(scale.source);
    free(scale.sink);
    free(peers);
    return result->received == result->messages;
}
