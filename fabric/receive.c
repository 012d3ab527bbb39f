/* SPDX-License-Identifier: BSD-3-Clause */
#include "receive.h"

#include "complete.h"
#include "libfabric.h"
#include "line.h"
#include "openmpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_KNOWN (INFO_RX_FLAGS | FI_MORE)

/** What the transport must match. */
struct match {
    beowire_peer peer;
    uint64_t tag;
    uint64_t ignore;
};

static int make_match(struct endpoint *endpoint, const struct reception *reception,
                      struct match *match)
{
    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    if (reception->count > INFO_IOV_LIMIT ||
        (reception->tag & ~reception->ignore) > INFO_TAG_MASK) {
        return -FI_EINVAL;
    }
    bool tagged = reception->kind == FI_TAGGED;
    *match = (struct match){
        .peer = BEOWIRE_ANY_PEER,
        .tag = tagged ? reception->tag & INFO_TAG_MASK : TAG_MESSAGE,
        .ignore = tagged ? (reception->ignore & INFO_TAG_MASK) | TAG_DATA : ~TAG_MESSAGE,
    };
    if ((endpoint->caps & FI_DIRECTED_RECV) != 0 && reception->from != FI_ADDR_UNSPEC) {
        return endpoint_peer(endpoint, reception->from, &match->peer);
    }
    return 0;
}

/** Allocates one buffer, from which several parts are filled when the message has come. It need not
 * be longer than any message. */
static int gather(struct request *request, const struct reception *reception)
{
    if (request->bytes > BEOWIRE_MESSAGE_BYTES_MAX) {
        request->bytes = BEOWIRE_MESSAGE_BYTES_MAX;
    }
    struct gathered *gathered = malloc(sizeof *gathered + request->bytes);
    if (gathered == NULL) {
        return -FI_ENOMEM;
    }
    gathered->count = reception->count;
    memcpy(gathered->parts, reception->parts, reception->count * sizeof *gathered->parts);
    request->gathered = gathered;
    return 0;
}

/** Prepares a request for this receive, with its buffer. @return 0, -FI_EAGAIN or -FI_ENOMEM. */
static int prepare(struct endpoint *endpoint, const struct reception *reception,
                   enum request_kind kind, struct request **prepared)
{
    struct request *request = requests_take(&endpoint->requests, kind);

    if (request == NULL) {
        return -FI_EAGAIN;
    }
    request->context = reception->context;
    request->flags = reception->kind | FI_RECV;
    request->quiet = endpoint->rx_selective && (reception->flags & FI_COMPLETION) == 0;
    request->buffer = reception->count > 0 ? reception->parts[0].iov_base : NULL;
    request->bytes = iov_bytes(reception->parts, reception->count);
    if (reception->count > 1) {
        int status = gather(request, reception);
        if (status != 0) {
            requests_give(&endpoint->requests, request);
            return status;
        }
    }
    *prepared = request;
    return 0;
}

static void *target_of(const struct request *request)
{
    return request->gathered != NULL ? request->gathered->data : request->buffer;
}

static int post(struct endpoint *endpoint, const struct reception *reception)
{
    struct match match;
    struct request *request = NULL;
    bool multi = (reception->flags & FI_MULTI_RECV) != 0;

    if ((reception->flags & ~FLAGS_KNOWN) != 0) {
        return -FI_EBADFLAGS;
    }
    if (multi && (reception->count != 1 || reception->kind != FI_MSG)) {
        return -FI_EINVAL;
    }
    int status = make_match(endpoint, reception, &match);
    if (status == 0) {
        status =
            prepare(endpoint, reception, multi ? REQUEST_MULTI_RECEIVE : REQUEST_RECEIVE, &request);
    }
    if (status != 0) {
        return status;
    }
    request->peer = match.peer;
    status = reception->kind == FI_MSG
                 ? line_post(endpoint, request)
                 : beowire_receive(endpoint->transport, match.peer, match.tag, match.ignore,
                                   target_of(request), request->bytes, request);
    if (status != 0) {
        requests_give(&endpoint->requests, request);
    }
    return status;
}

/** A claimed message, stored in the user's context. */
struct claim {
    beowire_message message;
    uint64_t tag; /**< TAG_DATA included */
    beowire_peer peer;
};
static_assert(sizeof(struct claim) <= sizeof(struct fi_context), "it fits there");

static struct claim *claim_of(void *context)
{
    return context;
}

/** Receives a claimed message by its request. */
static int receive_by(struct endpoint *endpoint, struct request *request, beowire_message message)
{
    int status = beowire_receive_claimed(endpoint->transport, message, target_of(request),
                                         request->bytes, request);

    if (status != 0) {
        requests_give(&endpoint->requests, request);
    }
    return status == -ENOENT ? -FI_ENOMSG : status;
}

/** Prepares a request that discards a message. */
static int prepare_discard(struct endpoint *endpoint, const struct reception *reception,
                           struct request **request)
{
    struct reception nowhere = *reception;

    nowhere.count = 0;
    return prepare(endpoint, &nowhere, REQUEST_DISCARD, request);
}

/** Answers the synchronous send of a claimed message, if it is one, and only once. Errors except
 *  -FI_EAGAIN are ignored: receiving the message shows that the peer has failed. */
static int answer_claim(struct endpoint *endpoint, struct claim *claim)
{
    uint64_t answer = 0;

    if (!endpoint->answers_claims || (claim->tag & TAG_DATA) == 0 ||
        !openmpi_wants_answer(claim->tag & INFO_TAG_MASK, &answer)) {
        return 0;
    }
    if (beowire_inject(endpoint->transport, claim->peer, answer, 0, NULL, 0) == -EAGAIN) {
        return -FI_EAGAIN;
    }
    claim->tag = 0;
    return 0;
}

/** Posts a receive of a claimed message: into the user's buffer, or discards it. */
static int receive_claimed(struct endpoint *endpoint, const struct reception *reception)
{
    struct request *request = NULL;
    bool discard = (reception->flags & FI_DISCARD) != 0;
    int status = discard ? prepare_discard(endpoint, reception, &request)
                         : prepare(endpoint, reception, REQUEST_RECEIVE, &request);

    if (status != 0) {
        return status;
    }
    status = answer_claim(endpoint, claim_of(reception->context));
    if (status != 0) {
        requests_give(&endpoint->requests, request);
        return status;
    }
    return receive_by(endpoint, request, claim_of(reception->context)->message);
}

/** Reports what was found, or that there was nothing, which is an expected error. */
static void report_found(struct endpoint *endpoint, const struct reception *reception,
                         const struct beowire_completion *found, int status)
{
    if (endpoint->rx_cq == NULL) {
        return;
    }
    bool has_data = status == 0 && (found->tag & TAG_DATA) != 0;
    *cq_add(endpoint->rx_cq) = (struct cq_slot){
        .entry = {.op_context = reception->context,
                  .flags = reception->kind | FI_RECV | (has_data ? FI_REMOTE_CQ_DATA : 0),
                  .len = found->bytes,
                  .data = has_data ? found->immediate : 0,
                  .tag = status == 0 ? found->tag & INFO_TAG_MASK : reception->tag},
        .source = status == 0 && (endpoint->caps & FI_SOURCE) != 0
                      ? endpoint_source(endpoint, found->peer)
                      : FI_ADDR_NOTAVAIL,
        .status = status,
        .peer = BEOWIRE_ANY_PEER,
    };
}

/** Searches a message, and claims or discards it if requested. */
static int peek(struct endpoint *endpoint, const struct reception *reception)
{
    struct match match;
    struct beowire_completion found = {0};
    beowire_message message = 0;
    bool discard = (reception->flags & FI_DISCARD) != 0;
    bool take = discard || (reception->flags & FI_CLAIM) != 0;
    struct request *request = NULL;
    int status = make_match(endpoint, reception, &match);

    if (status != 0) {
        return status;
    }
    if (!complete_has_room(endpoint->rx_cq)) {
        return -FI_EAGAIN;
    }
    if (discard) {
        /* Before the message is claimed, because afterwards it must not be lost. */
        status = prepare_discard(endpoint, reception, &request);
        if (status != 0) {
            return status;
        }
    }
    status = take ? beowire_claim(endpoint->transport, match.peer, match.tag, match.ignore, &found,
                                  &message)
                  : beowire_peek(endpoint->transport, match.peer, match.tag, match.ignore, &found);
    if (status == 0 && discard) {
        return receive_by(endpoint, request, message);
    }
    if (discard) {
        requests_give(&endpoint->requests, request);
    } else if (status == 0 && take) {
        *claim_of(reception->context) =
            (struct claim){.message = message, .tag = found.tag, .peer = found.peer};
    }
    report_found(endpoint, reception, &found, status);
    return 0;
}

#define LOOKING (FI_PEEK | FI_CLAIM | FI_DISCARD)

static int look(struct endpoint *endpoint, const struct reception *reception)
{
    bool peeks = (reception->flags & FI_PEEK) != 0;
    bool claims = (reception->flags & FI_CLAIM) != 0;
    bool discards = (reception->flags & FI_DISCARD) != 0;

    if ((reception->flags & ~(FI_COMPLETION | FI_MORE | LOOKING)) != 0) {
        return -FI_EBADFLAGS;
    }
    /* A claimed message is identified by its context; and it cannot be both claimed and discarded.
     */
    if ((claims && reception->context == NULL) || (peeks && claims && discards) ||
        reception->count > INFO_IOV_LIMIT) {
        return -FI_EINVAL;
    }
    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    if (peeks) {
        /* Makes progress, so that a program that peeks only once finds a message that has come. */
        int status = complete_poll(endpoint);
        return status != 0 ? status : peek(endpoint, reception);
    }
    return claims ? receive_claimed(endpoint, reception) : -FI_EINVAL;
}

ssize_t receive(struct endpoint *endpoint, const struct reception *reception)
{
    domain_lock(endpoint->domain);
    int status =
        (reception->flags & LOOKING) != 0 ? look(endpoint, reception) : post(endpoint, reception);
    if (status == -FI_EAGAIN) {
        (void)complete_poll(endpoint);
    }
    domain_unlock(endpoint->domain);
    return status;
}
