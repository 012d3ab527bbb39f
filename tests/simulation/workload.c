/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/** The byte at `offset` of a message. */
static uint8_t content(const struct workload_message *message, uint64_t offset)
{
    uint64_t mixed = (offset + 1) * UINT64_C(0x9E3779B97F4A7C15) +
                     ((uint64_t)message->from << 40 | (uint64_t)message->to << 20) +
                     (message->serial + 1) * UINT64_C(0xD1B54A32D192ED03);

    return (uint8_t)(mixed >> 56 ^ mixed >> 24);
}

/** Lengths where something changes: frames' room, the eager limit; else anything. */
static uint64_t random_bytes(struct workload *workload)
{
    struct random *random = &workload->random;
    uint64_t frame = workload->cluster->nodes[0].lanes.lanes[0]->frame_bytes;
    uint64_t eager_room = frame - sizeof(struct frame_header) - sizeof(struct frame_eager);
    uint64_t fragment_room = frame - sizeof(struct frame_header) - sizeof(struct frame_fragment);
    const uint64_t edges[] = {
        0,
        1,
        FRAME_POOL_SLIM_BYTES - FRAME_PADDED_BYTES,
        eager_room,
        eager_room + fragment_room,
        MESSAGE_EAGER_BYTES_MAX,
        2 * fragment_room,
        20 * fragment_room,
    };
    uint64_t bytes;

    switch (random_below(random, 4)) {
    case 0:
        bytes = random_below(random, 64);
        break;
    case 1:
        bytes = edges[random_below(random, sizeof edges / sizeof *edges)];
        bytes += random_below(random, 3);
        bytes -= bytes > 0;
        break;
    case 2:
        bytes = random_below(random, 3 * frame);
        break;
    default:
        bytes = random_below(random, workload->options.bytes_max + 1);
        break;
    }
    return bytes < workload->options.bytes_max ? bytes : workload->options.bytes_max;
}

static int by_time_message(const void *a, const void *b)
{
    const struct workload_message *left = a;
    const struct workload_message *right = b;

    return (left->post_ns > right->post_ns) - (left->post_ns < right->post_ns);
}

static int by_time_receive(const void *a, const void *b)
{
    const struct workload_receive *left = a;
    const struct workload_receive *right = b;

    return (left->post_ns > right->post_ns) - (left->post_ns < right->post_ns);
}

static void plan_message(struct workload *workload, struct workload_message *message)
{
    struct random *random = &workload->random;
    uint32_t nodes = workload->cluster->node_count;

    message->to = workload->options.into_first ? 0 : (uint32_t)random_below(random, nodes);
    message->from = (uint32_t)((message->to + 1 + random_below(random, nodes - 1)) % nodes);
    message->tag = random_below(random, workload->options.tags);
    message->bytes = random_bytes(workload);
    message->post_ns =
        cluster_now(workload->cluster) + random_below(random, workload->options.duration_ns);
    message->data = allocate(message->bytes, 1);
}

static void plan_receive(struct workload *workload, const struct workload_message *message,
                         struct workload_receive *receive)
{
    struct random *random = &workload->random;
    const struct workload_options *options = &workload->options;
    bool cut = random_chance(random, options->short_ppm);

    receive->at = message->to;
    receive->from = random_chance(random, options->any_peer_ppm) ? UINT32_MAX : message->from;
    receive->tag = message->tag;
    receive->ignore = random_chance(random, options->any_tag_ppm) ? UINT64_MAX : 0;
    receive->capacity = cut ? random_below(random, message->bytes + 1) : options->bytes_max;
    receive->post_ns = cluster_now(workload->cluster) + random_below(random, options->duration_ns);
    receive->data = allocate(receive->capacity, 1);
}

void workload_open(struct workload *workload, struct cluster *cluster,
                   const struct workload_options *options, uint64_t seed)
{
    uint32_t count = options->messages;
    uint32_t nodes = cluster->node_count;
    uint32_t *serials = allocate((size_t)nodes * nodes, sizeof *serials);

    *workload = (struct workload){.cluster = cluster, .options = *options};
    random_seed(&workload->random, seed);
    workload->message_count = count;
    workload->receive_count = 2 * count;
    workload->messages = allocate(count, sizeof *workload->messages);
    workload->receives = allocate(workload->receive_count, sizeof *workload->receives);
    for (uint32_t i = 0; i < count; i++) {
        plan_message(workload, &workload->messages[i]);
    }
    qsort(workload->messages, count, sizeof *workload->messages, by_time_message);
    for (uint32_t i = 0; i < count; i++) {
        struct workload_message *message = &workload->messages[i];
        message->serial = serials[message->from * nodes + message->to]++;
        for (uint64_t offset = 0; offset < message->bytes; offset++) {
            message->data[offset] = content(message, offset);
        }
        plan_receive(workload, message, &workload->receives[i]);
        /* What wildcards have stolen from others is taken in the end. */
        workload->receives[count + i] = (struct workload_receive){
            .at = message->to,
            .from = UINT32_MAX,
            .ignore = UINT64_MAX,
            .capacity = options->bytes_max,
            .post_ns = cluster_now(cluster) + options->duration_ns,
            .data = allocate(options->bytes_max, 1),
        };
    }
    qsort(workload->receives, workload->receive_count, sizeof *workload->receives, by_time_receive);
    free(serials);
}

void workload_close(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->message_count; i++) {
        free(workload->messages[i].data);
    }
    for (uint32_t i = 0; i < workload->receive_count; i++) {
        free(workload->receives[i].data);
    }
    free(workload->messages);
    free(workload->receives);
}

static bool is_up(const struct workload *workload, uint32_t node)
{
    return workload->cluster->nodes[node].lanes.count > 0;
}

/** Is an earlier message of the same pair not posted yet? */
static bool overtakes(const struct workload *workload, uint32_t index)
{
    const struct workload_message *message = &workload->messages[index];

    for (uint32_t i = 0; i < index; i++) {
        const struct workload_message *earlier = &workload->messages[i];
        if (!earlier->posted && earlier->from == message->from && earlier->to == message->to) {
            return true;
        }
    }
    return false;
}

static void scribble(struct workload_message *message)
{
    memset(message->data, 0xEE, (size_t)message->bytes);
}

static void post_send(struct workload *workload, struct workload_message *message)
{
    struct cluster *cluster = workload->cluster;

    if (!is_up(workload, message->from) || !is_up(workload, message->to)) {
        message->posted = true; /* nobody there: counts as failed */
        message->ended = true;
        message->status = -ECONNRESET;
        return;
    }
    struct core_peer *to = cluster_peer(cluster, message->from, message->to);
    const uint64_t inject_max =
        cluster->nodes[message->from].lanes.lanes[0]->frame_bytes - FRAME_PADDED_BYTES;
    bool inject = message->bytes <= inject_max && random_below(&workload->random, 4) == 0;
    int status = inject ? cluster_inject(cluster, message->from, to, message->tag, message->serial,
                                         message->data, message->bytes)
                        : cluster_send(cluster, message->from, to, message->tag, message->serial,
                                       message->data, message->bytes, message);
    if (status == -EAGAIN) {
        return;
    }
    message->posted = true;
    message->injected = inject;
    if (status != 0 || inject) {
        message->ended = true;
        message->status = status;
        scribble(message);
    }
}

static void post_receive(struct workload *workload, struct workload_receive *receive)
{
    struct cluster *cluster = workload->cluster;
    bool reachable = is_up(workload, receive->at) &&
                     (receive->from == UINT32_MAX || is_up(workload, receive->from));
    int status = -ECONNRESET;

    if (reachable) {
        struct core_peer *from =
            receive->from == UINT32_MAX ? NULL : cluster_peer(cluster, receive->at, receive->from);
        status = cluster_receive(cluster, receive->at, from, receive->tag, receive->ignore,
                                 receive->data, receive->capacity, receive);
    }
    if (status == -EAGAIN) {
        return;
    }
    receive->posted = true;
    receive->order = workload->next_order++;
    if (status != 0) {
        receive->ended = true;
        receive->status = status;
    }
}

static struct workload_message *find_message(struct workload *workload, uint32_t from, uint32_t to,
                                             uint32_t serial)
{
    for (uint32_t i = 0; i < workload->message_count; i++) {
        struct workload_message *message = &workload->messages[i];
        if (message->from == from && message->to == to && message->serial == serial) {
            return message;
        }
    }
    return NULL;
}

static void judge_receive(struct workload *workload, struct workload_receive *receive,
                          const struct beowire_completion *done)
{
    struct cluster *cluster = workload->cluster;
    const struct core *core = &cluster->nodes[receive->at].core;

    if (receive->ended) {
        cluster_fail(cluster, "a receive ended twice");
    }
    receive->ended = true;
    receive->status = done->status;
    if (done->status != 0 && done->status != -EMSGSIZE) {
        return;
    }
    uint32_t from = cluster_node_of(cluster, core, done->peer);
    struct workload_message *message = find_message(workload, from, receive->at, done->immediate);
    if (message == NULL || !message->posted || message->received) {
        cluster_fail(cluster, "node %u received message %u of node %u: %s", receive->at,
                     done->immediate, from, message == NULL ? "never sent" : "twice");
    }
    message->received = true;
    receive->got = message;
    if (done->tag != message->tag || done->bytes != message->bytes ||
        ((receive->tag ^ done->tag) & ~receive->ignore) != 0 ||
        (receive->from != UINT32_MAX && receive->from != from)) {
        cluster_fail(cluster, "message %u of node %u to %u does not fit", message->serial, from,
                     receive->at);
    }
    if ((done->status == -EMSGSIZE) != (message->bytes > receive->capacity)) {
        cluster_fail(cluster, "message %u of node %u to %u ended with %d", message->serial, from,
                     receive->at, done->status);
    }
    for (uint64_t i = 0; i < message->bytes && i < receive->capacity; i++) {
        if (receive->data[i] != content(message, i)) {
            cluster_fail(cluster, "message %u of node %u to %u, byte %llu of %llu is wrong",
                         message->serial, from, receive->at, (unsigned long long)i,
                         (unsigned long long)message->bytes);
        }
    }
}

static void judge_send(struct workload *workload, struct workload_message *message,
                       const struct beowire_completion *done)
{
    struct cluster *cluster = workload->cluster;

    if (message->ended) {
        cluster_fail(cluster, "a send ended twice");
    }
    if (done->tag != message->tag || done->bytes != message->bytes ||
        cluster_node_of(cluster, &cluster->nodes[message->from].core, done->peer) != message->to) {
        cluster_fail(cluster, "a send's completion is another's");
    }
    message->ended = true;
    message->status = done->status;
    scribble(message);
}

static void take_completions(struct workload *workload, uint32_t node)
{
    struct beowire_completion done;

    while (message_complete(&workload->cluster->nodes[node].core.messages, &done)) {
        if (done.operation == BEOWIRE_SEND) {
            judge_send(workload, done.context, &done);
        } else {
            judge_receive(workload, done.context, &done);
        }
    }
}

bool workload_step(struct workload *workload, uint64_t until_ns)
{
    struct cluster *cluster = workload->cluster;
    uint64_t next_ns = until_ns;
    bool waiting = false;
    bool finished = true;

    for (uint32_t i = 0; i < workload->receive_count; i++) {
        struct workload_receive *receive = &workload->receives[i];
        if (!receive->posted && receive->post_ns <= cluster_now(cluster)) {
            post_receive(workload, receive);
            waiting = waiting || !receive->posted;
        } else if (!receive->posted && receive->post_ns < next_ns) {
            next_ns = receive->post_ns;
        }
    }
    for (uint32_t i = 0; i < workload->message_count; i++) {
        struct workload_message *message = &workload->messages[i];
        if (!message->posted && message->post_ns <= cluster_now(cluster)) {
            if (!overtakes(workload, i)) {
                post_send(workload, message);
            }
            waiting = waiting || !message->posted;
        } else if (!message->posted && message->post_ns < next_ns) {
            next_ns = message->post_ns;
        }
        finished = finished && message->ended && (message->status != 0 || message->received);
    }
    if (waiting && next_ns > cluster_now(cluster) + 10000) {
        next_ns = cluster_now(cluster) + 10000; /* try again soon */
    }
    (void)cluster_step(cluster, next_ns);
    for (uint32_t node = 0; node < cluster->node_count; node++) {
        if (is_up(workload, node)) {
            take_completions(workload, node);
        }
    }
    return finished;
}

bool workload_run(struct workload *workload, uint64_t until_ns)
{
    bool finished = false;

    while (!finished && cluster_now(workload->cluster) < until_ns) {
        finished = workload_step(workload, until_ns);
    }
    workload_check_order(workload);
    return finished;
}

static bool accepts(const struct workload_receive *receive, const struct workload_message *message)
{
    return ((receive->tag ^ message->tag) & ~receive->ignore) == 0 &&
           (receive->from == UINT32_MAX || receive->from == message->from);
}

void workload_check_order(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->receive_count; i++) {
        const struct workload_receive *first = &workload->receives[i];
        for (uint32_t j = 0; first->got != NULL && j < workload->receive_count; j++) {
            const struct workload_receive *second = &workload->receives[j];
            if (second->got != NULL && second->at == first->at && first->order < second->order &&
                first->got->from == second->got->from && first->got->serial > second->got->serial &&
                accepts(first, second->got)) {
                cluster_fail(workload->cluster,
                             "node %u: an earlier receive took message %u of node %u, a later "
                             "one message %u",
                             first->at, first->got->serial, first->got->from, second->got->serial);
            }
        }
    }
}

void workload_cancel(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->receive_count; i++) {
        struct workload_receive *receive = &workload->receives[i];
        if (receive->posted && !receive->ended && is_up(workload, receive->at)) {
            (void)message_cancel(&workload->cluster->nodes[receive->at].core.messages, receive);
        }
    }
    for (uint32_t node = 0; node < workload->cluster->node_count; node++) {
        if (is_up(workload, node)) {
            take_completions(workload, node);
        }
    }
}

void workload_check_all(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->message_count; i++) {
        const struct workload_message *message = &workload->messages[i];
        if (!message->ended || message->status != 0 || !message->received) {
            cluster_fail(workload->cluster, "message %u of node %u to %u (%llu bytes): %s, %s",
                         message->serial, message->from, message->to,
                         (unsigned long long)message->bytes,
                         !message->ended        ? "its send hangs"
                         : message->status != 0 ? "its send failed"
                                                : "sent",
                         message->received ? "received" : "not received");
        }
    }
    workload_check_order(workload);
    workload_cancel(workload);
    for (uint32_t i = 0; i < workload->receive_count; i++) {
        const struct workload_receive *receive = &workload->receives[i];
        if (receive->posted && !receive->ended) {
            cluster_fail(workload->cluster, "a receive hangs at node %u", receive->at);
        }
    }
}
