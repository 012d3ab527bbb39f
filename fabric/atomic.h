/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atomic.h - atomic operations. fi_atomic() and related calls are in the endpoint's table
 * (endpoint_atomic_ops); fi_query_atomic() is here.
 */
#ifndef BEOWIRE_FABRIC_ATOMIC_H
#define BEOWIRE_FABRIC_ATOMIC_H

#include <rdma/fi_atomic.h>

/** fi_query_atomic(). The count is valid for every endpoint of the domain. */
int atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                 struct fi_atomic_attr *attributes, uint64_t flags);

#endif /* BEOWIRE_FABRIC_ATOMIC_H */
