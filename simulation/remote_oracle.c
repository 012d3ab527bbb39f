/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote_oracle.h"

#include "lane/sim/sim_join.h"
#include "oracle.h"

#include <errno.h>
#include <stdlib.h>

static const char *kind_name(const struct remote_operation *operation)
{
    static const char *const names[REMOTE_WORK_KINDS] = {
        [REMOTE_WORK_PUT] = "put",   [REMOTE_WORK_GET] = "get",       [REMOTE_WORK_ADD] = "sum",
        [REMOTE_WORK_SWAP] = "swap", [REMOTE_WORK_TICKET] = "ticket",
    };

    return names[operation->kind];
}

static void blame(struct remote_work *work, uint64_t *counter,
                  const struct remote_operation *operation, const char *what)
{
    oracle_blame(work->workload, counter, "%s %u, node %u of node %u, %llu bytes: %s",
                 kind_name(operation), operation->index, operation->from, operation->to,
                 (unsigned long long)operation->bytes, what);
}

static bool is_mangled(const struct remote_work *work, const struct remote_operation *operation)
{
    return (oracle_excuses(work->workload, operation->from, operation->to) & EXCUSE_MANGLED) != 0;
}

/** Does the endpoint for which the operation was still exist? */
static bool target_is_there(const struct remote_work *work,
                            const struct remote_operation *operation)
{
    const struct cluster *cluster = work->workload->cluster;

    return operation->posted && !operation->unsent && cluster_is_up(cluster, operation->to) &&
           cluster->nodes[operation->to].generation == operation->to_generation;
}

/** The status of an operation between nodes that can reach each other. */
static int right_status(const struct remote_operation *operation)
{
    return operation->flaw == REMOTE_WORK_SOUND ? 0 : -EACCES; /* for any flaw */
}

/* ---- memory -------------------------------------------------------------------------------- */

/** The contents of a region before or after the operation. */
enum region_state { REGION_BEFORE, REGION_AFTER };

static bool is_region(const struct remote_operation *operation, uint32_t generation,
                      enum region_state state)
{
    for (uint64_t at = 0; at < operation->region_bytes; at++) {
        uint8_t right = state == REGION_BEFORE ? remote_work_before(operation, generation, at)
                                               : remote_work_after(operation, generation, at);
        if (operation->memory[at] != right) {
            return false;
        }
    }
    return true;
}

/** Each byte may be old or new. In a put that has begun and failed, a lane that cuts may have
 *  written other frames' bytes there before the host noticed. */
static bool is_maybe_put(const struct remote_operation *operation, uint32_t generation, bool cuts)
{
    for (uint64_t at = 0; at < operation->region_bytes; at++) {
        uint8_t byte = operation->memory[at];
        bool within = cuts && operation->flaw == REMOTE_WORK_SOUND && at >= operation->offset &&
                      at - operation->offset < operation->bytes;
        if (byte != remote_work_before(operation, generation, at) &&
            byte != remote_work_after(operation, generation, at) &&
            (byte != SIM_MISPLACED || !within)) {
            return false;
        }
    }
    return true;
}

/** An atomic operation must be done completely or not at all. */
static bool is_maybe_done(const struct remote_operation *operation, uint32_t generation, bool cuts)
{
    return operation->kind == REMOTE_WORK_PUT ? is_maybe_put(operation, generation, cuts)
                                              : is_region(operation, generation, REGION_BEFORE) ||
                                                    is_region(operation, generation, REGION_AFTER);
}

/** It succeeded, now or earlier. */
static void check_done(struct remote_work *work, const struct remote_operation *operation)
{
    if (!target_is_there(work, operation) ||
        is_region(operation, operation->to_generation, REGION_AFTER)) {
        return;
    }
    if (operation->kind != REMOTE_WORK_GET &&
        is_region(operation, operation->to_generation, REGION_BEFORE)) {
        blame(work, &work->workload->verdict.lost, operation, "succeeded, but was not done");
    } else {
        blame(work, &work->workload->verdict.corrupted, operation, "the memory has wrong contents");
    }
}

static void check_memory(struct remote_work *work, const struct remote_operation *operation)
{
    uint32_t generation = work->workload->cluster->nodes[operation->to].generation;

    if (is_mangled(work, operation) || !cluster_is_up(work->workload->cluster, operation->to)) {
        return;
    }
    if (!target_is_there(work, operation)) {
        if (!is_region(operation, generation, REGION_BEFORE)) {
            blame(work, &work->workload->verdict.corrupted, operation,
                  "memory of another endpoint has changed");
        }
    } else if (operation->ended && operation->status == right_status(operation)) {
        check_done(work, operation); /* a flawed one changes nothing */
    } else if (!is_maybe_done(operation, generation, cluster_cuts(work->workload->cluster))) {
        blame(work, &work->workload->verdict.corrupted, operation,
              "did not succeed, and the memory has contents that cannot be");
    }
}

/* ---- completions --------------------------------------------------------------------------- */

static void check_got(struct remote_work *work, const struct remote_operation *operation)
{
    for (uint64_t at = 0; at < operation->bytes; at++) {
        if (operation->data[at] !=
            remote_work_before(operation, operation->to_generation, operation->offset + at)) {
            blame(work, &work->workload->verdict.corrupted, operation,
                  "fetched other bytes than the memory had");
            return;
        }
    }
}

static void check_guard(struct remote_work *work, const struct remote_operation *operation)
{
    for (unsigned i = 0; i < WORKLOAD_GUARD_BYTES; i++) {
        if (operation->data[operation->bytes + i] != 0xA7) {
            blame(work, &work->workload->verdict.corrupted, operation,
                  "wrote beyond its own buffer");
            return;
        }
    }
}

/** Judges a successful operation. */
static void check_success(struct remote_work *work, const struct remote_operation *operation)
{
    struct remote_counters *counters = &work->counters;

    counters->puts += operation->kind == REMOTE_WORK_PUT;
    counters->gets += operation->kind == REMOTE_WORK_GET;
    counters->atomics += operation->kind >= REMOTE_WORK_ADD;
    if (is_mangled(work, operation)) {
        return;
    }
    check_done(work, operation);
    if (operation->kind == REMOTE_WORK_GET) {
        check_got(work, operation);
    } else if (operation->kind == REMOTE_WORK_SWAP && operation->old != operation->compare) {
        blame(work, &work->workload->verdict.duplicated, operation,
              "fetched a value that only an earlier swap can have written");
    }
}

void remote_oracle_ended(struct remote_work *work, struct remote_operation *operation,
                         const struct beowire_completion *done)
{
    static const enum beowire_operation operations[REMOTE_WORK_KINDS] = {
        BEOWIRE_PUT, BEOWIRE_GET, BEOWIRE_ATOMIC, BEOWIRE_ATOMIC, BEOWIRE_ATOMIC};
    struct workload *workload = work->workload;
    const struct cluster *cluster = workload->cluster;
    uint64_t *wrong = &workload->verdict.wrong;

    if (operation->ended || !operation->posted) {
        blame(work, wrong, operation, "ended twice");
        return;
    }
    if (done->operation != operations[operation->kind] || done->bytes != operation->bytes ||
        cluster_node_of(cluster, &cluster->nodes[operation->from].core, done->peer) !=
            operation->to) {
        blame(work, wrong, operation, "ended with the context of another");
    }
    check_guard(work, operation);
    if (done->status != right_status(operation)) {
        workload->counters.failed++;
        if (!is_mangled(work, operation) &&
            !oracle_may_fail(workload, operation->from, operation->to, done->status)) {
            oracle_blame(workload, wrong, "%s %u, node %u of node %u, ended with %d",
                         kind_name(operation), operation->index, operation->from, operation->to,
                         done->status);
        }
    } else if (operation->flaw != REMOTE_WORK_SOUND) {
        work->counters.refused++;
    } else {
        check_success(work, operation);
    }
}

void remote_oracle_noticed(struct remote_work *work, uint32_t node,
                           const struct beowire_completion *done)
{
    struct workload *workload = work->workload;
    const struct cluster *cluster = workload->cluster;
    uint32_t from = cluster_node_of(cluster, &cluster->nodes[node].core, done->peer);
    struct remote_operation *put =
        done->immediate < work->count ? &work->operations[done->immediate] : NULL;

    if (from != UINT32_MAX && (oracle_excuses(workload, node, from) & EXCUSE_MANGLED) != 0) {
        return; /* it may contain anything */
    }
    if (put == NULL || put->kind != REMOTE_WORK_PUT || !put->notify || put->to != node ||
        put->from != from || put->flaw != REMOTE_WORK_SOUND || !target_is_there(work, put) ||
        done->tag != put->key || done->bytes != put->bytes || done->status != 0) {
        oracle_blame(workload, &workload->verdict.wrong,
                     "node %u was notified of put %u of node %u, which is not such a put", node,
                     done->immediate, from);
        return;
    }
    if (put->noticed) {
        blame(work, &workload->verdict.duplicated, put, "the target was notified twice");
    }
    put->noticed = true;
    work->counters.notices++;
    check_done(work, put);
}

/* ---- the end ------------------------------------------------------------------------------- */

/** Was this ticket surely drawn from the present counter? */
static bool has_drawn(const struct remote_work *work, const struct remote_operation *operation)
{
    return target_is_there(work, operation) && operation->ended && operation->status == 0;
}

/** Each ticket is drawn once, and the counter equals their number. A damaged request may have added
 *  anything, so counters that a mangled node draws from are not judged. */
static void check_tickets(struct remote_work *work, uint32_t node)
{
    struct workload_verdict *verdict = &work->workload->verdict;
    uint64_t drawn = 0;
    uint64_t unknown = 0;
    bool *taken = calloc((size_t)work->count + 1, sizeof *taken);

    if (taken == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < work->count; i++) {
        const struct remote_operation *ticket = &work->operations[i];
        if (ticket->kind != REMOTE_WORK_TICKET || ticket->to != node) {
            continue;
        }
        if (is_mangled(work, ticket)) {
            free(taken);
            return;
        }
        if (!has_drawn(work, ticket)) {
            unknown += target_is_there(work, ticket);
            continue;
        }
        drawn++;
        if (ticket->old >= work->count || taken[ticket->old]) {
            blame(work, &verdict->duplicated, ticket, "was drawn twice, or was never given out");
        } else {
            taken[ticket->old] = true;
        }
    }
    free(taken);
    uint64_t counted = work->tickets[node];
    if (counted < drawn || counted > drawn + unknown) {
        oracle_blame(work->workload, counted < drawn ? &verdict->lost : &verdict->duplicated,
                     "node %u counts %llu tickets, of which %llu were drawn, and perhaps %llu more",
                     node, (unsigned long long)counted, (unsigned long long)drawn,
                     (unsigned long long)unknown);
    }
}

static void close_operation(struct remote_work *work, const struct remote_operation *operation)
{
    const struct cluster *cluster = work->workload->cluster;
    struct workload_verdict *verdict = &work->workload->verdict;
    bool asks = cluster_is_up(cluster, operation->from);

    if (is_mangled(work, operation)) {
        return;
    }
    if (!operation->ended && asks) {
        blame(work, &verdict->hung, operation, operation->posted ? "hangs" : "cannot be posted");
    }
    if (operation->kind == REMOTE_WORK_PUT && operation->flaw == REMOTE_WORK_SOUND &&
        operation->notify && !operation->noticed && operation->ended && operation->status == 0 &&
        target_is_there(work, operation)) {
        blame(work, &verdict->lost, operation, "succeeded, but the target was not notified");
    }
    if (operation->ended) {
        check_guard(work, operation);
    }
    check_memory(work, operation);
}

void remote_oracle_close(struct remote_work *work)
{
    for (uint32_t i = 0; i < work->count; i++) {
        close_operation(work, &work->operations[i]);
    }
    for (uint32_t node = 0; node < work->workload->cluster->node_count; node++) {
        if (cluster_is_up(work->workload->cluster, node)) {
            check_tickets(work, node);
        }
    }
}
