/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pollset.h - poll sets: completion queues and counters that are looked at together.
 */
#ifndef BEOWIRE_FABRIC_POLLSET_H
#define BEOWIRE_FABRIC_POLLSET_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

/** fi_poll_open(). The queues and counters have to be of the same domain, and while they
 *  are in the set they cannot be closed. */
int pollset_open(struct fid_domain *domain, struct fi_poll_attr *attributes, struct fid_poll **fid);

#endif /* BEOWIRE_FABRIC_POLLSET_H */
