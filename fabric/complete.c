/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the transport's completions to those of queues and counters. */
#include "complete.h"

#include "libfabric.h"
#include "line.h"
#include "notice.h"

#include <errno.h>
#include <string.h>

void complete_tell_failure(const struct endpoint *endpoint, beowire_peer peer, int status)
{
    char text[ERROR_TEXT_BYTES];
    struct beowire_address address;
    bool has_peer = endpoint_peer_address(endpoint, peer, &address);

    error_text(text, status, has_peer ? &address : NULL);
    if ((status == -ECONNRESET || status == -ETIMEDOUT) && has_peer &&
        beowire_peer_was_heard(endpoint->transport, peer) == 0) {
        notice(FI_LOG_CQ,
               "%s; it has never answered over %s: if the nodes have their common network on "
               "another interface, name that one by FI_BEOWIRE_INTERFACE",
               text, endpoint->interfaces);
    } else {
        notice(FI_LOG_CQ, "%s", text);
    }
}

/** Tells the user that a peer does not answer but is waited for, and when it continues. */
static void tell_events(const struct endpoint *endpoint)
{
    struct beowire_event event;

    while (beowire_event(endpoint->transport, &event) == 1) {
        char who[PEER_TEXT_BYTES];
        struct beowire_address address;
        double silent_s = (double)event.since_ns / 1e9;

        if (!endpoint_peer_address(endpoint, event.peer, &address) ||
            !error_peer_text(who, &address)) {
            continue;
        }
        if (event.kind == BEOWIRE_PEER_STANDS_STILL) {
            notice(FI_LOG_CQ,
                   "%s: stopped: silent for %.1f s, but its host answers; waiting for it", who,
                   silent_s);
        } else {
            notice(FI_LOG_CQ, "%s: runs again after %.1f s", who, silent_s);
        }
    }
}

static void report(struct endpoint *endpoint, struct cq *cq, const struct cq_slot *slot)
{
    if (cq == NULL) {
        return;
    }
    struct cq_slot *added = cq_add(cq);
    *added = *slot;
    added->endpoint = endpoint;
    if (slot->status != 0 && slot->status != -ECANCELED && slot->status != -EMSGSIZE) {
        complete_tell_failure(endpoint, slot->peer, slot->status);
    }
}

void complete_send_now(struct endpoint *endpoint, void *context, uint64_t flags, bool quiet)
{
    counter_count(endpoint->tx_counter, 0);
    if (!quiet && endpoint->tx_cq != NULL) {
        struct cq_slot *slot = cq_add(endpoint->tx_cq);
        *slot = (struct cq_slot){
            .entry = {.op_context = context, .flags = flags},
            .source = FI_ADDR_NOTAVAIL,
        };
    }
}

static void complete_send(struct endpoint *endpoint, struct request *request,
                          const struct beowire_completion *done)
{
    if (done->status == 0) {
        complete_send_now(endpoint, request->context, request->flags, request->quiet);
    } else {
        counter_count(endpoint->tx_counter, done->status);
        report(endpoint, endpoint->tx_cq,
               &(struct cq_slot){
                   .entry = {.op_context = request->context, .flags = request->flags},
                   .source = FI_ADDR_NOTAVAIL,
                   .status = done->status,
                   .peer = done->peer,
               });
    }
    requests_give(&endpoint->requests, request);
}

/** Copies a message received in one buffer to the user's parts. */
static void scatter(const struct gathered *gathered, size_t bytes)
{
    size_t copied = 0;

    for (size_t i = 0; i < gathered->count && copied < bytes; i++) {
        size_t left = bytes - copied;
        size_t part = gathered->parts[i].iov_len < left ? gathered->parts[i].iov_len : left;
        memcpy(gathered->parts[i].iov_base, gathered->data + copied, part);
        copied += part;
    }
}

/** The completion of any kind of receive; the buffer holds `room` bytes. */
static struct cq_slot received(struct endpoint *endpoint, const struct request *request,
                               const struct beowire_completion *done, uint8_t *buffer, size_t room)
{
    bool has_data = (done->tag & TAG_DATA) != 0;
    bool is_there =
        done->status == 0 || done->status == -EMSGSIZE; /* otherwise only a part has arrived */
    size_t bytes = is_there ? done->bytes : 0;
    size_t stored = bytes < room ? bytes : room;

    return (struct cq_slot){
        .entry = {.op_context = request->context,
                  .flags = request->flags | (has_data ? FI_REMOTE_CQ_DATA : 0),
                  .len = stored,
                  .buf = buffer,
                  .data = has_data ? done->immediate : 0,
                  .tag = done->tag & INFO_TAG_MASK},
        .source = (endpoint->caps & FI_SOURCE) != 0 && done->status == 0
                      ? endpoint_source(endpoint, done->peer)
                      : FI_ADDR_NOTAVAIL,
        .overflow = bytes - stored,
        .status = done->status,
        .peer = done->peer,
    };
}

static void complete_receive(struct endpoint *endpoint, struct request *request,
                             const struct beowire_completion *done)
{
    counter_count(endpoint->rx_counter, done->status);
    if (done->status != 0 || !request->quiet) {
        struct cq_slot slot = received(endpoint, request, done, request->buffer, request->bytes);
        if (request->gathered != NULL) {
            scatter(request->gathered, slot.entry.len);
        }
        report(endpoint, endpoint->rx_cq, &slot);
    } else if (request->gathered != NULL) {
        scatter(request->gathered, done->bytes);
    }
    requests_give(&endpoint->requests, request);
}

/** The message has filled part of the buffer; the rest receives the next one. */
static void complete_multi_receive(struct endpoint *endpoint, struct request *request,
                                   const struct beowire_completion *done)
{
    uint8_t *buffer = request->buffer + request->used;
    size_t room = request->bytes - request->used;
    struct cq_slot slot = received(endpoint, request, done, buffer, room);

    request->used += slot.entry.len;
    room -= slot.entry.len;
    counter_count(endpoint->rx_counter, done->status);
    bool again =
        done->status == 0 && !request->cancelled && room > 0 && room >= endpoint->multi_receive_min;
    if (again) {
        /* A receive has just ended, so there is room; only a directed one can fail, with its peer.
         */
        again = line_post_rest(endpoint, request);
    }
    slot.entry.flags |= again ? 0 : FI_MULTI_RECV;
    if (done->status != 0 || !request->quiet || !again) {
        report(endpoint, endpoint->rx_cq, &slot);
    }
    if (!again) {
        line_leave(endpoint, request);
        requests_give(&endpoint->requests, request);
    }
}

/** A discarded message is truncated, as intended; reports its length. */
static void complete_discard(struct endpoint *endpoint, struct request *request,
                             const struct beowire_completion *done)
{
    struct beowire_completion good = *done;

    good.status = done->status == -EMSGSIZE ? 0 : done->status;
    counter_count(endpoint->rx_counter, good.status);
    if (good.status != 0 || !request->quiet) {
        struct cq_slot slot = received(endpoint, request, &good, NULL, SIZE_MAX);
        report(endpoint, endpoint->rx_cq, &slot);
    }
    requests_give(&endpoint->requests, request);
}

static void complete_remote(struct endpoint *endpoint, struct request *request,
                            const struct beowire_completion *done)
{
    bool reads = (request->flags & FI_READ) != 0;

    counter_count(endpoint->counters[reads ? ENDPOINT_READS : ENDPOINT_WRITES], done->status);
    if (done->status == 0 && request->gathered != NULL && request->gathered->count > 0) {
        scatter(request->gathered, done->bytes);
    }
    if (done->status != 0 || !request->quiet) {
        report(endpoint, endpoint->tx_cq,
               &(struct cq_slot){
                   .entry = {.op_context = request->context, .flags = request->flags},
                   .source = FI_ADDR_NOTAVAIL,
                   .status = done->status,
                   .peer = done->peer,
               });
    }
    requests_give(&endpoint->requests, request);
}

/** A peer has written with immediate data. */
static void complete_arrived(struct endpoint *endpoint, const struct beowire_completion *done)
{
    report(endpoint, endpoint->rx_cq,
           &(struct cq_slot){
               .entry = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                         .len = done->bytes,
                         .data = done->immediate},
               .source = (endpoint->caps & FI_SOURCE) != 0 ? endpoint_source(endpoint, done->peer)
                                                           : FI_ADDR_NOTAVAIL,
               .peer = done->peer,
           });
}

static void complete(struct endpoint *endpoint, const struct beowire_completion *done)
{
    struct request *request = done->context;

    if (done->operation == BEOWIRE_PUT_ARRIVED) {
        complete_arrived(endpoint, done);
        return;
    }
    switch (request->kind) {
    case REQUEST_SEND:
        complete_send(endpoint, request, done);
        break;
    case REQUEST_RECEIVE:
        complete_receive(endpoint, request, done);
        break;
    case REQUEST_MULTI_RECEIVE:
        complete_multi_receive(endpoint, request, done);
        break;
    case REQUEST_DISCARD:
        complete_discard(endpoint, request, done);
        break;
    case REQUEST_REMOTE:
        complete_remote(endpoint, request, done);
        break;
    case REQUEST_FREE:
        break; /* the transport returns each context once */
    }
}

void complete_receive_failed(struct endpoint *endpoint, struct request *request, int status)
{
    complete(endpoint, &(struct beowire_completion){.context = request,
                                                    .operation = BEOWIRE_RECEIVE,
                                                    .status = status,
                                                    .peer = request->peer});
}

/* ---- completions whose queue is full --------------------------------------------------------- */

static bool is_receive(const struct beowire_completion *done)
{
    return done->operation == BEOWIRE_RECEIVE || done->operation == BEOWIRE_PUT_ARRIVED;
}

/** May a completion need room in the queue? */
static bool needs_room(const struct beowire_completion *done)
{
    const struct request *request = done->context;

    return done->operation == BEOWIRE_PUT_ARRIVED || done->status != 0 || !request->quiet ||
           request->kind == REQUEST_MULTI_RECEIVE;
}

/** Keeps it until there is room: with its operation, or in one of a few places for others. */
static void park(struct endpoint *endpoint, struct parking *parking,
                 const struct beowire_completion *done)
{
    struct request *request = done->context;
    struct parked *parked = done->operation == BEOWIRE_PUT_ARRIVED
                                ? &endpoint->arrivals[endpoint->arrivals_parked++]
                                : &request->parked;

    *parked = (struct parked){.done = *done};
    if (parking->first == NULL) {
        parking->first = parked;
    } else {
        parking->last->next = parked;
    }
    parking->last = parked;
}

static void leave_parking(struct endpoint *endpoint, struct parking *parking, const struct cq *cq)
{
    while (parking->first != NULL && complete_has_room(cq)) {
        const struct beowire_completion done = parking->first->done;
        parking->first = parking->first->next;
        endpoint->arrivals_left += done.operation == BEOWIRE_PUT_ARRIVED;
        complete(endpoint, &done);
    }
    if (endpoint->arrivals_left == endpoint->arrivals_parked) {
        endpoint->arrivals_left = endpoint->arrivals_parked = 0;
    }
}

/** A full queue does not block the other one. */
static void complete_or_park(struct endpoint *endpoint, const struct beowire_completion *done)
{
    struct parking *parking = is_receive(done) ? &endpoint->rx_parking : &endpoint->tx_parking;
    const struct cq *cq = is_receive(done) ? endpoint->rx_cq : endpoint->tx_cq;

    if (needs_room(done) && (parking->first != NULL || !complete_has_room(cq))) {
        park(endpoint, parking, done);
    } else {
        complete(endpoint, done);
    }
}

/* ---- operations of peers on our memory ------------------------------------------------------ */

void complete_watch_peers(struct endpoint *endpoint)
{
    static const char *const names[] = {"remote_read", "remote_written"};
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(endpoint->transport, i, &name, &value) == 0; i++) {
        for (unsigned j = 0; j < 2; j++) {
            if (strcmp(name, names[j]) == 0) {
                endpoint->by_peers[j].index = i;
            }
        }
    }
}

static void count_peers(struct endpoint *endpoint)
{
    for (unsigned i = 0; i < ENDPOINT_COUNTERS - ENDPOINT_BY_PEERS; i++) {
        struct counter *counter = endpoint->counters[ENDPOINT_BY_PEERS + i];
        const char *name = NULL;
        uint64_t value = 0;
        if (counter != NULL &&
            beowire_counter(endpoint->transport, endpoint->by_peers[i].index, &name, &value) == 0) {
            counter->value += value - endpoint->by_peers[i].counted;
            endpoint->by_peers[i].counted = value;
        }
    }
}

/** Posts waiting multi-receive buffers whose turn it is; completes refused ones. */
static void advance(struct endpoint *endpoint)
{
    struct request *refused = NULL;
    int status = 0;

    while ((refused = line_advance(endpoint, &status)) != NULL) {
        complete_receive_failed(endpoint, refused, status);
    }
}

int complete_poll(struct endpoint *endpoint)
{
    struct beowire_completion done[ENDPOINT_BATCH];

    if (endpoint->transport == NULL) {
        return 0;
    }
    leave_parking(endpoint, &endpoint->tx_parking, endpoint->tx_cq);
    leave_parking(endpoint, &endpoint->rx_parking, endpoint->rx_cq);
    int count = beowire_poll(endpoint->transport, done,
                             endpoint->arrivals_parked == 0 ? ENDPOINT_BATCH : 0);
    for (int i = 0; i < count; i++) {
        complete_or_park(endpoint, &done[i]);
    }
    if (endpoint->line_first != NULL) {
        advance(endpoint);
    }
    count_peers(endpoint);
    if (count <= 0) {
        tell_events(endpoint);
    }
    return count < 0 ? count : 0;
}

bool complete_wait(struct endpoint *endpoint, uint64_t timeout_ns)
{
    return endpoint->transport != NULL && beowire_wait(endpoint->transport, timeout_ns) > 0;
}
