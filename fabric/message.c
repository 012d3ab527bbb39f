/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_send() and related calls. */
#include "endpoint.h"
#include "receive.h"
#include "transmit.h"

#include <rdma/fi_endpoint.h>

static ssize_t message_recvv(struct fid_ep *fid, const struct iovec *parts, void **desc,
                             size_t count, fi_addr_t from, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return receive(endpoint, &(struct reception){
                                 .parts = parts,
                                 .count = count,
                                 .from = from,
                                 .kind = FI_MSG,
                                 .flags = endpoint->rx_flags,
                                 .context = context,
                             });
}

static ssize_t message_recv(struct fid_ep *fid, void *buffer, size_t bytes, void *desc,
                            fi_addr_t from, void *context)
{
    const struct iovec part = {.iov_base = buffer, .iov_len = bytes};

    (void)desc;
    return message_recvv(fid, &part, NULL, 1, from, context);
}

static ssize_t message_recvmsg(struct fid_ep *fid, const struct fi_msg *message, uint64_t flags)
{
    return receive(endpoint_of(fid), &(struct reception){
                                         .parts = message->msg_iov,
                                         .count = message->iov_count,
                                         .from = message->addr,
                                         .kind = FI_MSG,
                                         .flags = flags,
                                         .context = message->context,
                                     });
}

static ssize_t message_senddata(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                                uint64_t data, fi_addr_t to, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit(endpoint, &(struct transmission){
                                  .buffer = buffer,
                                  .bytes = bytes,
                                  .to = to,
                                  .data = data,
                                  .kind = FI_MSG,
                                  .flags = endpoint->tx_flags | FI_REMOTE_CQ_DATA,
                                  .context = context,
                              });
}

static ssize_t message_send(struct fid_ep *fid, const void *buffer, size_t bytes, void *desc,
                            fi_addr_t to, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit(endpoint, &(struct transmission){
                                  .buffer = buffer,
                                  .bytes = bytes,
                                  .to = to,
                                  .kind = FI_MSG,
                                  .flags = endpoint->tx_flags,
                                  .context = context,
                              });
}

static ssize_t message_sendv(struct fid_ep *fid, const struct iovec *parts, void **desc,
                             size_t count, fi_addr_t to, void *context)
{
    struct endpoint *endpoint = endpoint_of(fid);

    (void)desc;
    return transmit_parts(endpoint,
                          &(struct transmission){
                              .to = to,
                              .kind = FI_MSG,
                              .flags = endpoint->tx_flags,
                              .context = context,
                          },
                          parts, count);
}

static ssize_t message_sendmsg(struct fid_ep *fid, const struct fi_msg *message, uint64_t flags)
{
    return transmit_parts(endpoint_of(fid),
                          &(struct transmission){
                              .to = message->addr,
                              .data = (flags & FI_REMOTE_CQ_DATA) != 0 ? message->data : 0,
                              .kind = FI_MSG,
                              .flags = flags,
                              .context = message->context,
                          },
                          message->msg_iov, message->iov_count);
}

static ssize_t message_inject(struct fid_ep *fid, const void *buffer, size_t bytes, fi_addr_t to)
{
    return transmit_inject(endpoint_of(fid), &(struct transmission){
                                                 .buffer = buffer,
                                                 .bytes = bytes,
                                                 .to = to,
                                                 .kind = FI_MSG,
                                             });
}

static ssize_t message_injectdata(struct fid_ep *fid, const void *buffer, size_t bytes,
                                  uint64_t data, fi_addr_t to)
{
    return transmit_inject(endpoint_of(fid), &(struct transmission){
                                                 .buffer = buffer,
                                                 .bytes = bytes,
                                                 .to = to,
                                                 .data = data,
                                                 .kind = FI_MSG,
                                                 .flags = FI_REMOTE_CQ_DATA,
                                             });
}

struct fi_ops_msg endpoint_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = message_recv,
    .recvv = message_recvv,
    .recvmsg = message_recvmsg,
    .send = message_send,
    .sendv = message_sendv,
    .sendmsg = message_sendmsg,
    .inject = message_inject,
    .senddata = message_senddata,
    .injectdata = message_injectdata,
};
