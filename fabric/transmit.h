/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transmit.h - the common part of fi_send() ... fi_tinjectdata().
 */
#ifndef BEOWIRE_FABRIC_TRANSMIT_H
#define BEOWIRE_FABRIC_TRANSMIT_H

#include "endpoint.h"

/** A message to be sent. */
struct transmission {
    const void *buffer;
    size_t bytes;
    fi_addr_t to;
    uint64_t tag;   /**< the user's, or 0 */
    uint64_t data;  /**< immediate data, if FI_REMOTE_CQ_DATA */
    uint64_t kind;  /**< FI_TAGGED or FI_MSG */
    uint64_t flags; /**< FI_COMPLETION: report it if the queue reports selected operations only; and
                       others */
    void *context;
};

/** Sends it. Locks the domain, as do all functions in this file. @return 0, or as fi_send(). */
ssize_t transmit(struct endpoint *endpoint, const struct transmission *message);

/** The same for data in parts; ignores the message's buffer. */
ssize_t transmit_parts(struct endpoint *endpoint, const struct transmission *message,
                       const struct iovec *parts, size_t count);

/** Sends it without a completion; its buffer may be reused on return. */
ssize_t transmit_inject(struct endpoint *endpoint, const struct transmission *message);

#endif /* BEOWIRE_FABRIC_TRANSMIT_H */
