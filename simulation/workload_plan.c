/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans which messages are sent and received, and when, all from the seed. */
#include "workload.h"

#include <stdlib.h>

/** Any tag except a flood's. */
#define ANY_TAG (~WORKLOAD_FLOOD_TAG)

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

uint8_t workload_content(const struct workload_message *message, uint64_t offset)
{
    uint64_t mixed = (offset + 1) * UINT64_C(0x9E3779B97F4A7C15) +
                     ((uint64_t)message->from << 40 | (uint64_t)message->to << 20) +
                     (message->serial + 1) * UINT64_C(0xD1B54A32D192ED03);

    return (uint8_t)(mixed >> 56 ^ mixed >> 24);
}

/** Lengths at limits: the room of a frame, the eager limit; else random. */
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
        MESSAGE_EAGER_BUSY_BYTES_MAX,
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

    if (left->post_ns != right->post_ns) {
        return left->post_ns > right->post_ns ? 1 : -1;
    }
    return (left->index > right->index) - (left->index < right->index);
}

/** `order` numbers them during planning. */
static int by_time_receive(const void *a, const void *b)
{
    const struct workload_receive *left = a;
    const struct workload_receive *right = b;

    if (left->post_ns != right->post_ns) {
        return left->post_ns > right->post_ns ? 1 : -1;
    }
    return (left->order > right->order) - (left->order < right->order);
}

static void plan_message(struct workload *workload, struct workload_message *message,
                         const struct workload_message *before)
{
    struct random *random = &workload->random;
    uint32_t nodes = workload->cluster->node_count;
    bool burst = random_chance(random, workload->options.burst_ppm) && before != NULL;

    message->context = WORKLOAD_MESSAGE;
    message->tag = random_below(random, workload->options.tags);
    if (burst) {
        message->from = before->from;
        message->to = before->to;
        message->bytes = random_below(random, BUNDLE_BYTES_MAX + 10);
        message->post_ns = before->post_ns;
        return;
    }
    message->to = workload->options.into_first ? 0 : (uint32_t)random_below(random, nodes);
    message->from = (uint32_t)((message->to + 1 + random_below(random, nodes - 1)) % nodes);
    message->bytes = random_bytes(workload);
    message->post_ns =
        cluster_now(workload->cluster) + random_below(random, workload->options.duration_ns);
}

static void plan_receive(struct workload *workload, const struct workload_message *message,
                         struct workload_receive *receive)
{
    struct random *random = &workload->random;
    const struct workload_options *options = &workload->options;
    bool cut = random_chance(random, options->short_ppm);

    receive->context = WORKLOAD_RECEIVE;
    receive->at = message->to;
    receive->from = random_chance(random, options->any_peer_ppm) ? UINT32_MAX : message->from;
    receive->tag = message->tag;
    receive->ignore = random_chance(random, options->any_tag_ppm) ? ANY_TAG : 0;
    receive->capacity = cut ? random_below(random, message->bytes + 1) : options->bytes_max;
    receive->post_ns = cluster_now(workload->cluster) + random_below(random, options->duration_ns);
    receive->claims = random_chance(random, options->claim_ppm);
    if (random_chance(random, options->cancel_ppm)) {
        receive->cancel_ns = 1 + random_below(random, options->duration_ns);
    }
}

/** Numbers the messages, fills them, and plans their receives. */
static void plan_receives(struct workload *workload)
{
    const struct workload_options *options = &workload->options;
    uint32_t count = workload->message_count;
    uint32_t nodes = workload->cluster->node_count;
    uint32_t *serials = allocate((size_t)nodes * nodes, sizeof *serials);

    for (uint32_t i = 0; i < count; i++) {
        struct workload_message *message = &workload->messages[i];
        message->index = i;
        message->serial = serials[message->from * nodes + message->to]++;
        message->data = allocate(message->bytes, 1);
        for (uint64_t offset = 0; offset < message->bytes; offset++) {
            message->data[offset] = workload_content(message, offset);
        }
        plan_receive(workload, message, &workload->receives[i]);
        /* At the end, takes messages whose receives matched others by wildcards. */
        workload->receives[count + i] = (struct workload_receive){
            .context = WORKLOAD_RECEIVE,
            .at = message->to,
            .from = UINT32_MAX,
            .ignore = ANY_TAG,
            .capacity = options->bytes_max,
            .post_ns = cluster_now(workload->cluster) + options->duration_ns,
            .last = true,
        };
    }
    for (uint32_t i = 0; i < workload->receive_count; i++) {
        workload->receives[i].order = i;
    }
    qsort(workload->receives, workload->receive_count, sizeof *workload->receives, by_time_receive);
    free(serials);
}

void workload_open(struct workload *workload, struct cluster *cluster,
                   const struct workload_options *options, uint64_t seed)
{
    uint32_t count = options->messages;
    size_t nodes = cluster->node_count;

    *workload = (struct workload){.cluster = cluster, .options = *options};
    random_seed(&workload->random, seed);
    workload->message_count = count;
    workload->unfinished = count;
    workload->receive_count = 2 * count;
    workload->messages = allocate(count, sizeof *workload->messages);
    workload->receives = allocate(workload->receive_count, sizeof *workload->receives);
    workload->waiting_messages = allocate(count, sizeof *workload->waiting_messages);
    workload->waiting_receives =
        allocate(workload->receive_count, sizeof *workload->waiting_receives);
    workload->cancels = allocate(workload->receive_count, sizeof *workload->cancels);
    workload->blocked = allocate(nodes * nodes, sizeof *workload->blocked);
    workload->excuses = allocate(nodes * nodes, sizeof *workload->excuses);
    workload->mute = allocate(nodes, sizeof *workload->mute);
    for (uint32_t i = 0; i < count; i++) {
        workload->messages[i].index = i;
        plan_message(workload, &workload->messages[i], i > 0 ? &workload->messages[i - 1] : NULL);
    }
    qsort(workload->messages, count, sizeof *workload->messages, by_time_message);
    plan_receives(workload);
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
    free(workload->waiting_messages);
    free(workload->waiting_receives);
    free(workload->cancels);
    free(workload->blocked);
    free(workload->excuses);
    free(workload->mute);
}
