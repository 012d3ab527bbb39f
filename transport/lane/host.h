/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - which processes may share memory: those of one kernel and one network namespace.
 *
 * Numbers of the host do not prove that: virtual machines that were resumed from one snapshot have
 * the same. So an identity only says with whom it is worth trying. What proves it is that one
 * process sees what another has made: a socket with a random name (shm_socket.h), be it of the
 * endpoint itself (its incarnation) or a mark.
 */
#ifndef BEOWIRE_LANE_HOST_H
#define BEOWIRE_LANE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/** A number, never 0, that processes have in common if (not: only if) they run under the same boot
 * of the same kernel and in the same network namespace. The namespace is part of it because the
 * nodes of a lab are namespaces of one kernel, and because the names by which processes find one
 * another (abstract unix sockets, unix(7)) belong to one.
 *  @return 0, and `identity` is written; a negative errno if /proc does not tell. */
int host_identity(uint64_t *identity);

/** Makes a mark that the processes of this user on this host can see, if this process can share
 *  memory.
 *  @return what it lasts as long as, to be closed; a negative errno. */
int host_mark(uint64_t *mark);

/** Is this the mark of a process of this user on this host? */
bool host_sees(uint64_t mark);

#endif /* BEOWIRE_LANE_HOST_H */
