/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive.h - the common part of fi_recv() ... fi_trecvmsg().
 */
#ifndef BEOWIRE_FABRIC_RECEIVE_H
#define BEOWIRE_FABRIC_RECEIVE_H

#include "endpoint.h"

/** A receive to be posted, or a peek. */
struct reception {
    const struct iovec *parts;
    size_t count;
    fi_addr_t from; /**< used with FI_DIRECTED_RECV only; FI_ADDR_UNSPEC: any peer */
    uint64_t tag;
    uint64_t ignore;
    uint64_t kind;  /**< FI_TAGGED or FI_MSG */
    uint64_t flags; /**< FI_COMPLETION, FI_MULTI_RECV, FI_PEEK, FI_CLAIM, FI_DISCARD */
    void *context;
};

/** Locks the domain. @return 0, or as fi_recv(). */
ssize_t receive(struct endpoint *endpoint, const struct reception *reception);

#endif /* BEOWIRE_FABRIC_RECEIVE_H */
