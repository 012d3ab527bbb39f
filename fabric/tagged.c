/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_tsend() and related calls. */
#include "endpoint.h"
#include "receive.h"
#include "transmit.h"

#include <rdma/fi_tagged.h>

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *parts, void **desc,
                            size_t count, fi_addr_t from, uint64_t tag, uint64_t ignore,
                            void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return receive(endpoint, &(struct reception){
                                 .parts = parts,
                                 .count = count,
                                 .from = from,
                                 .tag = tag,
                                 .ignore = ignore,
                                 .kind = FI_TAGGED,
                                 .flags = endpoint->rx_flags & ~FI_MULTI_RECV,
                                 .context = context,
                             });
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buffer, size_t bytes, void *desc,
                           fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    const struct iovec part = {.iov_base = buffer, .iov_len = bytes};

    (void)desc;
    return tagged_recvv(fid, &part, NULL, 1, from, tag, ignore, context);
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *message,
                              uint64_t flags)
{
    return receive(endpoint_of(fid), &(struct reception){
                                         .parts = message->msg_iov,
                                         .count = message->iov_count,
                                         .from = message->addr,
                                         .tag = message->tag,
                                         .ignore = message->ignore,
                                         .kind = FI_TAGGED,
                                         .flags = flags,
                                         .context = message->context,
                                     });
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                               uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit(endpoint, &(struct transmission){
                                  .buffer = buffer,
                                  .bytes = bytes,
                                  .to = to,
                                  .tag = tag,
                                  .data = data,
                                  .kind = FI_TAGGED,
                                  .flags = endpoint->tx_flags | FI_REMOTE_CQ_DATA,
                                  .context = context,
                              });
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                           fi_addr_t to, uint64_t tag, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit(endpoint, &(struct transmission){
                                  .buffer = buffer,
                                  .bytes = bytes,
                                  .to = to,
                                  .tag = tag,
                                  .kind = FI_TAGGED,
                                  .flags = endpoint->tx_flags,
                                  .context = context,
                              });
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *parts, void **desc,
                            size_t count, fi_addr_t to, uint64_t tag, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit_parts(endpoint,
                          &(struct transmission){
                              .to = to,
                              .tag = tag,
                              .kind = FI_TAGGED,
                              .flags = endpoint->tx_flags,
                              .context = context,
                          },
                          parts, count);
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *message,
                              uint64_t flags)
{
    return transmit_parts(endpoint_of(fid),
                          &(struct transmission){
                              .to = message->addr,
                              .tag = message->tag,
                              .data = (flags & FI_REMOTE_CQ_DATA) != 0 ? message->data : 0,
                              .kind = FI_TAGGED,
                              .flags = flags,
                              .context = message->context,
                          },
                          message->msg_iov, message->iov_count);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buffer, size_t bytes, fi_addr_t to,
                             uint64_t tag)
{
    return transmit_inject(endpoint_of(fid), &(struct transmission){
                                                 .buffer = buffer,
                                                 .bytes = bytes,
                                                 .to = to,
                                                 .tag = tag,
                                                 .kind = FI_TAGGED,
                                             });
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buffer, size_t bytes,
                                 uint64_t data, fi_addr_t to, uint64_t tag)
{
    return transmit_inject(endpoint_of(fid), &(struct transmission){
                                                 .buffer = buffer,
                                                 .bytes = bytes,
                                                 .to = to,
                                                 .tag = tag,
                                                 .data = data,
                                                 .kind = FI_TAGGED,
                                                 .flags = FI_REMOTE_CQ_DATA,
                                             });
}

struct fi_ops_tagged endpoint_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tagged_recv,
    .recvv = tagged_recvv,
    .recvmsg = tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
