/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans operations on remote memory, their times, and the contents of memory, all from the seed. */
#include "remote_work.h"

#include "remote/region.h"

#include <stdlib.h>

/* ---- what is in memory --------------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    value ^= value >> 29;
    value *= UINT64_C(0xD1B54A32D192ED03);
    return value ^ value >> 32;
}

/** Keys that differ in all bytes, so that a damaged one is invalid. */
static uint64_t key_of(const struct remote_work *work, uint32_t number)
{
    return mix(work->seed + ((uint64_t)number << 32) + 1);
}

static uint64_t ticket_key(const struct remote_work *work, uint32_t node)
{
    return key_of(work, work->count + node);
}

static uint8_t content(const struct remote_operation *operation, uint32_t salt, uint64_t at)
{
    return (uint8_t)(mix(((uint64_t)operation->index << 40) + ((uint64_t)salt << 32) + at) >> 24);
}

static bool is_atomic(const struct remote_operation *operation)
{
    return operation->kind >= REMOTE_WORK_ADD;
}

static bool is_inside(const struct remote_operation *operation, uint64_t at)
{
    return at >= operation->offset && at - operation->offset < operation->bytes;
}

static uint8_t byte_of(uint64_t value, uint64_t at)
{
    uint8_t bytes[sizeof value];

    memcpy(bytes, &value, sizeof value);
    return bytes[at % sizeof value];
}

uint8_t remote_work_before(const struct remote_operation *operation, uint32_t generation,
                           uint64_t at)
{
    if (is_atomic(operation) && is_inside(operation, at)) {
        return byte_of(operation->compare, at - operation->offset);
    }
    return content(operation, generation, at);
}

uint8_t remote_work_after(const struct remote_operation *operation, uint32_t generation,
                          uint64_t at)
{
    if (operation->flaw != REMOTE_WORK_SOUND || operation->kind == REMOTE_WORK_GET ||
        !is_inside(operation, at)) {
        return remote_work_before(operation, generation, at);
    }
    switch (operation->kind) {
    case REMOTE_WORK_ADD:
        return byte_of(operation->compare + operation->value, at - operation->offset);
    case REMOTE_WORK_SWAP:
        return byte_of(operation->value, at - operation->offset);
    default:
        return content(operation, 0, at); /* generations begin at 1 */
    }
}

static void offer(struct remote_work *work, uint32_t node, const struct region *region)
{
    if (region_add(&work->workload->cluster->nodes[node].core.messages.regions, region) != 0) {
        cluster_fail(work->workload->cluster, "node %u registers no memory", node);
    }
}

static void offer_region(struct remote_work *work, const struct remote_operation *operation)
{
    uint32_t generation = work->workload->cluster->nodes[operation->to].generation;
    unsigned needed = operation->kind == REMOTE_WORK_GET ? BEOWIRE_MEMORY_READ
                      : operation->kind == REMOTE_WORK_SWAP
                          ? BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE
                          : BEOWIRE_MEMORY_WRITE;
    unsigned denied =
        operation->kind == REMOTE_WORK_GET ? BEOWIRE_MEMORY_WRITE : BEOWIRE_MEMORY_READ;

    for (uint64_t at = 0; at < operation->region_bytes; at++) {
        operation->memory[at] = remote_work_before(operation, generation, at);
    }
    offer(work, operation->to,
          &(struct region){.key = operation->key,
                           .base = operation->memory,
                           .bytes = operation->region_bytes,
                           .flags = operation->flaw == REMOTE_WORK_BAD_ACCESS ? denied : needed});
}

void remote_work_node_started(struct remote_work *work, uint32_t node)
{
    work->tickets[node] = 0;
    offer(work, node,
          &(struct region){.key = ticket_key(work, node),
                           .base = (uint8_t *)&work->tickets[node],
                           .bytes = sizeof work->tickets[node],
                           .flags = BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE});
    for (uint32_t i = 0; i < work->count; i++) {
        if (work->operations[i].to == node && work->operations[i].region_bytes > 0) {
            offer_region(work, &work->operations[i]);
        }
    }
}

/* ---- the plan ------------------------------------------------------------------------------ */

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/** Lengths at limits: the room of a frame, the longest short message; else random. */
static uint64_t random_bytes(struct random *random, uint64_t frame_bytes)
{
    const uint64_t edges[] = {
        0, 1, 8, frame_bytes, 2 * frame_bytes, MESSAGE_EAGER_BUSY_BYTES_MAX, REMOTE_WORK_BYTES_MAX};
    uint64_t bytes;

    switch (random_below(random, 4)) {
    case 0:
        bytes = edges[random_below(random, sizeof edges / sizeof *edges)];
        bytes += random_below(random, 3);
        break;
    case 1:
        bytes = random_below(random, 64);
        break;
    case 2:
        bytes = random_below(random, MESSAGE_EAGER_BUSY_BYTES_MAX);
        break;
    default:
        bytes = random_below(random, REMOTE_WORK_BYTES_MAX);
        break;
    }
    return bytes < REMOTE_WORK_BYTES_MAX ? bytes : REMOTE_WORK_BYTES_MAX;
}

/** An address slightly or far behind the region, or one that wraps around. */
static uint64_t bad_address(struct random *random, const struct remote_operation *operation)
{
    uint64_t behind = operation->region_bytes - operation->bytes + 1;

    switch (random_below(random, 3)) {
    case 0:
        return behind + random_below(random, 8);
    case 1:
        return behind + random_next(random) / 2;
    default:
        return UINT64_MAX - random_below(random, operation->bytes + 1);
    }
}

static void plan_region(struct remote_work *work, struct random *random,
                        struct remote_operation *operation)
{
    if (operation->kind == REMOTE_WORK_TICKET) {
        operation->flaw = REMOTE_WORK_SOUND;
        operation->key = ticket_key(work, operation->to);
        return;
    }
    uint64_t before = random_below(random, REMOTE_WORK_MARGIN_MAX);
    uint64_t behind = random_below(random, REMOTE_WORK_MARGIN_MAX);
    operation->key = key_of(work, operation->index);
    operation->offset = before;
    operation->region_bytes = before + operation->bytes + behind + 1;
    operation->memory = allocate(operation->region_bytes, 1);
    operation->address = operation->flaw == REMOTE_WORK_BAD_RANGE ? bad_address(random, operation)
                                                                  : operation->offset;
}

/** Allocates the data of a put; or the buffer of a get, and a guard. */
static void plan_data(struct remote_operation *operation)
{
    bool puts = operation->kind == REMOTE_WORK_PUT;

    operation->data = allocate(operation->bytes + WORKLOAD_GUARD_BYTES, 1);
    for (uint64_t at = 0; puts && at < operation->bytes; at++) {
        operation->data[at] = content(operation, 0, operation->offset + at);
    }
    memset(operation->data + operation->bytes, 0xA7, WORKLOAD_GUARD_BYTES);
}

static void plan_operation(struct remote_work *work, struct random *random,
                           const struct remote_options *options, struct remote_operation *operation)
{
    const struct cluster *cluster = work->workload->cluster;
    uint32_t nodes = options->crossing ? 2 : cluster->node_count;
    bool long_get = options->crossing && random_below(random, 8) != 0;

    operation->context = WORKLOAD_REMOTE;
    operation->to = (uint32_t)random_below(random, nodes);
    operation->from = (uint32_t)((operation->to + 1 + random_below(random, nodes - 1)) % nodes);
    operation->kind =
        long_get ? REMOTE_WORK_GET
                 : (enum remote_work_kind)random_below(random, (uint64_t)REMOTE_WORK_KINDS);
    operation->flaw =
        random_below(random, 6) == 0
            ? (enum remote_work_flaw)(1 + random_below(random, REMOTE_WORK_FLAWS - 1u))
            : REMOTE_WORK_SOUND;
    operation->post_ns = cluster_now(cluster) +
                         random_below(random, options->crossing ? 1000 : options->duration_ns);
    operation->bytes = random_bytes(random, cluster->frame_bytes);
    operation->notify = random_below(random, 2) == 0;
    operation->value = random_next(random);
    operation->compare = random_next(random);
    operation->old = ~operation->compare;
    if (long_get) {
        operation->bytes = MESSAGE_EAGER_BUSY_BYTES_MAX + 1 + random_below(random, 4000);
    } else if (is_atomic(operation)) {
        bool adds = operation->kind == REMOTE_WORK_ADD;
        operation->bytes = 8 * (adds ? 1 + random_below(random, REMOTE_WORK_ELEMENTS_MAX) : 1);
    }
    for (unsigned i = 0; i < REMOTE_WORK_ELEMENTS_MAX; i++) {
        operation->operands[i] = operation->kind == REMOTE_WORK_TICKET ? 1 : operation->value;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct remote_operation *left = a;
    const struct remote_operation *right = b;

    if (left->post_ns != right->post_ns) {
        return left->post_ns > right->post_ns ? 1 : -1;
    }
    return (left->index > right->index) - (left->index < right->index);
}

void remote_work_open(struct remote_work *work, struct workload *workload,
                      const struct remote_options *options, uint64_t seed)
{
    uint32_t nodes = workload->cluster->node_count;
    struct random random;

    *work = (struct remote_work){
        .workload = workload,
        .seed = seed,
        .count = options->operations,
        .unfinished = options->operations,
        .operations = allocate(options->operations, sizeof *work->operations),
        .tickets = allocate(nodes, sizeof *work->tickets),
    };
    random_seed(&random, seed ^ UINT64_C(0x4E304E));
    for (uint32_t i = 0; i < work->count; i++) {
        work->operations[i].index = i;
        plan_operation(work, &random, options, &work->operations[i]);
    }
    qsort(work->operations, work->count, sizeof *work->operations, by_time);
    for (uint32_t i = 0; i < work->count; i++) {
        work->operations[i].index = i;
        plan_region(work, &random, &work->operations[i]);
        plan_data(&work->operations[i]);
    }
    for (uint32_t node = 0; node < nodes; node++) {
        remote_work_node_started(work, node);
    }
    workload->remote = work;
}

void remote_work_close(struct remote_work *work)
{
    for (uint32_t i = 0; i < work->count; i++) {
        free(work->operations[i].memory);
        free(work->operations[i].data);
    }
    free(work->operations);
    free(work->tickets);
}
