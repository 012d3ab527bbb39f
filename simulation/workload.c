/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include "flood.h"
#include "oracle.h"
#include "remote_work.h"

#include <errno.h>
#include <stdlib.h>

/** Time before another attempt to post. */
#define RETRY_NS 10000u

/** How long claims are tried before a receive is posted instead. */
#define CLAIM_NS 2000000u

/* ---- what happens to nodes ----------------------------------------------------------------- */

void workload_mute(struct workload *workload, uint32_t node, bool mute)
{
    workload->mute[node] = mute;
}

void workload_excuse(struct workload *workload, uint32_t a, uint32_t b, enum workload_excuse what)
{
    size_t nodes = workload->cluster->node_count;

    workload->excuses[a * nodes + b] |= (uint8_t)what;
    workload->excuses[b * nodes + a] |= (uint8_t)what;
}

void workload_excuse_all(struct workload *workload, uint32_t node, enum workload_excuse what)
{
    for (uint32_t other = 0; other < workload->cluster->node_count; other++) {
        workload_excuse(workload, node, other, what);
    }
}

void workload_node_started(struct workload *workload, uint32_t node)
{
    if (workload->remote != NULL) {
        remote_work_node_started(workload->remote, node);
    }
}

void workload_node_ended(struct workload *workload, uint32_t node)
{
    if (workload->remote != NULL) {
        remote_work_node_ended(workload->remote, node);
    }
    for (uint32_t i = 0; i < workload->receives_due; i++) {
        struct workload_receive *receive = &workload->receives[i];
        if (receive->at != node || !receive->posted || receive->ended) {
            continue;
        }
        if (receive->last) {
            free(receive->data);
            receive->data = NULL;
            receive->posted = false;
            workload->waiting_receives[workload->waiting_receive_count++] = i;
        } else {
            receive->ended = true;
            receive->status = -ESHUTDOWN;
        }
    }
}

/* ---- posting ------------------------------------------------------------------------------- */

static void finish(struct workload *workload, struct workload_message *message)
{
    if (!message->finished && oracle_is_finished(message)) {
        message->finished = true;
        workload->unfinished--;
    }
}

static void end_message(struct workload *workload, struct workload_message *message, int status)
{
    message->ended = true;
    message->status = status;
    memset(message->data, 0xEE, (size_t)message->bytes);
    finish(workload, message);
}

/** @return false: not yet. */
static bool post_send(struct workload *workload, struct workload_message *message)
{
    struct cluster *cluster = workload->cluster;

    if (!cluster_is_up(cluster, message->from) || !cluster_is_up(cluster, message->to)) {
        message->posted = true;
        message->unsent = true;
        end_message(workload, message, -ECONNRESET);
        return true;
    }
    if (!cluster_runs(cluster, message->from)) {
        return false;
    }
    struct core_peer *to = cluster_peer(cluster, message->from, message->to);
    bool inject =
        message->bytes <= MESSAGE_INJECT_BYTES_MAX && random_below(&workload->random, 4) == 0;
    int status = inject ? cluster_inject(cluster, message->from, to, message->tag, message->index,
                                         message->data, message->bytes)
                        : -EMSGSIZE;
    inject = inject && status != -EMSGSIZE; /* there was no room for all of it */
    bool confirmed = !inject && random_below(&workload->random, 4) == 0;
    if (!inject) {
        status = (confirmed ? cluster_send_confirmed
                            : cluster_send)(cluster, message->from, to, message->tag,
                                            message->index, message->data, message->bytes, message);
    }
    if (status == -EAGAIN) {
        return false;
    }
    message->posted = true;
    message->injected = inject;
    message->confirmed = confirmed;
    message->from_generation = cluster->nodes[message->from].generation;
    message->to_generation = cluster->nodes[message->to].generation;
    workload->counters.posted++;
    workload->counters.injected += inject && status == 0;
    workload->counters.injected_whole +=
        inject && status == 0 && message->bytes > to->message.frame_bytes;
    workload->counters.confirmed += confirmed && status == 0;
    cluster_trace(cluster, "send %u %u>%u tag %llu bytes %llu: %d", message->index, message->from,
                  message->to, (unsigned long long)message->tag, (unsigned long long)message->bytes,
                  status);
    if (status != 0) {
        oracle_refused(workload, message->from, message->to, status);
    }
    if (status != 0 || inject) {
        end_message(workload, message, status);
    }
    return true;
}

/** Peeks for the message of a receive, and claims it. @return -ENOMSG: none. */
static int claim(struct workload *workload, struct workload_receive *receive,
                 const struct core_peer *from)
{
    struct cluster *cluster = workload->cluster;
    const struct message_peer *peer = from != NULL ? &from->message : NULL;
    struct message_layer *layer = &cluster->nodes[receive->at].core.messages;
    struct beowire_completion seen;
    struct beowire_completion found;
    beowire_message message = 0;
    int peeked = message_peek(layer, peer, receive->tag, receive->ignore, &seen);
    int claimed = message_claim(layer, peer, receive->tag, receive->ignore, &found, &message);

    if (peeked != claimed || (claimed == 0 && (seen.tag != found.tag || seen.peer != found.peer ||
                                               seen.immediate != found.immediate))) {
        oracle_blame(workload, &workload->verdict.wrong, "node %u: claim found what peek did not",
                     receive->at);
    }
    if (claimed != 0) {
        return claimed;
    }
    workload->counters.claimed++;
    return cluster_receive_claimed(cluster, receive->at, message, receive->data, receive->capacity,
                                   receive);
}

/** @return false: not yet. */
static bool post_receive(struct workload *workload, struct workload_receive *receive)
{
    struct cluster *cluster = workload->cluster;
    bool any = receive->from == UINT32_MAX;
    int status = -ECONNRESET;

    if (cluster_is_up(cluster, receive->at) && (any || cluster_is_up(cluster, receive->from))) {
        if (workload->mute[receive->at] || !cluster_runs(cluster, receive->at)) {
            return false;
        }
        struct core_peer *from = any ? NULL : cluster_peer(cluster, receive->at, receive->from);
        if (receive->data == NULL) {
            receive->data = malloc((size_t)receive->capacity + WORKLOAD_GUARD_BYTES);
            if (receive->data == NULL) {
                abort();
            }
            memset(receive->data + receive->capacity, 0xA7, WORKLOAD_GUARD_BYTES);
        }
        receive->order = workload->next_order;
        status = -ENOMSG;
        if (receive->claims) {
            status = claim(workload, receive, from);
            if (status == -ENOMSG && cluster_now(cluster) < receive->post_ns + CLAIM_NS) {
                return false;
            }
        }
        if (status == -ENOMSG) {
            status = cluster_receive(cluster, receive->at, from, receive->tag, receive->ignore,
                                     receive->data, receive->capacity, receive);
        }
        if (status != 0 && status != -EAGAIN) {
            oracle_refused(workload, receive->at, receive->from, status);
        }
    } else if (receive->last) {
        return false; /* another endpoint may replace the one that is down */
    }
    if (status == -EAGAIN) {
        return false;
    }
    receive->posted = true;
    receive->at_generation = cluster->nodes[receive->at].generation;
    workload->next_order++;
    cluster_trace(cluster, "receive at %u from %d tag %llu/%llx: %d", receive->at,
                  any ? -1 : (int)receive->from, (unsigned long long)receive->tag,
                  (unsigned long long)receive->ignore, status);
    if (status != 0) {
        receive->ended = true;
        receive->status = status;
    } else if (receive->cancel_ns != 0) {
        receive->cancel_ns += cluster_now(cluster);
        workload->cancels[workload->cancel_count++] = (uint32_t)(receive - workload->receives);
    }
    return true;
}

static void post_messages(struct workload *workload)
{
    uint32_t nodes = workload->cluster->node_count;
    uint32_t left = 0;

    workload->round++;
    for (uint32_t i = 0; i < workload->waiting_message_count; i++) {
        uint32_t index = workload->waiting_messages[i];
        struct workload_message *message = &workload->messages[index];
        uint32_t *blocked = &workload->blocked[message->from * nodes + message->to];
        /* No message overtakes an earlier one to the same node. */
        if (*blocked == workload->round || !post_send(workload, message)) {
            *blocked = workload->round;
            workload->waiting_messages[left++] = index;
        }
    }
    workload->waiting_message_count = left;
}

static void post_receives(struct workload *workload)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < workload->waiting_receive_count; i++) {
        uint32_t index = workload->waiting_receives[i];
        if (!post_receive(workload, &workload->receives[index])) {
            workload->waiting_receives[left++] = index;
        }
    }
    workload->waiting_receive_count = left;
}

static void cancel(struct workload *workload, struct workload_receive *receive)
{
    struct cluster *cluster = workload->cluster;

    if (core_cancel(&cluster->nodes[receive->at].core, receive) == 0) {
        receive->cancelled = true;
        cluster->nodes[receive->at].unchecked = true;
    }
}

static void cancel_due(struct workload *workload)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        struct workload_receive *receive = &workload->receives[workload->cancels[i]];
        bool due = receive->cancel_ns <= cluster_now(workload->cluster);
        if (receive->ended || (due && cluster_runs(workload->cluster, receive->at))) {
            if (!receive->ended) {
                cancel(workload, receive);
                workload->counters.cancelled += receive->cancelled;
            }
        } else {
            workload->cancels[left++] = workload->cancels[i];
        }
    }
    workload->cancel_count = left;
}

/** Posts what is due. @return when to come back at the latest. */
static uint64_t post(struct workload *workload, uint64_t until_ns)
{
    uint64_t now_ns = cluster_now(workload->cluster);
    bool more = now_ns >= workload->retry_ns;

    for (; workload->receives_due < workload->receive_count &&
           workload->receives[workload->receives_due].post_ns <= now_ns;
         more = true) {
        workload->waiting_receives[workload->waiting_receive_count++] = workload->receives_due++;
    }
    for (; workload->messages_due < workload->message_count &&
           workload->messages[workload->messages_due].post_ns <= now_ns;
         more = true) {
        workload->waiting_messages[workload->waiting_message_count++] = workload->messages_due++;
    }
    if (workload->remote != NULL && remote_work_is_due(workload->remote)) {
        more = true;
    }
    if (more) {
        post_receives(workload);
        post_messages(workload);
        if (workload->remote != NULL) {
            remote_work_post(workload->remote);
        }
        workload->retry_ns = now_ns + RETRY_NS;
    }
    cancel_due(workload);
    uint64_t next_ns = until_ns;
    if (workload->receives_due < workload->receive_count &&
        workload->receives[workload->receives_due].post_ns < next_ns) {
        next_ns = workload->receives[workload->receives_due].post_ns;
    }
    if (workload->messages_due < workload->message_count &&
        workload->messages[workload->messages_due].post_ns < next_ns) {
        next_ns = workload->messages[workload->messages_due].post_ns;
    }
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        uint64_t cancel_ns = workload->receives[workload->cancels[i]].cancel_ns;
        next_ns = cancel_ns > now_ns && cancel_ns < next_ns ? cancel_ns : next_ns;
    }
    if (workload->remote != NULL) {
        next_ns = remote_work_next(workload->remote, next_ns);
    }
    return next_ns;
}

/** May anything be posted at the next attempt? */
static bool retries(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->waiting_receive_count; i++) {
        const struct workload_receive *receive = &workload->receives[workload->waiting_receives[i]];
        if (!workload->mute[receive->at] && cluster_runs(workload->cluster, receive->at)) {
            return true;
        }
    }
    return workload->waiting_message_count > 0 ||
           (workload->remote != NULL && remote_work_retries(workload->remote));
}

/* ---- completions --------------------------------------------------------------------------- */

/** For the trace. */
static const char *operation_name(enum beowire_operation operation)
{
    static const char *const names[] = {
        [BEOWIRE_SEND] = "send", [BEOWIRE_RECEIVE] = "receive", [BEOWIRE_PUT] = "put",
        [BEOWIRE_GET] = "get",   [BEOWIRE_ATOMIC] = "atomic",   [BEOWIRE_PUT_ARRIVED] = "arrived",
    };

    return names[operation];
}

static void take_completions(struct workload *workload, uint32_t node)
{
    struct beowire_completion done;

    while (cluster_take(workload->cluster, node, &done)) {
        cluster_note(workload->cluster, (uint64_t)node << 32 | (uint32_t)done.status);
        cluster_note(workload->cluster,
                     done.tag ^ done.bytes << 8 ^ (uint64_t)done.immediate << 40);
        cluster_trace(workload->cluster, "done at %u: %s %u tag %llu bytes %llu: %d", node,
                      operation_name(done.operation), done.immediate, (unsigned long long)done.tag,
                      (unsigned long long)done.bytes, done.status);
        /* The notification of a put has no context. */
        switch (done.context != NULL ? *(const enum workload_context *)done.context
                                     : WORKLOAD_REMOTE) {
        case WORKLOAD_MESSAGE: {
            struct workload_message *message = done.context;
            oracle_sent(workload, message, &done);
            memset(message->data, 0xEE, (size_t)message->bytes);
            finish(workload, message);
            break;
        }
        case WORKLOAD_RECEIVE: {
            struct workload_receive *receive = done.context;
            oracle_received(workload, receive, &done);
            free(receive->data);
            receive->data = NULL;
            if (receive->got != NULL) {
                finish(workload, receive->got);
            }
            break;
        }
        case WORKLOAD_FLOOD:
            flood_ended(done.context, &done);
            break;
        case WORKLOAD_REMOTE:
            remote_work_completed(workload->remote, node, &done);
            break;
        }
    }
}

static void take_all_completions(struct workload *workload)
{
    for (uint32_t node = 0; node < workload->cluster->node_count; node++) {
        const struct message_layer *layer = &workload->cluster->nodes[node].core.messages;
        if (cluster_runs(workload->cluster, node) && message_has_completions(layer)) {
            take_completions(workload, node);
        }
    }
}

bool workload_step(struct workload *workload, uint64_t until_ns)
{
    struct cluster *cluster = workload->cluster;
    uint64_t next_ns = post(workload, until_ns);

    if (next_ns > workload->retry_ns && retries(workload)) {
        next_ns = workload->retry_ns;
    }
    (void)cluster_step(cluster, next_ns);
    take_all_completions(workload);
    return workload->unfinished == 0 &&
           (workload->remote == NULL || workload->remote->unfinished == 0);
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

/* ---- the end ------------------------------------------------------------------------------- */

static void check_verdict(const struct workload *workload)
{
    if (!oracle_is_well(&workload->verdict)) {
        cluster_fail(workload->cluster, "%s", workload->verdict.first);
    }
}

void workload_check_order(struct workload *workload)
{
    oracle_order(workload);
    check_verdict(workload);
}

void workload_cancel(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->receives_due; i++) {
        struct workload_receive *receive = &workload->receives[i];
        if (receive->posted && !receive->ended && cluster_runs(workload->cluster, receive->at)) {
            cancel(workload, receive);
        }
    }
    take_all_completions(workload);
}

void workload_check_all(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->message_count; i++) {
        const struct workload_message *message = &workload->messages[i];
        if (!oracle_is_finished(message) || message->status != 0) {
            cluster_fail(workload->cluster, "message %u of node %u to %u (%llu bytes): %s, %s",
                         message->serial, message->from, message->to,
                         (unsigned long long)message->bytes,
                         !message->ended        ? "its send hangs"
                         : message->status != 0 ? "its send failed"
                                                : "sent",
                         message->received ? "received" : "not received");
        }
    }
    workload_cancel(workload);
    oracle_close(workload);
    check_verdict(workload);
}
