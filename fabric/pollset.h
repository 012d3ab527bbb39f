/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pollset.h - poll sets: completion queues and counters polled together.
 */
#ifndef BEOWIRE_FABRIC_POLLSET_H
#define BEOWIRE_FABRIC_POLLSET_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

/** fi_poll_open(). The queues and counters must belong to the same domain, and cannot be closed
 *  while they are in the set. */
int pollset_open(struct fid_domain *domain, struct fi_poll_attr *attributes, struct fid_poll **fid);

#endif /* BEOWIRE_FABRIC_POLLSET_H */
