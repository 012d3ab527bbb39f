/* SPDX-License-Identifier: BSD-3-Clause */
#include "receive.h"

#include "complete.h"
#include "libfabric.h"

#include <stdlib.h>
#include <string.h>

#define FLAGS_KNOWN (INFO_RX_FLAGS | FI_MORE)

/** What the transport is to look for. */
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

/** Has a buffer of one part made, from which several are filled when it is there. */
static int gather(struct request *request, const struct reception *reception)
{
    struct gathered *gathered =
        malloc(sizeof *gathered + iov_bytes(reception->parts, reception->count));

    if (gathered == NULL) {
        return -FI_ENOMEM;
    }
    gathered->count = reception->count;
    memcpy(gathered->parts, reception->parts, reception->count * sizeof *gathered->parts);
    request->gathered = gathered;
    return 0;
}

/** A request for this receive, buffer included. @return 0, -FI_EAGAIN or -FI_ENOMEM. */
static int prepare(struct endpoint *endpoint, const struct reception *reception,
                   enum request_kind kind, struct request **prepared)
{
    struct request *request = request_take(endpoint, kind);

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
            request_give(endpoint, request);
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
    status = beowire_receive(endpoint->transport, match.peer, match.tag, match.ignore,
                             target_of(request), request->bytes, request);
    if (status != 0) {
        request_give(endpoint, request);
    }
    return status;
}

ssize_t receive(struct endpoint *endpoint, const struct reception *reception)
{
    domain_lock(endpoint->domain);
    int status = post(endpoint, reception);
    if (status == -FI_EAGAIN) {
        (void)endpoint_progress(endpoint);
    }
    domain_unlock(endpoint->domain);
    return status;
}
