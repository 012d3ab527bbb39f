/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * eq.h - event queues.
 *
 * Endpoints of type FI_EP_RDM have no connections, and all calls here complete at once, so the only
 * events are those that the user writes. But programs open a queue before they know the type of
 * their endpoints.
 */
#ifndef BEOWIRE_FABRIC_EQ_H
#define BEOWIRE_FABRIC_EQ_H

#include <rdma/fi_eq.h>
#include <stdatomic.h>

struct eq;

/** fi_eq_open(): without a wait object, or with FI_WAIT_UNSPEC or FI_WAIT_FD. Any thread may use
 *  it at any time. */
int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attributes, struct fid_eq **fid,
            void *context);

/** fi_trywait(): @return 0: the caller may sleep; -FI_EAGAIN: there is something to read. */
int eq_try_wait(struct eq *eq);

/** The reference count of the queue; bound objects keep it open. */
atomic_uint *eq_references(struct eq *eq);

#endif /* BEOWIRE_FABRIC_EQ_H */
