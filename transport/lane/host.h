/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - which processes may share memory: those of one kernel and one network namespace.
 *
 * Numbers of the host do not prove this, because virtual machines resumed from one snapshot have
 * the same ones. So an identity only tells which processes to try. The proof is that one process
 * sees what another has created: a socket with a random name (shm_socket.h), of the endpoint itself
 * (its incarnation) or a mark.
 */
#ifndef BEOWIRE_LANE_HOST_H
#define BEOWIRE_LANE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/** A number, never 0, that is the same for processes under the same boot of the same kernel and in
 * the same network namespace (others may have it, too). The namespace is part of it because the
 * nodes of a lab are namespaces of one kernel, and because abstract unix sockets (unix(7)), by
 * which processes find one another, belong to a namespace.
 *  @return 0, and `identity` is written; a negative errno if /proc does not tell. */
int host_identity(uint64_t *identity);

/** Creates a mark that the processes of this user on this host can see, if this process can share
 *  memory.
 *  @return a descriptor; closing it removes the mark; or a negative errno. */
int host_mark(uint64_t *mark);

/** Is this the mark of a process of this user on this host? */
bool host_sees(uint64_t mark);

#endif /* BEOWIRE_LANE_HOST_H */
