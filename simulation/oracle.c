/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void oracle_blame(struct workload *workload, uint64_t *counter, const char *format, ...)
{
    char text[sizeof workload->verdict.first];
    va_list arguments;

    ++*counter;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cluster_trace(workload->cluster, "WRONG: %s", text);
    if (workload->verdict.first[0] == '\0') {
        memcpy(workload->verdict.first, text, sizeof text);
    }
}

/* ---- excuses ------------------------------------------------------------------------------- */

unsigned oracle_excuses(const struct workload *workload, uint32_t a, uint32_t b)
{
    return workload->excuses[(size_t)a * workload->cluster->node_count + b];
}

static bool is_mangled(const struct workload *workload, uint32_t a, uint32_t b)
{
    return (oracle_excuses(workload, a, b) & EXCUSE_MANGLED) != 0;
}

/** Has the host of either reported to the other that its process has ended? */
static bool was_told(const struct workload *workload, uint32_t a, uint32_t b)
{
    const struct sim_wire *wire = workload->cluster->wire;

    return sim_wire_was_told(wire, a, b) || sim_wire_was_told(wire, b, a);
}

bool oracle_may_fail(const struct workload *workload, uint32_t a, uint32_t b, int status)
{
    unsigned why = oracle_excuses(workload, a, b);

    switch (status) {
    case -ETIMEDOUT: /* nothing was received */
        return why != 0;
    case -ECONNRESET: /* reported by the peer; for a crashed process, by its host */
        return (why & (EXCUSE_PARTED | EXCUSE_ENDED | EXCUSE_MANGLED)) != 0 ||
               ((why & EXCUSE_CRASHED) != 0 && was_told(workload, a, b));
    case -EPROTO:
        return (why & EXCUSE_MANGLED) != 0;
    default:
        return false;
    }
}

/** Do both endpoints of the message still exist? */
static bool both_there(const struct workload *workload, const struct workload_message *message)
{
    const struct cluster *cluster = workload->cluster;

    return cluster_is_up(cluster, message->from) && cluster_is_up(cluster, message->to) &&
           cluster->nodes[message->from].generation == message->from_generation &&
           cluster->nodes[message->to].generation == message->to_generation;
}

/* ---- completions --------------------------------------------------------------------------- */

void oracle_refused(struct workload *workload, uint32_t at, uint32_t peer, int status)
{
    if (peer != UINT32_MAX && oracle_may_fail(workload, at, peer, status)) {
        workload->counters.failed++;
        return;
    }
    oracle_blame(workload, &workload->verdict.wrong, "node %u may not post to node %d: %d", at,
                 (int)peer, status);
}

void oracle_sent(struct workload *workload, struct workload_message *message,
                 const struct beowire_completion *done)
{
    const struct cluster *cluster = workload->cluster;
    uint64_t *wrong = &workload->verdict.wrong;

    if (message->ended) {
        oracle_blame(workload, wrong, "the send of message %u ended twice", message->index);
    }
    if (done->tag != message->tag || done->bytes != message->bytes ||
        cluster_node_of(cluster, &cluster->nodes[message->from].core, done->peer) != message->to) {
        oracle_blame(workload, wrong, "the send of message %u ended with the context of another",
                     message->index);
    }
    if (done->status != 0 && !oracle_may_fail(workload, message->from, message->to, done->status)) {
        oracle_blame(workload, wrong, "the send of message %u, node %u to %u, ended with %d",
                     message->index, message->from, message->to, done->status);
    }
    workload->counters.failed += done->status != 0;
    message->ended = true;
    message->status = done->status;
}

static void check_guard(struct workload *workload, const struct workload_receive *receive)
{
    for (unsigned i = 0; i < WORKLOAD_GUARD_BYTES; i++) {
        if (receive->data[receive->capacity + i] != 0xA7) {
            oracle_blame(workload, &workload->verdict.corrupted,
                         "node %u: a receive was given more than its buffer holds", receive->at);
            return;
        }
    }
}

static void check_content(struct workload *workload, const struct workload_receive *receive,
                          const struct workload_message *message)
{
    for (uint64_t i = 0; i < message->bytes && i < receive->capacity; i++) {
        if (receive->data[i] != workload_content(message, i)) {
            oracle_blame(workload, &workload->verdict.corrupted,
                         "message %u, node %u to %u: byte %llu of %llu is wrong", message->index,
                         message->from, message->to, (unsigned long long)i,
                         (unsigned long long)message->bytes);
            return;
        }
    }
}

/** The message of a successful receive; NULL: it cannot be right. */
static struct workload_message *identify(struct workload *workload,
                                         const struct workload_receive *receive,
                                         const struct beowire_completion *done, uint32_t from)
{
    const struct cluster *cluster = workload->cluster;
    const struct core_peer *peer = core_peer_at(&cluster->nodes[receive->at].core, done->peer);
    struct workload_message *message =
        done->immediate < workload->message_count ? &workload->messages[done->immediate] : NULL;

    if (message == NULL || !message->posted || message->from != from ||
        message->to != receive->at) {
        oracle_blame(workload, &workload->verdict.wrong,
                     "node %u received message %u of node %u, which was never sent", receive->at,
                     done->immediate, from);
        return NULL;
    }
    bool newest = cluster->nodes[from].incarnation == peer->incarnation;
    if (message->to_generation != receive->at_generation ||
        newest != (message->from_generation == cluster->nodes[from].generation)) {
        oracle_blame(workload, &workload->verdict.wrong,
                     "node %u received message %u of node %u, which was for another endpoint",
                     receive->at, done->immediate, from);
        return NULL;
    }
    return message;
}

static void take_message(struct workload *workload, struct workload_receive *receive,
                         struct workload_message *message, const struct beowire_completion *done)
{
    bool cut = message->bytes > receive->capacity;

    if (message->received) {
        oracle_blame(workload, &workload->verdict.duplicated,
                     "message %u, node %u to %u, was received twice", message->index, message->from,
                     message->to);
    }
    message->received = true;
    receive->got = message;
    workload->counters.delivered++;
    workload->counters.truncated += cut;
    if (done->tag != message->tag || done->bytes != message->bytes ||
        ((receive->tag ^ done->tag) & ~receive->ignore) != 0 ||
        (receive->from != UINT32_MAX && receive->from != message->from) ||
        (done->status == -EMSGSIZE) != cut) {
        oracle_blame(workload, &workload->verdict.wrong,
                     "message %u, node %u to %u, does not match its receive, or its status (%d)",
                     message->index, message->from, message->to, done->status);
    }
    check_content(workload, receive, message);
}

void oracle_received(struct workload *workload, struct workload_receive *receive,
                     const struct beowire_completion *done)
{
    const struct cluster *cluster = workload->cluster;
    uint64_t *wrong = &workload->verdict.wrong;

    if (receive->ended) {
        oracle_blame(workload, wrong, "node %u: a receive ended twice", receive->at);
        return;
    }
    receive->ended = true;
    receive->status = done->status;
    check_guard(workload, receive);
    if (done->status == -ECANCELED) {
        if (!receive->cancelled) {
            oracle_blame(workload, wrong,
                         "node %u: a receive ended as cancelled, but nobody cancelled it",
                         receive->at);
        }
        return;
    }
    uint32_t from = cluster_node_of(cluster, &cluster->nodes[receive->at].core, done->peer);
    if (from == UINT32_MAX || (receive->from != UINT32_MAX && receive->from != from)) {
        oracle_blame(workload, wrong, "node %u: a receive from node %d ended with node %d",
                     receive->at, (int)receive->from, (int)from);
        return;
    }
    if (done->status == 0 || done->status == -EMSGSIZE) {
        struct workload_message *message = NULL;
        if (!is_mangled(workload, receive->at, from)) {
            message = identify(workload, receive, done, from);
        }
        if (message != NULL) {
            take_message(workload, receive, message, done);
        }
        if (receive->cancelled) {
            oracle_blame(workload, wrong, "node %u: a receive that was taken back got a message",
                         receive->at);
        }
        return;
    }
    workload->counters.failed++;
    if (!oracle_may_fail(workload, receive->at, from, done->status)) {
        oracle_blame(workload, wrong, "node %u: a receive from node %u ended with %d", receive->at,
                     from, done->status);
    }
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool accepts(const struct workload_receive *receive, const struct workload_message *message)
{
    return ((receive->tag ^ message->tag) & ~receive->ignore) == 0 &&
           (receive->from == UINT32_MAX || receive->from == message->from);
}

/** By receiver and sender, then by order of posting. */
static int by_pair(const void *a, const void *b)
{
    const struct workload_receive *left = *(const struct workload_receive *const *)a;
    const struct workload_receive *right = *(const struct workload_receive *const *)b;

    if (left->at != right->at) {
        return left->at > right->at ? 1 : -1;
    }
    if (left->got->from != right->got->from) {
        return left->got->from > right->got->from ? 1 : -1;
    }
    return left->order > right->order ? 1 : -1;
}

static bool same_pair(const struct workload_receive *a, const struct workload_receive *b)
{
    return a->at == b->at && a->got->from == b->got->from;
}

/** Two receives that took messages of the same pair, posted in this order. */
static bool is_disordered(const struct workload_receive *first,
                          const struct workload_receive *second)
{
    return first->at_generation == second->at_generation &&
           first->got->from_generation == second->got->from_generation &&
           first->got->serial > second->got->serial && accepts(first, second->got);
}

void oracle_order(struct workload *workload)
{
    const struct workload_receive **got =
        calloc((size_t)workload->receives_due + 1, sizeof(const struct workload_receive *));
    uint32_t count = 0;

    if (got == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < workload->receives_due; i++) {
        if (workload->receives[i].got != NULL) {
            got[count++] = &workload->receives[i];
        }
    }
    qsort(got, count, sizeof(const struct workload_receive *), by_pair);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count && same_pair(got[i], got[j]); j++) {
            if (is_disordered(got[i], got[j])) {
                oracle_blame(workload, &workload->verdict.disordered,
                             "node %u: an earlier receive took message %u of node %u, a later one "
                             "message %u",
                             got[i]->at, got[i]->got->serial, got[i]->got->from,
                             got[j]->got->serial);
            }
        }
    }
    free(got);
}

/** Longer messages are announced in any case: their sends complete only when the peer has them. */
static uint64_t longest_eager(const struct cluster *cluster)
{
    const struct message_limits *limits = cluster->options.limits;
    uint64_t eager = limits != NULL ? limits->eager_bytes : MESSAGE_EAGER_BYTES_MAX;

    return eager > cluster->frame_bytes ? eager
                                        : cluster->frame_bytes; /* or they fit into a frame */
}

static void close_message(struct workload *workload, const struct workload_message *message)
{
    const struct cluster *cluster = workload->cluster;
    unsigned why = oracle_excuses(workload, message->from, message->to);

    if (message->received || message->unsent || (why & EXCUSE_MANGLED) != 0) {
        return;
    }
    if (!message->posted) {
        if (cluster_is_up(cluster, message->from)) {
            oracle_blame(workload, &workload->verdict.hung,
                         "message %u, node %u to %u, cannot be posted", message->index,
                         message->from, message->to);
        }
        return;
    }
    if (!message->ended) {
        if (cluster_is_up(cluster, message->from) &&
            cluster->nodes[message->from].generation == message->from_generation) {
            oracle_blame(workload, &workload->verdict.hung,
                         "the send of message %u, node %u to %u, %llu bytes, hangs", message->index,
                         message->from, message->to, (unsigned long long)message->bytes);
        }
        return;
    }
    /* A message that the peer has confirmed must not be lost if that peer is still there. Short
     * ones without confirmation, and injected ones, complete when they are copied. */
    bool asked =
        message->confirmed || (!message->injected && message->bytes > longest_eager(cluster));
    bool confirmed = message->status == 0 && asked;
    if (message->status == 0 && both_there(workload, message) && (why == 0 || confirmed)) {
        oracle_blame(workload, &workload->verdict.lost,
                     "message %u, node %u to %u, %llu bytes, was sent and did not arrive",
                     message->index, message->from, message->to,
                     (unsigned long long)message->bytes);
    }
}

/** May the receive have a message of a mangled pair, the rest of which never arrives? */
static bool may_be_mangled(const struct workload *workload, const struct workload_receive *receive)
{
    for (uint32_t from = 0; from < workload->cluster->node_count; from++) {
        if ((receive->from == UINT32_MAX || receive->from == from) &&
            is_mangled(workload, receive->at, from)) {
            return true;
        }
    }
    return false;
}

void oracle_close(struct workload *workload)
{
    oracle_order(workload);
    for (uint32_t i = 0; i < workload->message_count; i++) {
        const struct workload_message *message = &workload->messages[i];
        if (message->received && !message->ended && message->posted &&
            both_there(workload, message) && !is_mangled(workload, message->from, message->to)) {
            oracle_blame(workload, &workload->verdict.hung,
                         "message %u, node %u to %u, has arrived, and its send hangs",
                         message->index, message->from, message->to);
        }
        close_message(workload, message);
    }
    for (uint32_t i = 0; i < workload->receives_due; i++) {
        const struct workload_receive *receive = &workload->receives[i];
        if (receive->posted && !receive->ended && cluster_runs(workload->cluster, receive->at) &&
            !may_be_mangled(workload, receive)) {
            oracle_blame(workload, &workload->verdict.hung, "node %u: a receive hangs",
                         receive->at);
        }
    }
}
