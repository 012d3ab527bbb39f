/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.h - the common part of operations on a peer's memory: fi_read() and fi_write() (rma.c),
 * fi_atomic() (atomic.c). They complete after they were performed at the peer, which satisfies
 * every level of completion.
 */
#ifndef BEOWIRE_FABRIC_REMOTE_H
#define BEOWIRE_FABRIC_REMOTE_H

#include "endpoint.h"

/** Without FI_FENCE: operations do not wait for earlier ones. */
#define REMOTE_FLAGS_KNOWN (INFO_TX_FLAGS | FI_REMOTE_CQ_DATA | FI_MORE)

struct remote {
    fi_addr_t to;
    uint64_t address; /**< in the peer's memory */
    uint64_t key;
    uint64_t data; /**< immediate data, if FI_REMOTE_CQ_DATA */
    uint64_t flags;
    uint64_t
        completion; /**< flags of the completion; FI_READ or FI_WRITE is the kind that is counted */
    bool quiet;     /**< only a failure is reported */
    void *context;
};

/** Checks it and finds the peer. The domain must be locked, as for all functions in this file. */
int remote_check(struct endpoint *endpoint, const struct remote *remote, beowire_peer *peer);

/** A request for it; NULL: too many are outstanding. */
struct request *remote_request_take(struct endpoint *endpoint, const struct remote *remote);

/** Unlocks the domain. @return `status`. */
ssize_t remote_finish(struct endpoint *endpoint, int status);

#endif /* BEOWIRE_FABRIC_REMOTE_H */
