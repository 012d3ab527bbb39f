/* SPDX-License-Identifier: BSD-3-Clause */
#include "transmit.h"

#include "complete.h"
#include "libfabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Supported flags of operations. FI_MORE has no effect: messages are sent when possible. */
#define FLAGS_KNOWN (INFO_TX_FLAGS | FI_REMOTE_CQ_DATA | FI_MORE)

static int check(const struct endpoint *endpoint, const struct transmission *message)
{
    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    if ((message->flags & ~FLAGS_KNOWN) != 0) {
        return -FI_EBADFLAGS;
    }
    if (message->tag > INFO_TAG_MASK || message->data > UINT32_MAX) {
        return -FI_EINVAL;
    }
    return 0;
}

static uint64_t tag_of(const struct transmission *message)
{
    return message->tag | ((message->flags & FI_REMOTE_CQ_DATA) != 0 ? TAG_DATA : 0) |
           (message->kind == FI_MSG ? TAG_MESSAGE : 0);
}

/** Levels of completion that wait for the peer's acknowledgement. */
#define CONFIRMED (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define WAITS_FOR_PEER (CONFIRMED | FI_MATCH_COMPLETE)

typedef int send_function(beowire_endpoint *endpoint, beowire_peer peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint64_t bytes, void *context);

/** The function that sends it, by the latest level of completion that it requests. */
static send_function *send_of(const struct transmission *message)
{
    if ((message->flags & FI_MATCH_COMPLETE) != 0) {
        return beowire_send_matched;
    }
    return (message->flags & CONFIRMED) != 0 ? beowire_send_confirmed : beowire_send;
}

static bool is_quiet(const struct endpoint *endpoint, uint64_t flags)
{
    return endpoint->tx_selective && (flags & FI_COMPLETION) == 0;
}

/** Allocates room for `bytes` bytes; NULL: no memory. */
static struct gathered *make_copy(size_t bytes)
{
    struct gathered *copy = malloc(sizeof *copy + bytes);

    if (copy != NULL) {
        copy->count = 0;
    }
    return copy;
}

/** Posts a send, of the copy if there is one, which it owns then, also on failure. */
static int post(struct endpoint *endpoint, const struct transmission *message, beowire_peer peer,
                bool quiet, struct gathered *copy)
{
    struct request *request = requests_take(&endpoint->requests, REQUEST_SEND);

    if (request == NULL) {
        free(copy);
        return -FI_EAGAIN;
    }
    request->context = message->context;
    request->flags = message->kind | FI_SEND;
    request->quiet = quiet;
    request->gathered = copy;
    int status =
        send_of(message)(endpoint->transport, peer, tag_of(message), (uint32_t)message->data,
                         copy != NULL ? copy->data : message->buffer, message->bytes, request);
    if (status != 0) {
        requests_give(&endpoint->requests, request);
    }
    return status;
}

/** Tries to send a short message without a request. @return -FI_EAGAIN, -FI_EMSGSIZE: not possible.
 */
static int try_inject(struct endpoint *endpoint, const struct transmission *message,
                      beowire_peer peer, bool quiet)
{
    if (message->bytes > endpoint->inject_bytes || (message->flags & WAITS_FOR_PEER) != 0) {
        return -FI_EMSGSIZE;
    }
    int status = beowire_inject(endpoint->transport, peer, tag_of(message), (uint32_t)message->data,
                                message->buffer, message->bytes);
    if (status == 0) {
        complete_send_now(endpoint, message->context, message->kind | FI_SEND, quiet);
    }
    return status;
}

/** Sends a message without or with a request. `copy`: its data, which it owns then; `keep`: the
 * user may change the buffer at once. */
static int send_somehow(struct endpoint *endpoint, const struct transmission *message,
                        beowire_peer peer, bool quiet, bool keep)
{
    if (!complete_has_room(endpoint->tx_cq)) {
        return -FI_EAGAIN;
    }
    int status = try_inject(endpoint, message, peer, quiet);
    if (status == -FI_ECONNRESET || status == -FI_ETIMEDOUT || status == -FI_EKEYREJECTED ||
        status == -EPROTONOSUPPORT) {
        complete_tell_failure(endpoint, peer, status); /* it has failed since the last call */
    }
    if (status != -FI_EAGAIN && status != -FI_EMSGSIZE) {
        return status;
    }
    struct gathered *copy = NULL;
    if (keep && message->bytes > 0) {
        copy = make_copy(message->bytes);
        if (copy == NULL) {
            return -FI_ENOMEM;
        }
        memcpy(copy->data, message->buffer, message->bytes);
    }
    return post(endpoint, message, peer, quiet, copy);
}

/** Makes progress if a send must be repeated, for programs that only send. */
static ssize_t finish(struct endpoint *endpoint, int status)
{
    if (status == -FI_EAGAIN) {
        (void)complete_poll(endpoint);
    }
    domain_unlock(endpoint->domain);
    return status;
}

ssize_t transmit(struct endpoint *endpoint, const struct transmission *message)
{
    beowire_peer peer = 0;

    domain_lock(endpoint->domain);
    int status = check(endpoint, message);
    if (status == 0) {
        status = endpoint_peer(endpoint, message->to, &peer);
    }
    if (status == 0) {
        status = send_somehow(endpoint, message, peer, is_quiet(endpoint, message->flags),
                              (message->flags & FI_INJECT) != 0);
    }
    return finish(endpoint, status);
}

ssize_t transmit_inject(struct endpoint *endpoint, const struct transmission *message)
{
    beowire_peer peer = 0;

    if (message->bytes > endpoint->inject_limit) {
        return -FI_EMSGSIZE;
    }
    domain_lock(endpoint->domain);
    int status = check(endpoint, message);
    if (status == 0) {
        status = endpoint_peer(endpoint, message->to, &peer);
    }
    if (status == 0) {
        status = send_somehow(endpoint, message, peer, true, true);
    }
    return finish(endpoint, status);
}

static int send_parts(struct endpoint *endpoint, const struct transmission *message,
                      const struct iovec *parts, size_t count)
{
    beowire_peer peer = 0;
    int status = check(endpoint, message);

    if (status == 0) {
        status = endpoint_peer(endpoint, message->to, &peer);
    }
    if (status != 0) {
        return status;
    }
    struct transmission whole = *message;
    whole.bytes = iov_bytes(parts, count);
    if (whole.bytes > BEOWIRE_MESSAGE_BYTES_MAX) {
        return -FI_EMSGSIZE;
    }
    struct gathered *copy = make_copy(whole.bytes);
    if (copy == NULL) {
        return -FI_ENOMEM;
    }
    size_t copied = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) {
            memcpy(copy->data + copied, parts[i].iov_base, parts[i].iov_len);
            copied += parts[i].iov_len;
        }
    }
    return post(endpoint, &whole, peer, is_quiet(endpoint, message->flags), copy);
}

ssize_t transmit_parts(struct endpoint *endpoint, const struct transmission *message,
                       const struct iovec *parts, size_t count)
{
    if (count > INFO_IOV_LIMIT || (count > 0 && parts == NULL)) {
        return -FI_EINVAL;
    }
    if (count <= 1) {
        struct transmission whole = *message;
        whole.buffer = count == 1 ? parts[0].iov_base : NULL;
        whole.bytes = count == 1 ? parts[0].iov_len : 0;
        return transmit(endpoint, &whole);
    }
    domain_lock(endpoint->domain);
    return finish(endpoint, send_parts(endpoint, message, parts, count));
}
