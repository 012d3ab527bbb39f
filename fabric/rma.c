/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_read(), fi_write() and related calls. */
#include "complete.h"
#include "endpoint.h"
#include "remote.h"

#include <stdlib.h>
#include <string.h>

struct request *remote_request_take(struct endpoint *endpoint, const struct remote *remote)
{
    struct request *request = requests_take(&endpoint->requests, REQUEST_REMOTE);

    if (request != NULL) {
        request->context = remote->context;
        request->flags = remote->completion;
        request->quiet =
            remote->quiet || (endpoint->tx_selective && (remote->flags & FI_COMPLETION) == 0);
    }
    return request;
}

int remote_check(struct endpoint *endpoint, const struct remote *remote, beowire_peer *peer)
{
    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    if ((remote->flags & ~REMOTE_FLAGS_KNOWN) != 0) {
        return -FI_EBADFLAGS;
    }
    if (remote->data > UINT32_MAX) {
        return -FI_EINVAL;
    }
    return endpoint_peer(endpoint, remote->to, peer);
}

ssize_t remote_finish(struct endpoint *endpoint, int status)
{
    if (status == -FI_EAGAIN) {
        (void)complete_poll(endpoint); /* a program that only retries must make progress, too */
    }
    domain_unlock(endpoint->domain);
    return status;
}

/** Memory for the data of these parts: a copy to send, or room for arriving data. */
static struct gathered *gather(const struct iovec *parts, size_t count, size_t bytes, bool comes)
{
    struct gathered *gathered = malloc(sizeof *gathered + bytes);
    size_t copied = 0;

    if (gathered == NULL) {
        return NULL;
    }
    gathered->count = comes ? count : 0;
    for (size_t i = 0; i < count; i++) {
        if (comes) {
            gathered->parts[i] = parts[i];
        } else if (parts[i].iov_len > 0) {
            memcpy(gathered->data + copied, parts[i].iov_base, parts[i].iov_len);
            copied += parts[i].iov_len;
        }
    }
    return gathered;
}

/** The data of an operation in one piece: the user's, or a copy. */
struct piece {
    uint8_t *data;
    size_t bytes;
};

static int write_piece(struct endpoint *endpoint, const struct remote *remote, beowire_peer peer,
                       const struct piece *piece, bool inject, struct request *request)
{
    const struct beowire_remote place = {.key = remote->key, .address = remote->address};
    unsigned flags = ((remote->flags & FI_REMOTE_CQ_DATA) != 0 ? BEOWIRE_PUT_NOTIFY : 0u) |
                     (inject ? BEOWIRE_PUT_INJECT : 0u);

    return beowire_put(endpoint->transport, peer, &place, piece->data, piece->bytes, flags,
                       (uint32_t)remote->data, request);
}

static int post(struct endpoint *endpoint, const struct remote *remote, beowire_peer peer,
                const struct iovec *parts, size_t count, struct request *request)
{
    const struct beowire_remote place = {.key = remote->key, .address = remote->address};
    bool reads = (remote->completion & FI_READ) != 0;
    struct piece piece = {.data = count > 0 ? parts[0].iov_base : NULL,
                          .bytes = iov_bytes(parts, count)};
    bool keep = (remote->flags & FI_INJECT) != 0;

    if (keep && count <= 1 && piece.bytes <= beowire_put_inject_bytes(endpoint->transport)) {
        int status = write_piece(endpoint, remote, peer, &piece, true, request);
        if (status != -FI_EAGAIN && status != -FI_EMSGSIZE) {
            return status;
        }
    }
    if (count > 1 || keep) {
        if (piece.bytes > BEOWIRE_MESSAGE_BYTES_MAX) {
            return -FI_EMSGSIZE;
        }
        request->gathered = gather(parts, count, piece.bytes, reads);
        if (request->gathered == NULL) {
            return -FI_ENOMEM;
        }
        piece.data = request->gathered->data;
    }
    return reads ? beowire_get(endpoint->transport, peer, &place, piece.data, piece.bytes, request)
                 : write_piece(endpoint, remote, peer, &piece, false, request);
}

static int move_locked(struct endpoint *endpoint, const struct remote *remote,
                       const struct iovec *parts, size_t count)
{
    beowire_peer peer = 0;
    int status = remote_check(endpoint, remote, &peer);

    if (status != 0) {
        return status;
    }
    struct request *request = remote_request_take(endpoint, remote);
    if (request == NULL) {
        return -FI_EAGAIN;
    }
    status = post(endpoint, remote, peer, parts, count, request);
    if (status != 0) {
        requests_give(&endpoint->requests, request);
    }
    return status;
}

/** Moves data between these parts and a peer's memory, in the direction of `remote->completion`. */
static ssize_t move(struct endpoint *endpoint, const struct remote *remote,
                    const struct iovec *parts, size_t count)
{
    if (count > INFO_IOV_LIMIT || (count > 0 && parts == NULL)) {
        return -FI_EINVAL;
    }
    domain_lock(endpoint->domain);
    return remote_finish(endpoint, move_locked(endpoint, remote, parts, count));
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *parts, void **desc, size_t count,
                         fi_addr_t from, uint64_t address, uint64_t key, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return move(endpoint,
                &(struct remote){.to = from,
                                 .address = address,
                                 .key = key,
                                 .flags = endpoint->tx_flags & ~FI_INJECT,
                                 .completion = FI_RMA | FI_READ,
                                 .context = context},
                parts, count);
}

static ssize_t rma_read(struct fid_ep *fid, void *buffer, size_t bytes, void *desc, fi_addr_t from,
                        uint64_t address, uint64_t key, void *context)
{
    const struct iovec part = {.iov_base = buffer, .iov_len = bytes};

    (void)desc;
    return rma_readv(fid, &part, NULL, 1, from, address, key, context);
}

/** The place in a peer's memory that a message names. @return false: not exactly one, or another
 *  length. */
static bool place_of(const struct fi_msg_rma *message, uint64_t flags, struct remote *remote)
{
    if (message->rma_iov_count != INFO_RMA_IOV_LIMIT || message->rma_iov == NULL ||
        message->iov_count > INFO_IOV_LIMIT ||
        iov_bytes(message->msg_iov, message->iov_count) != message->rma_iov[0].len) {
        return false;
    }
    *remote = (struct remote){.to = message->addr,
                              .address = message->rma_iov[0].addr,
                              .key = message->rma_iov[0].key,
                              .data = (flags & FI_REMOTE_CQ_DATA) != 0 ? message->data : 0,
                              .flags = flags,
                              .context = message->context};
    return true;
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    struct remote remote;

    if (!place_of(message, flags & ~FI_INJECT, &remote)) {
        return -FI_EINVAL;
    }
    remote.completion = FI_RMA | FI_READ;
    return move(endpoint_of(fid), &remote, message->msg_iov, message->iov_count);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *parts, void **desc, size_t count,
                          fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return move(endpoint,
                &(struct remote){.to = to,
                                 .address = address,
                                 .key = key,
                                 .flags = endpoint->tx_flags,
                                 .completion = FI_RMA | FI_WRITE,
                                 .context = context},
                parts, count);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                         fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = bytes};

    (void)desc;
    return rma_writev(fid, &part, NULL, 1, to, address, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *message, uint64_t flags)
{
    struct remote remote;

    if (!place_of(message, flags, &remote)) {
        return -FI_EINVAL;
    }
    remote.completion = FI_RMA | FI_WRITE;
    return move(endpoint_of(fid), &remote, message->msg_iov, message->iov_count);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                             uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                             void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = bytes};

    (void)desc;
    return move(endpoint,
                &(struct remote){.to = to,
                                 .address = address,
                                 .key = key,
                                 .data = data,
                                 .flags = endpoint->tx_flags | FI_REMOTE_CQ_DATA,
                                 .completion = FI_RMA | FI_WRITE,
                                 .context = context},
                &part, 1);
}

static ssize_t inject(struct fid_ep *fid, const void *buffer, size_t bytes,
                      const struct remote *remote)
{
    struct endpoint *endpoint = endpoint_of(fid);
    const struct iovec part = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = bytes};

    return bytes > endpoint->inject_limit ? -FI_EMSGSIZE : move(endpoint, remote, &part, 1);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buffer, size_t bytes, fi_addr_t to,
                          uint64_t address, uint64_t key)
{
    return inject(fid, buffer, bytes,
                  &(struct remote){.to = to,
                                   .address = address,
                                   .key = key,
                                   .flags = FI_INJECT,
                                   .quiet = true,
                                   .completion = FI_RMA | FI_WRITE});
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buffer, size_t bytes, uint64_t data,
                              fi_addr_t to, uint64_t address, uint64_t key)
{
    return inject(fid, buffer, bytes,
                  &(struct remote){.to = to,
                                   .address = address,
                                   .key = key,
                                   .data = data,
                                   .flags = FI_INJECT | FI_REMOTE_CQ_DATA,
                                   .quiet = true,
                                   .completion = FI_RMA | FI_WRITE});
}

struct fi_ops_rma endpoint_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};
