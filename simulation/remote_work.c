/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote_work.h"

#include "oracle.h"
#include "remote_oracle.h"

#include <errno.h>

void remote_work_node_ended(struct remote_work *work, uint32_t node)
{
    for (uint32_t i = 0; i < work->due; i++) {
        struct remote_operation *operation = &work->operations[i];
        if (operation->from == node && operation->posted && !operation->ended) {
            operation->abandoned = true;
            operation->ended = true;
            operation->status = -ESHUTDOWN;
            work->unfinished--;
        }
    }
}

/* ---- posting ------------------------------------------------------------------------------- */

static int post_atomic(struct cluster *cluster, struct remote_operation *operation,
                       struct core_peer *to, const struct beowire_remote *remote)
{
    bool swaps = operation->kind == REMOTE_WORK_SWAP;
    const struct beowire_atomic atomic = {
        .operation = swaps ? BEOWIRE_ATOMIC_SWAP_EQUAL : BEOWIRE_ATOMIC_SUM,
        .type = BEOWIRE_UINT64,
        .count = (uint32_t)(operation->bytes / 8),
        .operand = operation->operands,
        .compare = swaps ? &operation->compare : NULL,
        .result = operation->kind == REMOTE_WORK_ADD ? NULL : &operation->old,
    };

    return cluster_atomic(cluster, operation->from, to, remote, &atomic, operation);
}

/** Some are injected: then the data may be reused at once. */
static int post_put(struct remote_work *work, struct remote_operation *operation,
                    struct core_peer *to, const struct beowire_remote *remote)
{
    struct cluster *cluster = work->workload->cluster;
    unsigned flags = operation->notify ? BEOWIRE_PUT_NOTIFY : 0;
    int status = -EMSGSIZE;

    if (random_below(&work->workload->random, 4) == 0) {
        status =
            cluster_put(cluster, operation->from, to, remote, operation->data, operation->bytes,
                        flags | (unsigned)BEOWIRE_PUT_INJECT, operation->index, operation);
    }
    if (status == -EMSGSIZE) { /* or there was no room for all of it */
        return cluster_put(cluster, operation->from, to, remote, operation->data, operation->bytes,
                           flags, operation->index, operation);
    }
    if (status == 0) {
        memset(operation->data, 0xEE, (size_t)operation->bytes);
        work->counters.injected += operation->bytes > to->message.frame_bytes;
    }
    return status;
}

static int ask(struct remote_work *work, struct remote_operation *operation)
{
    struct cluster *cluster = work->workload->cluster;
    struct core_peer *to = cluster_peer(cluster, operation->from, operation->to);
    const struct beowire_remote remote = {
        .key = operation->flaw == REMOTE_WORK_BAD_KEY ? ~operation->key : operation->key,
        .address = operation->address,
    };

    switch (operation->kind) {
    case REMOTE_WORK_PUT:
        return post_put(work, operation, to, &remote);
    case REMOTE_WORK_GET:
        return cluster_get(cluster, operation->from, to, &remote, operation->data, operation->bytes,
                           operation);
    default:
        return post_atomic(cluster, operation, to, &remote);
    }
}

static void end(struct remote_work *work, struct remote_operation *operation, int status)
{
    operation->ended = true;
    operation->status = status;
    work->unfinished--;
}

/** @return false: not yet. */
static bool post(struct remote_work *work, struct remote_operation *operation)
{
    struct cluster *cluster = work->workload->cluster;

    if (!cluster_is_up(cluster, operation->from) || !cluster_is_up(cluster, operation->to)) {
        operation->posted = true;
        operation->unsent = true;
        end(work, operation, -ECONNRESET);
        return true;
    }
    if (!cluster_runs(cluster, operation->from)) {
        return false;
    }
    int status = ask(work, operation);
    if (status == -EAGAIN) {
        return false;
    }
    operation->posted = true;
    operation->from_generation = cluster->nodes[operation->from].generation;
    operation->to_generation = cluster->nodes[operation->to].generation;
    cluster_trace(cluster, "remote %u %u>%u kind %d flaw %d bytes %llu: %d", operation->index,
                  operation->from, operation->to, (int)operation->kind, (int)operation->flaw,
                  (unsigned long long)operation->bytes, status);
    if (status != 0) {
        operation->unsent = true;
        oracle_refused(work->workload, operation->from, operation->to, status);
        end(work, operation, status);
    }
    return true;
}

bool remote_work_is_due(struct remote_work *work)
{
    uint64_t now_ns = cluster_now(work->workload->cluster);
    uint32_t before = work->due;

    while (work->due < work->count && work->operations[work->due].post_ns <= now_ns) {
        work->due++;
        work->unposted++;
    }
    return work->due > before;
}

void remote_work_post(struct remote_work *work)
{
    for (uint32_t i = 0; i < work->due && work->unposted > 0; i++) {
        if (!work->operations[i].posted && post(work, &work->operations[i])) {
            work->unposted--;
        }
    }
}

uint64_t remote_work_next(const struct remote_work *work, uint64_t until_ns)
{
    return work->due < work->count && work->operations[work->due].post_ns < until_ns
               ? work->operations[work->due].post_ns
               : until_ns;
}

bool remote_work_retries(const struct remote_work *work)
{
    for (uint32_t i = 0; i < work->due && work->unposted > 0; i++) {
        const struct remote_operation *operation = &work->operations[i];
        if (!operation->posted && cluster_runs(work->workload->cluster, operation->from)) {
            return true;
        }
    }
    return false;
}

/* ---- completions --------------------------------------------------------------------------- */

void remote_work_completed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done)
{
    if (done->operation == BEOWIRE_PUT_ARRIVED) {
        remote_oracle_noticed(work, node, done);
        return;
    }
    struct remote_operation *operation = done->context;
    bool first = !operation->ended;
    remote_oracle_ended(work, operation, done);
    if (!first) {
        return;
    }
    end(work, operation, done->status);
    /* Overwrites them, to detect later reads and writes. */
    memset(operation->operands, 0xEE, sizeof operation->operands);
    memset(operation->data, 0xEE, (size_t)operation->bytes);
}
