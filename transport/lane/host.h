/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - which processes may share memory: those of one kernel and one network namespace.
 */
#ifndef BEOWIRE_LANE_HOST_H
#define BEOWIRE_LANE_HOST_H

#include <stdint.h>

/** A number, never 0, that processes have in common if they run under the same boot of the same
 *  kernel and in the same network namespace. The namespace is part of it because the nodes of a lab
 *  are namespaces of one kernel, and because the names by which processes find one another
 * (abstract unix sockets, unix(7)) belong to one.
 *  @return 0, and `identity` is written; a negative errno if /proc does not tell. */
int host_identity(uint64_t *identity);

#endif /* BEOWIRE_LANE_HOST_H */
